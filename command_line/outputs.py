"""Complete outputs only: files appear under their name when whole, and a finished step is recognised and
skipped.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_path(path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` on success, remove it on any exception.

    The temporary name keeps the suffix (`train.txt.gz` -> `.partial-….train.txt.gz`), so that compression
    by suffix works.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".partial-{os.getpid()}.{path.name}"
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def reserve(path, size: int) -> None:
    """Give a file its blocks on the disk before it is written through a memory map.

    Writing to a page of a map for which the disk has no room kills the process (SIGBUS).

    Args:
        size: of the file, in bytes; it is made if it is missing, and grows with zeros.

    Raises:
        OSError: no room; names the file.
    """
    if size < 1:
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(descriptor)


def write_text(path, text: str) -> None:
    """Write a whole text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path, value) -> None:
    """Write `value` as indented JSON, atomically, keys in the order given."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def checksum(path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Stamp:
    """The record that a step has finished, and of what it was asked to do.

    `settings` is whatever determines the output (options, checksums or sizes of the inputs). A step runs
    when it is forced, when it never finished, or when it finished with other settings; otherwise it skips
    and says so.
    """

    def __init__(self, path, settings: dict):
        self.path = Path(path)
        self.settings = json.loads(json.dumps(settings, default=str))  # what comes back from the file

    def is_current(self, force: bool = False) -> bool:
        """Whether the step can be skipped; prints why when it can."""
        if force or not self.path.exists():
            return False
        with contextlib.suppress(json.JSONDecodeError):
            if json.loads(self.path.read_text(encoding="utf-8")) == self.settings:
                print(f"{self.path.parent}: complete, skipped (--force redoes it)", file=sys.stderr)
                return True
        return False

    def begin(self) -> None:
        """Forget an earlier completion: from here on the output is being rewritten."""
        self.path.unlink(missing_ok=True)

    def finish(self) -> None:
        write_json(self.path, self.settings)


def input_settings(*paths) -> list[list]:
    """Name, size and modification time of input files, for `Stamp`: cheap, and changes when an input
    changes.
    """
    return [[str(path), os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in paths]
