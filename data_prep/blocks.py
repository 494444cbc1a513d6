"""Text in blocks of lines, which worker processes turn into other blocks.

Memory is bounded: a few blocks are under way at any time, however long the file is.
"""

import contextlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from command_line.errors import InputError, at
from command_line.lines import open_binary

LINES_PER_BLOCK = 5_000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Consecutive lines of one file, or of several line-parallel files.

    Attributes:
        paths: the files.
        first_line: number of the block's first line, from 1.
        texts: for each file the lines in UTF-8 (not yet checked), every line ended by a line feed.
        lines: how many there are.
    """

    paths: tuple[Path, ...]
    first_line: int
    texts: tuple[bytes, ...]
    lines: int

    def decode(self, side: int = 0) -> list[str]:
        """The lines of one file, without line ends.

        Raises:
            InputError: a line is not UTF-8; names file and line.
        """
        text = self.texts[side]
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError as error:
            line = at(self.paths[side], self.first_line + text.count(b"\n", 0, error.start))
            found = text[error.start : error.start + 1].hex()
            message = f"{line}: byte 0x{found} is not UTF-8; convert the file, for instance with iconv"
            raise InputError(message) from None
        if "\r" in decoded:
            decoded = decoded.replace("\r\n", "\n")
        return decoded.split("\n")[:-1]


def read_blocks(*paths, lines: int | None = None) -> Iterator[Block]:
    """Yield the lines of line-parallel files block by block: `lines`, or `LINES_PER_BLOCK`, in each.

    Raises:
        InputError: a file is missing, empty, broken, or ends before another; names file and line.
    """
    paths = tuple(map(Path, paths))
    number, lines = 1, lines or LINES_PER_BLOCK
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(open_binary(path)) for path in paths]
        while True:
            rows = [_take(stream, path, lines, number) for stream, path in zip(streams, paths, strict=True)]
            lengths = [len(row) for row in rows]
            if min(lengths) != max(lengths):
                short, longer = paths[lengths.index(min(lengths))], paths[lengths.index(max(lengths))]
                ends = number - 1 + min(lengths)
                raise InputError(
                    f"{short}: ends after {ends} lines but {longer} goes on; "
                    "parallel files need equally many lines"
                )
            if not lengths[0]:
                break
            if number == 1:
                rows = [[row[0].removeprefix(BYTE_ORDER_MARK), *row[1:]] for row in rows]
            yield Block(paths, number, tuple(_join(row) for row in rows), lengths[0])
            number += lengths[0]
    if number == 1:
        raise InputError(f"{paths[0]}: is empty, expected lines of text")


def _take(stream, path: Path, count: int, number: int) -> list[bytes]:
    try:
        return list(islice(stream, count))
    except (EOFError, OSError, ValueError) as error:
        raise InputError(f"{at(path, number)}: cannot read on: {error}") from None


def _join(lines: list[bytes]) -> bytes:
    text = b"".join(lines)
    return text if text.endswith(b"\n") else text + b"\n"


def encode(lines: Iterable[str]) -> bytes:
    """Lines to the bytes of a text file."""
    text = "\n".join(lines)
    return (text + "\n").encode() if text or lines else b""
