"""Where a result comes from: what was typed, what was read, and the versions of what made it."""

import functools
import os
import platform
import shlex
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from command_line.invocation import words_before
from command_line.outputs import checksum


def command_typed(package: str) -> str:
    """The command line of this process, as it can be typed again."""
    return shlex.join([*words_before(package), *sys.argv[1:]])


def versions(*distributions: str) -> dict[str, str]:
    """Versions of Python and of distributions, found without importing them; "unknown" of one that is
    installed under another name (`faiss` of conda).
    """
    return {"python": platform.python_version(), **{name: _version(name) for name in distributions}}


@functools.cache  # the files that say it are slow to read
def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def checksums(paths: Iterable) -> list[dict[str, str]]:
    """The field "inputs" of a result: path and SHA-256 of every file that was read."""
    return [{"path": str(path), "sha256": checksum(path)} for path in paths]


def path_in_record(path, folder) -> str:
    """How a record names a file or folder that is read again with it: an absolute path as it is, any other
    relative to the record. So `folder / name` is found from every working directory, and when both have moved
    together.
    """
    path = Path(path)
    if path.is_absolute():
        return str(path)
    return os.path.relpath(path.parent.resolve() / path.name, Path(folder).resolve())


def text_in_record(path, folder, lines: int) -> dict:
    """What a record says of the text that vectors or states are of; `path_in_record`."""
    return {"path": path_in_record(path, folder), "sha256": checksum(path), "lines": lines}
