"""`--help`: text that fits the terminal, with its lists and formulas as they were written.

A description is the docstring of its step: paragraphs, lists (`  term  what it is`) and indented lines, that
is, commands and formulas. A terminal that is narrower than the source breaks every line in two; argparse's
own filling runs a list into one paragraph; so each block is filled for itself.
"""

import argparse
import re
import shutil
import textwrap
from collections.abc import Iterator

MOST = 110  # columns: longer lines are tiring to read
NARROWEST = 24  # of a list's column; below that, its text goes under the term
_ITEM = re.compile(r" +\S(?:\S| (?! )){0,30}  +(?=\S)")
_SAYS_ITS_DEFAULT = re.compile(r"\(default\b|%\(default\)")


def columns() -> int:
    """What a line of help may have: the terminal's width, without the last two columns, as argparse does."""
    return min(shutil.get_terminal_size().columns - 2, MOST)


def fill(text: str, width: int) -> str:
    """A description with lines of at most `width` characters; longer words and formulas stay whole."""
    return "\n".join(
        line if indent is None else _hang(line[:indent], line[indent:], width)
        for line, indent in _blocks(text)
    )


def _blocks(text: str) -> Iterator[tuple[str, int | None]]:
    """Every block in one line, and where its text begins: paragraphs at 0, items of lists behind their terms,
    None for what is kept as it is: blank lines, commands and formulas.
    """
    block, start = "", None
    lines = text.strip("\n").splitlines()
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip()) if line.strip() else None
        if number and indent is not None and indent == start:
            block += f" {line.strip()}"
            continue
        if number:
            yield block, start
        item = _ITEM.match(line)
        block, start = line.rstrip(), item.end() if item else 0 if indent == 0 else None
    yield block, start


def _hang(term: str, text: str, width: int) -> str:
    """A paragraph, or an item of a list with its text in a column beside the term."""
    indent = " " * len(term)
    if term and width - len(term) < NARROWEST:
        indent = " " * (len(term) - len(term.lstrip()) + 2)
    filled = textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return term + filled[len(term) :] if len(indent) == len(term) else f"{term.rstrip()}\n{filled}"


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows defaults that say something, and keeps the lists of a step's description."""

    def __init__(self, prog: str):
        super().__init__(prog, width=columns())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return textwrap.indent(fill(text, width - len(indent)), indent)

    def _get_help_string(self, action: argparse.Action) -> str:
        explained = action.help or ""
        is_off = action.default is False and action.const is True  # a switch that is not given
        says_nothing = is_off or action.default is None or action.default in ("", [], ())
        if says_nothing or _SAYS_ITS_DEFAULT.search(explained):
            return explained
        return super()._get_help_string(action)
