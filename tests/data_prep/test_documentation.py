"""The commands of the guides are commands."""

import re
import shlex
from pathlib import Path

import pytest

from data_prep.__main__ import STEPS
from data_prep.formats.texts import FILE_ENDINGS
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


def test_the_codes_that_are_endings_of_other_files_are_named():
    page = (DOCS / "data_preparation.md").read_text(encoding="utf-8")
    (listed,) = re.findall("no code that is a file's ending: `(.*?)`", " ".join(page.split()))
    assert listed.split() == FILE_ENDINGS.split("|")


@pytest.mark.parametrize("command", COMMANDS)
def test_options_exist(command):
    parse_command(shlex.split(command))
