"""Installs the packages inside one, `multilingual_nmt`: other projects have an `eval` as well. All else is in
pyproject.toml.
"""

from setuptools import find_packages, setup

FOLDERS = ("command_line", "data_prep", "fairseq_ext", "embeddings", "eval", "llm")
PACKAGES = find_packages(include=[pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")])

setup(
    packages=["multilingual_nmt", *(f"multilingual_nmt.{package}" for package in PACKAGES)],
    package_dir={f"multilingual_nmt.{package}": package.replace(".", "/") for package in PACKAGES},
)
