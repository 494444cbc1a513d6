"""The commands of docs/tables.md: their options are parsed.

`tests/test_documented_commands.py` builds those of recipes.
"""

import re
import shlex

import pytest

from tests.our_commands import parse_command
from tests.recipes.commands import ROOT

PAGE = (ROOT / "docs/tables.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if re.match(r"\| (?!shows|---)", line)]
COMMANDS = sorted({row[1].strip("`") for row in ROWS if row[1].startswith("`")})


def test_every_row_shows_something_and_has_a_verdict():
    assert len(ROWS) > 70
    for row in ROWS:
        assert len(row) == 5, row
        assert row[0] and row[4], row


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("python")])
def test_the_options_of_a_command_are_its_own(command):
    parse_command(shlex.split(command))
