"""What a command prints: on streams that are closed or full, and of names that a terminal would execute."""

import os
import subprocess
import sys

import pytest

from command_line import dispatch
from command_line.errors import InputError
from command_line.streams import visible
from tests.command_line.steps import step_of

NAME = "a\x1b[2J\x07\x7f\x9b1m\x00b"
SHOWN = "a\\x1b[2J\\x07\\x7f\\x9b1m\\x00b"
STEP = """
import sys, types
from dataclasses import dataclass
from command_line import dispatch
from command_line.option_classes import positional
from command_line.progress import progress

@dataclass
class Options:
    file: str = positional("to write")

def main(options: Options):
    for _ in progress(range(3), 3, "work", "line"):
        pass
    with open(options.file, "w") as stream:
        print("warning: of a kind", file=sys.stderr)
        stream.write("content")
        assert stream.fileno() > 2
    print("done")

step = types.ModuleType("step", "Write.")
step.main = main
sys.modules["step"] = step
sys.exit(dispatch.run("tool", "Tools.", {"write": ("step", "write")}))
"""


@pytest.fixture
def shell(tmp_path):
    """Run `tool ARGUMENTS REDIRECTIONS`; stdout, stderr and status."""
    script = tmp_path / "tool.py"
    script.write_text(STEP)

    def call(line: str, buffered: bool) -> subprocess.CompletedProcess:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        environment |= {"PYTHONPATH": os.getcwd()} | ({} if buffered else {"PYTHONUNBUFFERED": "1"})
        command = f"{sys.executable} {script} {line}"
        return subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
        )

    return call


def test_control_characters_are_written_out():
    assert visible(NAME) == SHOWN
    assert visible("é\t日本\n\r\u200d 🙂") == "é\t日本\n\r\u200d 🙂"


def test_no_terminal_executes_what_a_command_prints(capsys):
    def main(args):
        print(NAME)
        print(f"warning: {NAME}", file=sys.stderr)
        raise InputError(f"{NAME}: wrong")

    step = step_of(main)
    streams = sys.stdout, sys.stderr
    assert dispatch.run_step("tool", step, []) == 2
    said = capsys.readouterr()
    assert said.out == f"{SHOWN}\n"
    assert said.err == f"warning: {SHOWN}\nerror: {SHOWN}: wrong\n"
    assert (sys.stdout, sys.stderr) == streams


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("line", ["--help", "write --help", "write file"])
def test_a_full_standard_output_is_one_line(shell, line, buffered):
    done = shell(f"{line} > /dev/full", buffered)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert errors == [
        "error: standard output: no space left where it goes; free some, and run the command again"
    ]
    assert (done.returncode, "Traceback" in done.stderr, "ignored" in done.stderr) == (2, False, False)


@pytest.mark.parametrize("buffered", [True, False])
def test_a_full_standard_error_changes_no_status(shell, buffered):
    assert shell("nonsense 2> /dev/full", buffered).returncode == 2
    assert shell("write 2> /dev/full", buffered).returncode == 2


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_gets_nothing_and_no_file_gets_its_place(shell, tmp_path, closed):
    assert shell(f"write {tmp_path}/file {closed}", buffered=True).returncode == 0
    assert (tmp_path / "file").read_text() == "content"
    assert shell(f"write {closed}", buffered=True).returncode == 2


def test_a_full_standard_output_of_the_installed_command():
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "multilingual_nmt", "--help"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n")
