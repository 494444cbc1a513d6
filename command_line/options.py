"""What the value of an option may be: argparse types that say what was found and what was expected.

Every option of every command is a switch, has `choices`, or takes one of these types. A wrong value is
refused before anything is read or written, as one line: `--beam: found '0', expected a whole number
from 1 to …`.
"""

import errno
import math
import os
import re
import unicodedata
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line.os_errors import explain

LARGEST = 2**31 - 1  # what the libraries below hold in a C int
MOST_WORKERS = 1024
LONGEST_TEXT = 200  # characters of a name in a table
_NOT_IN_A_LINE = {"Cc", "Zl", "Zp", "Cs"}  # control, line and paragraph separators, undecodable bytes
LONGEST_COMPONENT = 100  # bytes; file systems allow 255, of which our own file names need some


@dataclass(frozen=True)
class OptionType:
    """A type of option values.

    Attributes:
        expected: what it is, in words that follow "expected".
        read: text to value; raises ValueError for any other text, ArgumentTypeError to say more.
    """

    expected: str
    read: Callable[[str], Any]

    def __call__(self, text: str) -> Any:
        try:
            return self.read(text)
        except (ValueError, OverflowError):
            raise ArgumentTypeError(f"found {shown(text)}, expected {self.expected}") from None


def shown(value) -> str:
    """A value within an error message: quoted, on one line, and not too long."""
    text = repr(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def require(condition: bool) -> None:
    """ValueError if a value is not as expected; `OptionType` says what is."""
    if not condition:
        raise ValueError


def matched(pattern: re.Pattern, text: str) -> str:
    """The text; ValueError if it is not what the pattern describes."""
    require(bool(pattern.fullmatch(text)))
    return text


# --- numbers


def whole_number(minimum: int, maximum: int = LARGEST) -> OptionType:
    def read(text: str) -> int:
        value = int(text)
        require(minimum <= value <= maximum)
        return value

    return OptionType(f"a whole number from {minimum} to {maximum}", read)


def number(minimum: float, maximum: float, above: bool = False, below: bool = False) -> OptionType:
    """Finite numbers of an interval; `above` and `below` leave out its ends."""

    def read(text: str) -> float:
        value = float(text)
        require(math.isfinite(value) and minimum <= value <= maximum)
        require(not (above and value == minimum) and not (below and value == maximum))
        return value

    low = f"above {minimum:g}" if above else f"from {minimum:g}"
    high = f"below {maximum:g}" if below else f"to {maximum:g}"
    return OptionType(f"a number {low} {high}", read)


natural = whole_number(0)
positive = whole_number(1)
seed = natural
worker_count = whole_number(1, MOST_WORKERS)


# --- names


def is_one_line(text: str) -> bool:
    """Whether a text has no line ends, no other control characters, and no bytes that are not UTF-8."""
    return all(unicodedata.category(character) not in _NOT_IN_A_LINE for character in text)


def _text(text: str) -> str:
    require(bool(text.strip()) and is_one_line(text) and len(text) <= LONGEST_TEXT)
    return text


def _component(text: str) -> str:
    require(is_one_line(text) and not set(text) & set("/.,") and not text.startswith("-"))
    require(0 < len(text.encode()) <= LONGEST_COMPONENT and text == text.strip())
    return text


text = OptionType(f"one line of 1 to {LONGEST_TEXT} characters in UTF-8", _text)
split = OptionType("the name of a set such as test, without '/', '.' or ','", _component)
part_of_a_file_name = OptionType("a name without '/', '.' or ','", _component)


def items(kind: OptionType, separator: str = ",") -> OptionType:
    """A list of values of one kind, each once."""

    def read(text: str) -> list:
        values = [kind(part.strip()) for part in text.split(separator)]
        if twice := [value for value, count in Counter(values).items() if count > 1]:
            raise ArgumentTypeError(f"found {shown(text)}: {twice[0]} occurs twice, expected every one once")
        return values

    return OptionType(f"a list, separated by {separator!r}, of: {kind.expected}", read)


def one_of(names: Iterable[str]) -> OptionType:
    """One of a few names, for lists of them; an option with a single value has `choices`."""
    choices = tuple(names)

    def read(text: str) -> str:
        require(text in choices)
        return text

    return OptionType(f"one of {', '.join(choices)}", read)


# --- files


def _path(text: str) -> Path:
    require(bool(text) and is_one_line(text))
    try:
        os.stat(text)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            raise ArgumentTypeError(explain(error)) from None
    return Path(text)


def _nearest(path: Path) -> Path:
    """The path itself, or the folder in which it or its parents would be made."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _writable(path: Path) -> None:
    """Refuse a folder that nothing can be written in."""
    if path.is_symlink() and not path.exists():
        raise ArgumentTypeError(f"{path} is a link to nothing, expected a folder; remove or mend it")
    if not path.is_dir():
        raise ArgumentTypeError(f"{path} is a file, expected a folder")
    if not os.access(path, os.W_OK | os.X_OK):
        raise ArgumentTypeError(f"{path}: no permission to write in this folder; choose another one")


def _output_folder(text: str) -> Path:
    path = _path(text)
    _writable(_nearest(path))
    return path


def _output_file(text: str) -> Path:
    path = _path(text)
    require(bool(path.name))
    if path.is_dir():
        raise ArgumentTypeError(f"{path} is a folder, expected the name of a file to write")
    _writable(_nearest(path.parent))
    return path


path = OptionType("a path in UTF-8 without line ends", _path)
output_folder = OptionType("the path of a folder, in UTF-8 without line ends", _output_folder)
output_file = OptionType("the path of a file, in UTF-8 without line ends", _output_file)


def assignment(example: str, value: OptionType = text, name: OptionType = text) -> OptionType:
    """`NAME=VALUE`, as the pair of both."""

    def read(given: str) -> tuple[str, Any]:
        first, sign, rest = given.partition("=")
        require(bool(sign))
        return name.read(first), value.read(rest)

    return OptionType(f"NAME=VALUE, for example {example}", read)
