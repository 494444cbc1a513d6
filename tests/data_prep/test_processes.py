"""Killed workers, killed commands and Ctrl-C: every kind of child process of the data preparation."""

import os
import signal
import sys

import pytest

from tests.stalled_command import StalledCommand, stall, write_stalling_program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]
WORKER = "a worker process was killed (signal 9; out of memory?); try fewer --workers"
ALIGNER = "the aligner's process was killed (signal 9; out of memory?); try a smaller --train-sample"


def tokenize(folder, prepared):
    return ("tokenize", "--input", prepared / "raw", "--workers", 2), {"data_prep.tokenize.encode": stall}


def jumanpp(folder, prepared):
    # rhoknp tries the program before its first sentence
    write_stalling_program(folder / "bin/jumanpp", "read -r sentence; echo EOS; read -r sentence")
    options = ("--tokenizer", "jumanpp", "--workers", 2)
    return ("tokenize", "--input", prepared / "raw", *options), {}


def binarize(folder, prepared):
    options = ("--text", prepared / "raw", "--workers", 2)
    changes = {"data_prep.binarize.BlockBinarizer.__call__": stall}
    return ("binarize", "--input", prepared / "sub", *options), changes


def align(folder, prepared):
    changes = {"data_prep.alignment.fast_align.DirectedAligner.train": stall}
    return ("align", "--input", prepared / "tok", "--workers", 2), changes


def finish_alignment(folder, prepared):
    changes = {"data_prep.alignment.bitext_alignment.SYMMETRIZATIONS": {"grow-diag-final-and": stall}}
    return ("align", "--input", prepared / "tok", "--workers", 2), changes


def fast_align_program(folder, prepared):
    write_stalling_program(folder / "bin/fast_align")
    return ("align", "--input", prepared / "tok", "--workers", 2, "--aligner", "fast_align-program"), {}


def eflomal(folder, prepared):
    pytest.importorskip("eflomal")
    write_stalling_program(folder / "bin/eflomal")
    changes = {"eflomal.cython.__file__": str(folder / "library.so")}  # it starts bin/eflomal beside itself
    return ("align", "--input", prepared / "tok", "--workers", 2, "--aligner", "eflomal"), changes


def phrases(folder, prepared):
    from tests.data_prep.parsing.toy_parser import save_toy_pipeline

    folder.mkdir()
    model = save_toy_pipeline(folder / "model")
    options = ("--lang", "en", "--model", model, "--workers", 2)
    changes = {"data_prep.parsing.parsers.SpacyPhrases.parse": stall}
    return ("phrases", "--input", prepared / "tok", *options), changes


def enju(workers):
    def command(folder, prepared):
        program = write_stalling_program(folder / "bin/enju")
        options = ("--lang", "en", "--parser", "enju", "--model", program, "--workers", workers)
        return ("phrases", "--input", prepared / "tok", *options), {}

    return command


def jumanpp_without_workers(folder, prepared):
    """rhoknp starts the program in the command's own process; like Juman++ it ends with its input."""
    first = "read -r sentence; echo EOS; read -r sentence"
    write_stalling_program(folder / "bin/jumanpp", first, "while read -r line; do :; done")
    return ("tokenize", "--input", prepared / "raw", "--tokenizer", "jumanpp", "--workers", 1), {}


# what is said when the process that stands still is killed
COMMANDS = {
    "tokenize": (tokenize, WORKER),
    "jumanpp": (jumanpp, "tokenizer jumanpp: the program failed"),
    "jumanpp without workers": (jumanpp_without_workers, "tokenizer jumanpp: the program failed"),
    "binarize": (binarize, WORKER),
    "align": (align, ALIGNER),
    "finish alignment": (finish_alignment, WORKER),
    "fast_align program": (fast_align_program, "fast_align: was killed (signal 9; out of memory?)"),
    "eflomal": (eflomal, "eflomal: was killed (signal 9; out of memory?)"),
    "phrases": (phrases, WORKER),
    "enju": (enju(2), "-xml: was killed (signal 9; out of memory?) with 0 lines of output"),
    "enju without workers": (enju(1), "-xml: was killed (signal 9; out of memory?) with 0 lines of output"),
}


@pytest.fixture
def stalled(tmp_path, prepared):
    """Function from a key of COMMANDS to the command, which stands still."""
    commands = []

    def start(name):
        argv, changes = COMMANDS[name][0](tmp_path / "command", prepared)
        command = StalledCommand(
            tmp_path / "command", "data_prep", *argv, "--output", tmp_path / "out", changes=changes
        )
        commands.append(command)
        return command

    yield start
    for command in commands:
        command.__exit__()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_child_ends_the_command_with_one_line(stalled, name):
    command = stalled(name)
    os.kill(command.stalled(), signal.SIGKILL)
    assert command.status() == 2
    (error,) = [line for line in command.errors().splitlines() if line.startswith("error:")]
    assert COMMANDS[name][1] in error and "Traceback" not in command.errors()
    assert command.left() == []


def test_a_worker_that_dies_while_the_aligner_works_is_noticed(stalled):
    command = stalled("align")
    aligners = {command.stalled(), command.stalled()}
    others = [process for process in command.processes() if process not in (command.pid, *aligners)]
    for process in others:  # the workers, and the guards, whose death changes nothing
        os.kill(process, signal.SIGKILL)
    assert command.status() == 2
    assert WORKER in command.errors()
    assert command.left() == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_leaves_no_process(stalled, name):
    command = stalled(name)
    assert command.stalled() in command.processes()
    os.kill(command.pid, signal.SIGKILL)
    assert command.status() == -signal.SIGKILL
    assert command.left() == []


@pytest.mark.parametrize("name", ["tokenize", "align", "fast_align program", "enju without workers"])
@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_ctrl_c_is_one_line(stalled, name, number, word):
    command = stalled(name)
    command.stalled()
    os.killpg(command.pid, number)  # what a terminal does
    assert command.status() == 128 + number
    assert command.errors().splitlines()[-1] == f"{word}; run the same command again to continue"
    assert "Traceback" not in command.errors()
    assert command.left() == []
