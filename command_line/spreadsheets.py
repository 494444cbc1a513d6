"""Tables as CSV, whose cells a spreadsheet takes for what they are.

A text that begins with `=`, `+`, `-` or `@` is a formula there, which may call programs. With an apostrophe
in front it is text.
"""

import csv
import functools
import io
from collections.abc import Iterable, Sequence

from command_line.streams import visible

_FORMULA = ("=", "+", "-", "@", "\t")


def csv_text(rows: Iterable[Sequence]) -> str:
    """Rows as CSV; a number, also one that is written as text, stays as it is, None is an empty field."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return stream.getvalue()


def _cell(value):
    return _text(value) if isinstance(value, str) else value


@functools.lru_cache(maxsize=10_000)  # most texts of a table are there many times
def _text(value: str) -> str:
    text = visible(value).replace("\r", "\\r")  # of which the module csv would make a line end
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
