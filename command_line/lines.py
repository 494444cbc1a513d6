"""Streams of text lines: plain, gzip and xz files, strict UTF-8, the same number of lines on both sides of
a pair.
"""

import contextlib
import gzip
import lzma
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from command_line.errors import InputError, at

_OPENERS = {".gz": gzip.open, ".xz": lzma.open}


def open_binary(path, mode: str = "rb"):
    """Open a file that may be compressed (by its suffix); a missing file is an `InputError`."""
    path = Path(path)
    try:
        return _OPENERS.get(path.suffix, open)(path, mode)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected a text file") from None


def read_lines(path) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file without their line ends.

    Only `\\n` (and `\\r\\n`) ends a line: other Unicode line separators are text. A byte order mark is
    dropped.

    Raises:
        InputError: the file is missing, broken (truncated gzip), or a line is not UTF-8; names file and line.
    """
    with contextlib.closing(open_binary(path)) as stream:
        number = 0
        try:
            for number, line in enumerate(stream, start=1):
                text = line.rstrip(b"\n").removesuffix(b"\r").decode("utf-8")
                yield text.removeprefix("\ufeff") if number == 1 else text
        except UnicodeDecodeError as error:
            found = line[error.start : error.start + 1].hex()
            raise InputError(
                f"{at(path, number)}: byte 0x{found} is not UTF-8; convert the file, for instance with iconv"
            ) from None
        except (EOFError, OSError, lzma.LZMAError) as error:
            raise InputError(f"{at(path, number + 1)}: cannot read on: {error}") from None


def read_parallel(*paths) -> Iterator[tuple[str, ...]]:
    """Yield lines of several files side by side.

    Raises:
        InputError: one file has fewer lines than another; names the short file and the line where it ends.
    """
    missing = object()
    for number, row in enumerate(zip_longest(*map(read_lines, paths), fillvalue=missing), start=1):
        if missing in row:
            short = paths[row.index(missing)]
            longer = next(path for path, line in zip(paths, row, strict=True) if line is not missing)
            raise InputError(
                f"{short}: ends after {number - 1} lines but {longer} goes on;"
                " parallel files need equally many lines"
            )
        yield row


def count_lines(path) -> int:
    """Number of lines of a (possibly compressed) file; a last line without a line end counts."""
    count, last = 0, b"\n"
    with contextlib.closing(open_binary(path)) as stream:
        try:
            while block := stream.read(1 << 20):
                count += block.count(b"\n")
                last = block[-1:]
        except (EOFError, OSError, lzma.LZMAError) as error:
            raise InputError(f"{at(path, count + 1)}: cannot read on: {error}") from None
    return count + (last != b"\n")
