"""Ctrl-C and SIGTERM."""

import os
import signal

import pytest

from command_line.stopping import Stopped, stoppable


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_an_exception_and_handlers_come_back(number, status):
    before = signal.getsignal(number)
    with pytest.raises(Stopped) as stopped, stoppable():
        os.kill(os.getpid(), number)
    assert stopped.value.status == status
    assert signal.getsignal(number) is before


def test_the_second_ctrl_c_ends_the_process():
    """Cleaning up may hang; then nothing of ours is between the user and the system."""
    with stoppable():
        with pytest.raises(Stopped):
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL


def test_what_is_ignored_stays_ignored():
    """A script that starts a command in the background has its Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stoppable():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
