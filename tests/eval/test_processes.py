"""Killed workers, killed commands and Ctrl-C: the child processes of `eval score`."""

import os
import signal
import sys

import pytest

from tests.stalled_command import StalledCommand, stall, write_stalling_program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]
# what is said when the process that stands still is killed
MESSAGES = {
    "workers": "a worker process was killed (signal 9; out of memory?); try fewer --workers",
    "comet": "was killed (signal 9; out of memory?): no message",
}


@pytest.fixture(params=MESSAGES)
def stalled(request, tmp_path, translated, texts):
    """The command, which stands still in a worker or in COMET's process."""
    out = translated("toy", {"en-de": texts["de"], "de-fr": texts["fr"]})
    options, changes = ["--workers", 2], {"eval.scoring.score.surface_scores": stall}
    if request.param == "comet":
        python = write_stalling_program(tmp_path / "bin/python")
        options, changes = ["--comet-model", "name", "--comet-python", python], {}
    with StalledCommand(tmp_path / "command", "eval", "score", out, *options, changes=changes) as command:
        command.message = MESSAGES[request.param]
        yield command


def test_a_killed_child_ends_the_command_with_one_line(stalled):
    os.kill(stalled.stalled(), signal.SIGKILL)
    assert stalled.status() == 2
    (error,) = [line for line in stalled.errors().splitlines() if line.startswith("error:")]
    assert stalled.message in error and "Traceback" not in stalled.errors()
    assert stalled.left() == []


def test_a_killed_command_leaves_no_process(stalled):
    assert stalled.stalled() in stalled.processes()
    os.kill(stalled.pid, signal.SIGKILL)
    assert stalled.status() == -signal.SIGKILL
    assert stalled.left() == []


def test_ctrl_c_is_one_line(stalled):
    stalled.stalled()
    os.killpg(stalled.pid, signal.SIGINT)  # what a terminal does
    assert stalled.status() == 130
    assert stalled.errors().splitlines()[-1] == "interrupted; run the same command again to continue"
    assert "Traceback" not in stalled.errors()
    assert stalled.left() == []
