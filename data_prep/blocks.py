"""Text in blocks of lines, which worker processes turn into other blocks.

Memory is bounded: a few blocks are under way at any time, however long the file is.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from command_line.errors import InputError
from command_line.lines import decode, read_rows

LINES_PER_BLOCK = 5_000


class Block(NamedTuple):
    """Consecutive lines of one file, or of several line-parallel files.

    Attributes:
        first_line: number of the block's first line, from 1.
        texts: for each file the lines in UTF-8 (not yet checked), every line ended by a line feed.
    """

    paths: tuple[Path, ...]
    first_line: int
    texts: tuple[bytes, ...]
    lines: int

    def text(self, side: int = 0, nul: bool = False) -> str:
        """The lines of one file, each ended by a line feed.

        Raises:
            InputError: a line is not UTF-8, or has a NUL; names file and line.
        """
        decoded = decode(self.texts[side], self.paths[side], self.first_line, nul)
        return decoded.replace("\r\n", "\n") if "\r" in decoded else decoded

    def decode(self, side: int = 0, nul: bool = False) -> list[str]:
        """The lines of one file, without line ends; arguments and errors as of `text`."""
        return self.text(side, nul).split("\n")[:-1]


def read_blocks(*paths, lines: int | None = None) -> Iterator[Block]:
    """Yield the lines of line-parallel files block by block: `lines`, or `LINES_PER_BLOCK`, in each.

    Raises:
        InputError: a file is missing, empty, broken, or ends before another; names file and line.
    """
    paths = tuple(map(Path, paths))
    number = 1
    for rows in zip_longest(*(read_rows(path, lines or LINES_PER_BLOCK) for path in paths), fillvalue=[]):
        lengths = [len(row) for row in rows]
        if min(lengths) != max(lengths):
            short, longer = paths[lengths.index(min(lengths))], paths[lengths.index(max(lengths))]
            ends = number - 1 + min(lengths)
            raise InputError(
                f"{short}: ends after {ends} lines but {longer} goes on; "
                "parallel files need equally many lines"
            )
        yield Block(paths, number, tuple(_join(row) for row in rows), lengths[0])
        number += lengths[0]
    if number == 1:
        raise InputError(f"{paths[0]}: is empty, expected lines of text")


def _join(lines: list[bytes]) -> bytes:
    text = b"".join(lines)
    return text if text.endswith(b"\n") else text + b"\n"


def encode(lines: Iterable[str]) -> bytes:
    """Lines to the bytes of a text file."""
    text = "\n".join(lines)
    return (text + "\n").encode() if text or lines else b""
