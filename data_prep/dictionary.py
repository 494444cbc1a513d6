"""The joint dictionary file: one token and its count per line, most frequent first, as fairseq reads it.

fairseq adds its four special symbols itself when it loads the file. As fairseq's own preprocessing does,
dummy symbols of count 0 make the size a multiple of 8 (with the special symbols), which GPUs like.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.outputs import atomic_path
from data_prep.subword_models import SPECIAL_SYMBOLS

PADDING_FACTOR = 8


def dictionary_lines(counts: Counter, min_count: int = 1) -> Iterator[str]:
    """Lines of the dictionary file; ties go by code points, so that the file depends on counts alone."""
    tokens = [token for token, count in counts.items() if count >= min_count and token not in SPECIAL_SYMBOLS]
    for token in sorted(tokens, key=lambda token: (-counts[token], token)):
        yield f"{token} {counts[token]}"
    for number in range(-(len(tokens) + len(SPECIAL_SYMBOLS)) % PADDING_FACTOR):
        yield f"madeupword{number:04d} 0"


def write_dictionary(path: Path, counts: Counter, min_count: int = 1) -> int:
    """Write the file; returns its number of lines."""
    lines = list(dictionary_lines(counts, min_count))
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        stream.writelines(line + "\n" for line in lines)
    return len(lines)


def read_symbols(path: Path) -> list[str]:
    """The symbols of a dictionary file in its order, without fairseq's special ones.

    Raises:
        InputError: a line is not SYMBOL COUNT, or a symbol occurs twice; names file and line.
    """
    symbols: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        symbol, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not symbol or not count.isdigit():
            raise InputError(f"{at(path, number)}: {line[:60]!r}, expected SYMBOL COUNT")
        if symbol in symbols:
            raise InputError(f"{at(path, number)}: {symbol!r} is in line {symbols[symbol]} already")
        symbols[symbol] = number
    return list(symbols)
