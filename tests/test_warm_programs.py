"""`tests.warm_programs`: what is forked does what a fresh interpreter does."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests import hanging

pytestmark = pytest.mark.slow
PRINT = "import os, sys; print(sys.argv, os.getcwd(), os.environ.get('OF_MINE')); print(sys.path, __name__)\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with a package of its own, of a name that programs know and the server has not imported."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/__main__.py").write_text(PRINT)
    return tmp_path


VARIABLES = {**os.environ, "OF_MINE": "here", "PYTHONPATH": ""}


def call(program, *arguments, folder, **options) -> subprocess.CompletedProcess:
    command = [str(program), *arguments]
    return subprocess.run(command, cwd=folder, env=VARIABLES, capture_output=True, text=True, **options)


def test_arguments_folder_environment_and_path_are_the_callers(programs, folder):
    cold = call(sys.executable, "-m", "benchmarks", "a b", "é", folder=folder)
    warm = call(programs / "python", "-m", "benchmarks", "a b", "é", folder=folder)
    assert cold.stdout.splitlines()[0].endswith("'a b', 'é'] " + f"{folder} here")
    assert (
        warm.stdout.replace(str(programs / "python"), str(folder / "benchmarks/__main__.py")) == cold.stdout
    )
    assert (warm.stderr, warm.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("text", "status"),
    [("import sys; sys.exit(2)", 2), ("1 / 0", 1), ("import os; os.kill(os.getpid(), 9)", 247)],
)
def test_the_exit_status(programs, folder, text, status):
    (folder / "benchmarks/__main__.py").write_text(text)
    found = call(programs / "python", "-m", "benchmarks", folder=folder)
    assert found.returncode == status
    assert ("ZeroDivisionError" in found.stderr) == (status == 1)


def test_what_is_written_and_read(programs, folder):
    (folder / "benchmarks/__main__.py").write_text(
        "import sys; print(sys.stdin.read().upper(), file=sys.stderr)"
    )
    found = call(programs / "python", "-m", "benchmarks", folder=folder, input="words")
    assert (found.stdout, found.stderr) == ("", "WORDS\n")


def test_other_calls_of_python_and_the_help_of_fairseq(programs, folder):
    assert call(programs / "python", "-c", "print(1)", folder=folder).stdout == "1\n"
    found = call(programs / "fairseq-train", "--help", folder=folder)
    assert found.returncode == 0 and found.stdout.startswith("usage: fairseq-train")


def test_a_killed_caller_takes_its_program_along(programs, folder):
    (folder / "benchmarks/__main__.py").write_text(
        "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    )
    caller = subprocess.Popen(
        [programs / "python", "-m", "benchmarks"], cwd=folder, env=VARIABLES, stdout=subprocess.PIPE
    )
    program = int(caller.stdout.readline())
    caller.kill()
    caller.wait()
    deadline = time.monotonic() + hanging.SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(program, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        os.kill(program, signal.SIGKILL)
        pytest.fail("the program goes on")
    caller.stdout.close()
