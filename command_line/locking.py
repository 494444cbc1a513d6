"""Locks: of two processes that write the same, the second one is refused.

The lock is that of an open file (`flock`). So it lasts until that very file is closed, whatever else of the
process reads or closes it, and moves with the file when that is renamed; when a process dies, by whatever
signal, the system lets its locks go. What a step locks is a file that the work needs anyway, so that none is
left over that only was a lock; the folder of a training, whose other files may be removed, has one.
"""

import errno
import fcntl
import os
import weakref
from typing import BinaryIO

from command_line.errors import InputError

_NONE_HERE = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # of file systems that have no locks
_TAKEN = (errno.EACCES, errno.EAGAIN)
_held: weakref.WeakSet = weakref.WeakSet()


def _close_inherited() -> None:
    """A forked child shares the open file, and would keep the lock when this process has been killed."""
    for stream in list(_held):
        stream.close()
    _held.clear()


os.register_at_fork(after_in_child=_close_inherited)


def take_lock(path, busy: str, makes: bool = True) -> BinaryIO:
    """Lock a file until the stream that is returned is closed. Where the file system has no locks, nobody is
    refused.

    Returns:
        the file, for reading and appending.

    Raises:
        InputError: the file is locked, or another one has come in its place meanwhile.
        FileNotFoundError: it is missing, and is not to be made.
    """
    stream = open(path, "a+b" if makes else "r+b")  # noqa: SIM115 (until the work has been done)
    try:
        if not _becomes_ours(stream, path):
            raise InputError(busy)
    except BaseException:
        stream.close()
        raise
    _held.add(stream)
    return stream


def _becomes_ours(stream: BinaryIO, path) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NONE_HERE:
            return True
        if error.errno in _TAKEN:
            return False
        raise
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
