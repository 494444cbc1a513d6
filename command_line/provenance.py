"""Where a result comes from: what was typed, what was read, and the versions of what made it."""

import platform
import shlex
import sys
from collections.abc import Iterable
from importlib.metadata import version

from command_line.invocation import words_before
from command_line.outputs import checksum


def command_typed(package: str) -> str:
    """The command line of this process, as it can be typed again.

    Args:
        package: what follows `python -m`.
    """
    return shlex.join([*words_before(package), *sys.argv[1:]])


def versions(*distributions: str) -> dict[str, str]:
    """Versions of Python and of installed distributions, found without importing them."""
    return {"python": platform.python_version(), **{name: version(name) for name in distributions}}


def checksums(paths: Iterable) -> list[dict[str, str]]:
    """The field "inputs" of a result: path and SHA-256 of every file that was read."""
    return [{"path": str(path), "sha256": checksum(path)} for path in paths]
