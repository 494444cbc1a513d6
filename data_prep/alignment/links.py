"""The text form of alignments: one line per sentence pair, Pharaoh's `i-j` extended to spans.

    0-0 1-2 3:5-3 6:8-5:7

Words count from 0. `i-j` links a word of A with a word of B; `i:k` in place of a word is the half-open span
of words i to k - 1. A line without links is empty.
"""

import re

from command_line.errors import InputError, at

Spans = tuple[int, int, int, int]  # start and end in A, start and end in B
_ITEM = re.compile(r"(\d+)(?::(\d+))?-(\d+)(?::(\d+))?", re.ASCII)


def format_line(spans: list[Spans]) -> str:
    return " ".join(
        f"{a}-{c}" if b - a == 1 == d - c else f"{_side(a, b)}-{_side(c, d)}" for a, b, c, d in spans
    )


def _side(start: int, end: int) -> str:
    return str(start) if end - start == 1 else f"{start}:{end}"


def parse_line(line: str, path, number: int) -> list[Spans]:
    """Inverse of `format_line`, in the order of the line.

    Raises:
        InputError: an item has another form, or an empty span; names file and line.
    """
    spans = []
    for item in line.split():
        match = _ITEM.fullmatch(item)
        start_a, end_a, start_b, end_b = match.groups() if match else (0, 0, 0, 0)
        row = int(start_a), int(end_a or int(start_a) + 1), int(start_b), int(end_b or int(start_b) + 1)
        if not match or row[0] >= row[1] or row[2] >= row[3]:
            raise InputError(
                f"{at(path, number)}: found {item!r}, expected i-j, or i:k-j:l with i < k and j < l"
            )
        spans.append(row)
    return spans


def check_range(spans: list[Spans], words_a: int, words_b: int, path, number: int) -> None:
    """Raises:
    InputError: a span ends behind the last word of its sentence; names file and line.
    """
    for _, end_a, _, end_b in spans:
        if end_a > words_a or end_b > words_b:
            raise InputError(
                f"{at(path, number)}: found a link to word {end_a - 1} of A and {end_b - 1} of B, "
                f"but the sentences have {words_a} and {words_b} words (counted from 0)"
            )
