"""The commands of a recipe, as its dry run writes them: a line each. A line that begins with # is a note."""

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from command_line.dispatch import step_parser
from command_line.errors import InputError
from command_line.option_classes import from_arguments


def commands(lines: Iterable[str]) -> Iterator[list[str]]:
    """The words of every command; notes are printed.

    Raises:
        InputError: a line is no command.
    """
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            note(line.removeprefix("#").strip())
            continue
        try:
            yield shlex.split(line)
        except ValueError as error:
            raise InputError(f"standard input:{number}: {error}; expected the dry run of a recipe") from None


def note(text: str) -> None:
    print(f"== {text}", file=sys.stderr, flush=True)


def jobs(
    lines: Iterable[str], package: str, steps: Mapping[str, tuple[ModuleType, type]]
) -> Iterator[tuple[list[str], Any]]:
    """What commands of a package do that are steps of these: the words before `-m PACKAGE STEP`, which start
    it, and the options.

    Args:
        steps: name -> module, and the class of its options.
    """
    for words in commands(lines):
        start = words.index("-m") if "-m" in words else len(words)
        named, given = words[start + 1 : start + 3], words[start + 3 :]
        if named[:1] == [package] and named[-1] in steps:
            module, options = steps[named[-1]]
            parser = step_parser(f"python -m {' '.join(named)}", module)
            yield words[:start], from_arguments(options, parser.parse_args(given))
