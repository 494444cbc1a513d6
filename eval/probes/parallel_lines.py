"""Parallel lines, some of which are empty. Both sides of these are skipped, so that sides stay parallel."""

import sys

from command_line.errors import InputError
from data_prep.formats.directions import Direction


def with_words(lines: dict[Direction, list[str]], source: str) -> dict[Direction, list[str]]:
    """The lines that have words on both sides: the same ones for all models.

    Raises:
        InputError: a pair has no such lines; names their source.
    """
    kept = {}
    for (first, second), own in lines.items():
        sides = zip(own, lines[second, first], strict=True)
        kept[first, second] = [line for line, other in sides if line.strip() and other.strip()]
        if not kept[first, second]:
            raise InputError(f"{source} of {first}-{second}: no line has words on both sides; expected some")
    return kept


def say_skipped(skipped: dict[Direction, int], split: str) -> None:
    """A line on standard error if there are some."""
    if counts := [
        f"{count:,} of {'-'.join(pair)}"
        for pair, count in skipped.items()
        if count and pair == tuple(sorted(pair))
    ]:
        print(
            f"states: {split} lines that are empty on a side are skipped: {', '.join(counts)}",
            file=sys.stderr,
        )
