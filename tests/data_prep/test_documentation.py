"""The commands of the guides are commands."""

import shlex
from pathlib import Path

import pytest

from data_prep.__main__ import STEPS
from tests.our_commands import parse_command

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = ("data_preparation.md", "linguistic_pretraining.md", "one_pair.md", "transfer.md")
COMMANDS = [
    line
    for guide in GUIDES
    for line in (DOCS / guide).read_text(encoding="utf-8").splitlines()
    if line.startswith("python -m data_prep ")
]


def test_every_step_is_shown():
    assert {command.split()[3] for command in COMMANDS} == set(STEPS)


@pytest.mark.parametrize("command", COMMANDS)
def test_options_exist(command):
    parse_command(shlex.split(command))
