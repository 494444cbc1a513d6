"""Installs the packages; all metadata is in pyproject.toml."""

from setuptools import setup

setup()
