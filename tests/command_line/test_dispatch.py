import io
import os
import signal
import subprocess
import sys
import types
from dataclasses import dataclass

import pytest

from command_line import dispatch
from command_line.errors import InputError, at, check_file
from command_line.option_classes import option

STEPS = {"count": ("step_under_test", "count something")}


@dataclass(frozen=True)
class Size:
    """The options of the step."""

    size: int = option("how many", 3)


@pytest.fixture
def step(monkeypatch):
    """A registered step; the test sets what it `does`."""
    module = types.ModuleType("step_under_test", "Count.\n\nSecond paragraph.")
    module.does = lambda options: None

    def main(options: Size) -> None:
        module.does(options)

    module.main = main
    monkeypatch.setitem(sys.modules, "step_under_test", module)
    return module


def run(*argv):
    return dispatch.run("tool", "Does things.", STEPS, argv)


def test_overview_lists_the_steps(capsys):
    assert run("--help") == 0
    assert "  count  count something" in capsys.readouterr().out


def test_without_a_step_the_overview_is_shown_and_the_status_is_that_of_bad_input(capsys):
    assert run() == 2
    assert "steps:" in capsys.readouterr().out


def test_unknown_step(capsys):
    assert run("cuont") == 2
    assert capsys.readouterr().err == "error: unknown step 'cuont'; expected one of: count\n"


def test_a_step_gets_its_arguments(step):
    seen = []
    step.does = lambda args: seen.append(args.size)
    assert run("count", "--size", "5") == 0
    assert seen == [5]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_streams_are_utf8_whatever_the_locale(step, monkeypatch, encoding):
    for name in ("stdin", "stdout", "stderr"):
        given = io.BytesIO("Łódź\n".encode() if name == "stdin" else b"")
        monkeypatch.setattr(
            sys, name, io.TextIOWrapper(given, encoding, errors="backslashreplace", line_buffering=True)
        )

    def main(args):
        print(sys.stdin.readline(), "日本", end="", flush=True)
        raise InputError("é")

    step.does = main
    assert run("count") == 2
    assert sys.stdout.buffer.getvalue() == "Łódź\n 日本".encode()
    assert sys.stderr.buffer.getvalue() == "error: é\n".encode()
    assert sys.stderr.errors == "backslashreplace"


@pytest.fixture
def group(step, monkeypatch):
    """A step that has steps of its own."""
    module = types.ModuleType("group_under_test", "Counts in groups.\n")
    module.COMMANDS = STEPS
    monkeypatch.setitem(sys.modules, "group_under_test", module)
    return {"group": ("group_under_test", "steps within steps")}


def test_a_step_of_steps_hands_the_arguments_on(step, group):
    seen = []
    step.does = lambda args: seen.append(args.size)
    assert dispatch.run("tool", "", group, ["group", "count", "--size", "5"]) == 0
    assert seen == [5]


def test_a_step_of_steps_has_an_overview_and_knows_its_steps(group, capsys):
    assert dispatch.run("tool", "", group, ["group", "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "usage: python -m tool group STEP [options]\n\nCounts in groups.\n\nsteps:\n  count "
    )
    assert dispatch.run("tool", "", group, ["group", "cuont"]) == 2
    assert "unknown step 'cuont'" in capsys.readouterr().err


def test_help_of_a_step_shows_defaults_and_keeps_line_breaks(step, capsys):
    with pytest.raises(SystemExit) as exit_:
        run("count", "--help")
    out = capsys.readouterr().out
    assert exit_.value.code == 0
    assert "how many (default: 3)" in out
    assert "Count.\n\nSecond paragraph." in out


def test_bad_input_is_one_line_and_status_2(step, capsys):
    def main(args):
        raise InputError("a.txt:3: found x, expected y")

    step.does = main
    assert run("count") == 2
    assert capsys.readouterr().err == "error: a.txt:3: found x, expected y\n"
    with pytest.raises(InputError):
        run("count", "--debug")


SPEAKS_FOR_EVER = """
import sys, types
from dataclasses import dataclass
from command_line import dispatch
from command_line.option_classes import positional

@dataclass
class Options:
    stream: str = positional("which one")

def main(options: Options):
    while True:
        print("one more line", file=getattr(sys, options.stream))

step = types.ModuleType("step", "Speak.")
step.main = main
sys.exit(dispatch.run_step("step", step, sys.argv[1:]))
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_step_whose_reader_stops_says_nothing_and_has_not_succeeded(stream):
    command = [sys.executable, "-c", SPEAKS_FOR_EVER, stream]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        getattr(process, stream).readline()
        getattr(process, stream).close()
        other = process.stderr if stream == "stdout" else process.stdout
        said = other.read()
    assert (process.returncode, said) == (141, "")


def test_ctrl_c_is_one_line_and_status_130(step, capsys):
    step.does = lambda args: os.kill(os.getpid(), signal.SIGINT)
    assert run("count") == 130
    assert capsys.readouterr().err == "interrupted; run the same command again to continue\n"


def test_other_exceptions_are_not_hidden(step):
    def main(args):
        raise ZeroDivisionError

    step.does = main
    with pytest.raises(ZeroDivisionError):
        run("count")


def test_at_names_file_and_line():
    assert at("a.txt") == "a.txt"
    assert at("a.txt", 7) == "a.txt:7"


def test_what_is_no_file(tmp_path):
    (tmp_path / "a.txt").touch()
    os.mkfifo(tmp_path / "pipe")
    for name in ("a.txt", "pipe"):
        check_file(tmp_path / name, "a text")
    with pytest.raises(InputError, match=f"{tmp_path}: is a folder, expected a text"):
        check_file(tmp_path, "a text")
    with pytest.raises(InputError, match=f"{tmp_path}/b.txt: no such file; expected a text"):
        check_file(tmp_path / "b.txt", "a text")


def test_a_package_of_an_extra_that_is_not_installed(step, monkeypatch, capsys):
    def main(args):
        import faiss  # noqa: F401

    step.does = main
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert run("count") == 2
    assert capsys.readouterr().err == "error: faiss is not installed: pip install '.[embed]'\n"


def test_a_module_of_ours_that_is_missing_is_a_fault_of_the_program(step):
    def main(args):
        import command_line.nothing_of_this_name  # noqa: F401

    step.does = main
    with pytest.raises(ModuleNotFoundError):
        run("count")
