"""Whole files only: a file appears under its name when it has been written to its end."""

import contextlib
import hashlib
import json
import math
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from command_line.errors import InputError

# Other machines have processes of the same numbers, and may share the folder.
_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
_PARTIAL = re.compile(rf"\.partial-{_HOST}-(\d+)\..*")  # made by the process of that number, here
_ours: set[Path] = set()  # temporary files and folders that this process is writing


def _partial(path: Path) -> str:
    """A temporary name with its process in it. It keeps the suffix, which decides on compression."""
    return f"{partial_prefix(os.getpid())}.{path.name}"


def partial_prefix(process: int) -> str:
    """How the names of temporary files of a process of this machine begin."""
    return f".partial-{_HOST}-{process}"


@contextlib.contextmanager
def atomic_path(path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` on success, remove it on any exception."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / _partial(path)
    _ours.add(temporary)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
        _ours.discard(temporary)


@contextlib.contextmanager
def scratch_folder(parent) -> Iterator[Path]:
    """A folder in `parent` for files that are removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"{_partial(Path('scratch'))}-", dir=parent) as name:
        folder = Path(name)
        _ours.add(folder)
        try:
            yield folder
        finally:
            _ours.discard(folder)


def check_other_folder(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write into a folder that is read. If the step were killed, its mark would make the folder
    unreadable for every step, itself included.

    Raises:
        InputError: the output is one of the inputs.
    """
    if Path(output).resolve() in {Path(folder).resolve() for folder in inputs}:
        raise InputError(f"--output {output}: is a folder that is read, expected another one")


def remove_leftovers(folder) -> None:
    """Remove temporary files of killed processes of this machine; those of running processes stay."""
    for path in Path(folder).glob(".partial-*"):
        match = _PARTIAL.fullmatch(path.name)
        if match and path not in _ours and not _is_another_process(int(match[1])):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _is_another_process(number: int) -> bool:
    if number == os.getpid():
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


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
    """Write `value` as indented JSON, atomically, keys in the order given.

    Raises:
        InputError: a number is NaN or infinite, which JSON has no word for and no reader takes; names the
            field. Whoever can tell what such a number means writes null instead.
    """
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:
        name, number = next(_not_finite(value), ("", ""))
        if not name:
            raise
        raise InputError(f"{path}: not written: {name} is {number}, expected a finite number") from None
    write_text(path, text + "\n")


def _not_finite(value, name: str = "") -> Iterator[tuple[str, float]]:
    """The numbers in a value that are NaN or infinite, with the names of their fields ("loss.de-en[3]")."""
    if isinstance(value, float) and not math.isfinite(value):
        yield name or "it", value
    elif isinstance(value, Mapping):
        for field, inner in value.items():
            yield from _not_finite(inner, f"{name}.{field}" if name else str(field))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _not_finite(inner, f"{name}[{number}]")


def copy_file(source, path) -> None:
    """Copy a whole file atomically."""
    with atomic_path(path) as temporary:
        shutil.copyfile(source, temporary)


def checksum(path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
