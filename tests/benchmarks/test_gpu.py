"""The script that measures a GPU, with programs in place of those that need one."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.our_commands import parse_command

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.sh"


@pytest.fixture
def call(tmp_path):
    """Run the script; its result, and the commands that it has run."""
    log = tmp_path / "commands.txt"
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("python", "bash"):
        program = programs / name
        program.write_text(f'#!/bin/bash\necho {name} "${{@@Q}}" >> {log}\necho measured\n')
        program.chmod(0o755)

    def run(*argv):
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        words = ["/bin/bash", SCRIPT, *argv, "--output", tmp_path / "gpu"]
        result = subprocess.run(words, env=environment, capture_output=True, text=True)
        commands = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return result, [shlex.split(command) for command in commands]

    return run


def test_its_commands_exist(call, tmp_path):
    folder, text = tmp_path / "bin", tmp_path / "text.en"
    text.touch()
    result, commands = call("--encoder", folder, "--text", text, "--l10n", folder)
    assert result.returncode == 0, result.stderr
    *of_python, recipe = commands
    assert [parse_command(words).arch for words in of_python[:2]] == ["base", "big"]
    assert parse_command(of_python[2]).model == folder and len(of_python) == 3
    options = [*recipe[2 : recipe.index("--")], "--dry-run"]
    words = ["bash", SCRIPT.parents[1] / recipe[1], *options]
    dry = subprocess.run(words, capture_output=True, text=True)
    assert dry.returncode == 0 and dry.stdout.count("fairseq-train") == 2, dry.stderr


def test_what_was_measured_is_not_measured_again(call):
    assert len(call()[1]) == 2
    assert call()[1] == []


@pytest.mark.parametrize(
    "argv, expected",
    [
        (["--encoder", "e5"], "error: --encoder and --text: expected both or neither"),
        (["--encoder", "e5", "--text", "x"], "error: --encoder e5: no such folder"),
        (["--l10n", __file__], f"error: --l10n {__file__}: no such folder"),
        (["--text", ""], "error: --text: expected --encoder, --text, --l10n or --output, each with a value"),
        (["--size", "1"], "error: --size: expected --encoder, --text, --l10n or --output, each with a value"),
    ],
)
def test_wrong_options_are_one_line(call, argv, expected):
    result, commands = call(*argv)
    assert (result.returncode, result.stderr.splitlines(), commands) == (2, [expected], [])
