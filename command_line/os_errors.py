"""Errors of the operating system as one line: which file, what is wrong with it, what to do.

Only what a user can mend is explained: an error that names a file, and those of a full disk, of limits and of
memory. Any other is a fault of the program and keeps its traceback.
"""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT}
_SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")  # numpy's own error for a full disk
_NO_MEMORY = re.compile("out of memory|can't allocate memory")  # torch's, in a RuntimeError
_OF_RUST = re.compile(r"\(os error (\d{1,4})\)")
_OF_TORCH = re.compile(
    r"basic_ios::clear: iostream error|inline_container\.cc\S* \. unexpected pos|StreamWriter failed"
)
_NEARLY_FULL = 1 << 20  # bytes
_REMEDIES = {
    errno.EACCES: "no permission; see `ls -ld`, or choose another path",
    errno.EPERM: "no permission; see `ls -ld`, or choose another path",
    errno.EROFS: "its file system is read-only; choose another path",
    errno.EISDIR: "is a folder, expected a file",
    errno.ENOTEMPTY: "is not empty; choose another path",
    errno.ENAMETOOLONG: "the name is too long; file systems take 255 bytes for each part of a path",
    errno.ELOOP: "is a link that leads back to itself; remove it",
    errno.EFBIG: "is larger than files may be here; see `ulimit -f`",
    errno.ETXTBSY: "is a program that is running",
    errno.EIO: "the disk cannot be read or written",
    errno.ESTALE: "the network file system has lost it; run the command again",
    errno.EMFILE: "too many open files; raise the limit with `ulimit -n`",
    errno.ENFILE: "too many open files on this machine",
    errno.EAGAIN: "no further process can be started; give fewer --workers",
    errno.ENOMEM: "out of memory; give fewer --workers",
    errno.ESPIPE: "a pipe was given, expected a file: it is read at several places",
}
_WITHOUT_A_FILE = {
    errno.EFBIG,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
    errno.ENOMEM,
    errno.EROFS,
    errno.ESPIPE,
}


LONGEST_PATH = 400  # characters of a path in a message


def explain(error: OSError, outputs: Iterable = ()) -> str | None:
    """The error as one line; None if it is not for the user to mend.

    Args:
        outputs: what the command writes to, to find the full disk when the error does not name a file.
    """
    files = [os.fsdecode(name) for name in (error.filename2, error.filename) if isinstance(name, str | bytes)]
    if error.errno in _FULL or _SHORT_WRITE.search(str(error)):
        return _full([*files, *map(str, outputs)])
    if not files:
        return _REMEDIES[error.errno] if error.errno in _WITHOUT_A_FILE else None
    path = Path(files[0])
    if error.errno in (errno.ENOENT, errno.EEXIST) and (link := _dangling(path)):
        return f"{link}: is a link to {os.readlink(link)}, which is not there; remove or mend it"
    if error.errno == errno.ENOENT:
        return f"{path}: no such file or folder"
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return f"{_file_above(path)}: is a file, expected a folder; choose another path"
    return f"{_shortened(path)}: {_REMEDIES.get(error.errno, error.strerror or str(error))}"


def explain_unwritten(error: Exception, outputs: Iterable = ()) -> str | None:
    """A file that a library in C++ or Rust cannot write, as one line; None for any other error."""
    text, path = str(error), next(map(str, outputs), None)
    code = _OF_RUST.search(text)
    if code and int(code[1]) in {*_FULL, errno.EFBIG}:
        return explain(OSError(int(code[1]), "", path))
    if isinstance(error, RuntimeError) and _OF_TORCH.search(text):
        where = f"{path}: a file in it" if path else "a file"
        return f"{where} cannot be written to its end; is its disk full? Then run the command again"
    return None


def _shortened(path: Path) -> str:
    """The path as a line can show it: of one that is too long for any file, the beginning."""
    text = str(path)
    return text if len(text) <= LONGEST_PATH else f"{text[:LONGEST_PATH]}…"


def _full(paths: list[str]) -> str:
    """What to free: the first full disk among those of the paths and of temporary files."""
    folders = [_existing(Path(path)) for path in [*paths, tempfile.gettempdir()]]
    full = [folder for folder in folders if shutil.disk_usage(folder).free < _NEARLY_FULL]
    if not paths and not full:  # nothing was to be written but what is printed
        return "standard output: no space left where it goes; free some, and run the command again"
    folder = (full or folders)[0].resolve()
    while not folder.is_mount():
        folder = folder.parent
    return f"{paths[0] if paths else folder}: no space left on {folder}; free some, and run the command again"


def _existing(path: Path) -> Path:
    return next(place for place in [path.absolute(), *path.absolute().parents] if place.exists())


def _dangling(path: Path) -> Path | None:
    """The first link to nothing on the way to a path."""
    ways = [*reversed(path.absolute().parents), path]
    return next((way for way in ways if way.is_symlink() and not way.exists()), None)


def _file_above(path: Path) -> Path:
    return next((place for place in [*reversed(path.parents), path] if place.is_file()), path)


def explain_memory(error: Exception) -> str | None:
    """Memory of the machine or of a GPU is used up: the error as one line; None for any other error."""
    is_torchs = isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error))
    if not (isinstance(error, MemoryError) or is_torchs or type(error).__name__ == "OutOfMemoryError"):
        return None
    reason = " ".join(str(error).split())[:200]
    return f"out of memory{f' ({reason})' if reason else ''}; give fewer --workers or smaller batches"
