"""Locks: who is refused, and when one is gone."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line.errors import InputError
from command_line.locking import take_lock

ROOT = Path(__file__).parents[2]


def is_locked(path) -> bool:
    try:
        take_lock(path, "locked").close()
    except InputError as error:
        assert str(error) == "locked"
        return True
    return False


def test_a_lock_lasts_until_its_file_is_closed_whatever_else_reads_or_renames_it(tmp_path):
    path, renamed = tmp_path / "file", tmp_path / "renamed"
    lock = take_lock(path, "locked")
    lock.write(b"content")
    lock.flush()
    assert path.read_bytes() == b"content" and is_locked(path)
    path.rename(renamed)
    assert is_locked(renamed) and not is_locked(path)
    lock.close()
    assert not is_locked(renamed)


def test_a_killed_process_leaves_no_lock_though_a_child_of_it_lives_on(tmp_path):
    code = (
        "import os, sys, time; from command_line.locking import take_lock; "
        "lock = take_lock(sys.argv[1], 'locked'); "
        "os.fork() or print(os.getpid(), flush=True); time.sleep(60)"  # the child speaks: it runs by then
    )
    words = [sys.executable, "-c", code, str(tmp_path / "file")]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        try:
            assert is_locked(tmp_path / "file")
            process.kill()
            process.wait()
            os.kill(child, 0)
            assert not is_locked(tmp_path / "file")
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_went_between_its_opening_and_its_lock_is_refused(tmp_path, monkeypatch, replaced):
    path, flock = tmp_path / "file", fcntl.flock

    def another_one_ends(stream, operation):
        path.unlink()
        if replaced:
            path.touch()
        flock(stream, operation)

    monkeypatch.setattr(fcntl, "flock", another_one_ends)
    assert is_locked(path)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_refuses_nobody(tmp_path, monkeypatch, number):
    def none_here(stream, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", none_here)
    with take_lock(tmp_path / "file", "locked"):
        assert not is_locked(tmp_path / "file")


def test_any_other_error_is_raised(tmp_path, monkeypatch):
    def broken(stream, operation):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match="broken"):
        take_lock(tmp_path / "file", "locked")
