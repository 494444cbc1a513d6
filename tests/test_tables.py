"""The commands of docs/tables.md: each is built as a dry run, or its options are parsed."""

import re
import shlex
import subprocess

import pytest

from tests import hanging
from tests.our_commands import parse_command
from tests.recipes.commands import ROOT

PAGE = (ROOT / "docs/tables.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if re.match(r"\| (?!shows|---)", line)]
COMMANDS = sorted({row[1].strip("`") for row in ROWS if row[1].startswith("`")})


def test_every_row_shows_something_and_has_a_verdict():
    assert len(ROWS) > 70
    for row in ROWS:
        assert len(row) == 6, row
        assert row[0] and row[5], row


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("python")])
def test_the_options_of_a_command_are_its_own(command):
    parse_command(shlex.split(command))


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("bash")])
def test_a_recipe_builds_its_commands(command, tmp_path):
    bash, script, *options = shlex.split(command)
    before, _, after = " ".join(options).partition(" -- ")
    words = [*before.split(), "--dry-run", *(["--", *after.split()] if after else [])]
    result = subprocess.run(
        [bash, str(ROOT / script), *words],
        cwd=ROOT, capture_output=True, text=True, timeout=hanging.SECONDS,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout
