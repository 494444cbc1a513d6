"""Streams of text lines: plain, gzip, xz and zstd files, strict UTF-8, the same number of lines on both sides
of a pair.
"""

import contextlib
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path

from command_line.errors import InputError, at
from command_line.frames import open_xz, open_zstd

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError)  # what reading a damaged file raises
_OPENERS = {".gz": gzip.open, ".xz": open_xz, ".zst": open_zstd}
_BEGINNINGS = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}  # of such files
COMPRESSIONS = tuple(_OPENERS)  # suffixes
_ROWS = 1_000  # lines at a time; as fast as more


def open_binary(path):
    """Open a file that may be compressed (by its suffix); a missing file is an `InputError`."""
    path = Path(path)
    try:
        return _OPENERS[path.suffix](path) if path.suffix in _OPENERS else open(path, "rb")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected a text file") from None


def uncompressed_name(path) -> str:
    """The name of a file without the suffix of its compression."""
    path = Path(path)
    return path.stem if path.suffix in COMPRESSIONS else path.name


def find_text(path) -> Path | None:
    """The file of this name, plain or compressed; None if there is none."""
    path = Path(path)
    candidates = (path, *(path.with_name(path.name + suffix) for suffix in COMPRESSIONS))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def broken(path, line_number: int, error: Exception) -> InputError:
    """What to say of a file that cannot be read on, one of `BROKEN`."""
    path = Path(path)
    beginning = _BEGINNINGS.get(path.suffix, b"")
    with open(path, "rb") as stream:
        if not beginning.startswith(stream.read(len(beginning))):
            return InputError(f"{path}: is not compressed, as {path.suffix} says; rename it to {path.stem}")
    reason = str(error) or type(error).__name__
    return InputError(f"{at(path, line_number)}: cannot read on: {reason}; damaged, copy it again")


def read_rows(path, count: int) -> Iterator[list[bytes]]:
    """Yield the lines of a file as bytes, `count` at a time; each but the last ends with its line feed.

    A byte order mark is dropped.

    Raises:
        InputError: the file is missing or broken (truncated or damaged gzip or xz); names file and line.
    """
    number = 1
    with contextlib.closing(open_binary(path)) as stream:
        while True:
            rows: list[bytes] = []
            try:
                rows.extend(islice(stream, count))
            except BROKEN as error:
                raise broken(path, number + len(rows), error) from None
            if not rows:
                return
            if number == 1:
                rows[0] = rows[0].removeprefix(BYTE_ORDER_MARK)
            yield rows
            number += len(rows)


def decode(text: bytes, path, first_line: int = 1, nul: bool = False) -> str:
    """Bytes of whole lines as text.

    Args:
        nul: whether a NUL may occur: in what is cleaned or was never meant to be text, such as a log.

    Raises:
        InputError: a line is not UTF-8, or has a NUL; names file and line.
    """
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = at(path, first_line + text.count(b"\n", 0, error.start))
        byte = text[error.start : error.start + 1].hex()
        raise InputError(
            f"{line}: byte 0x{byte} is not UTF-8; convert the file, for instance with iconv"
        ) from None
    if not nul and "\0" in decoded:
        line = at(path, first_line + decoded.count("\n", 0, decoded.index("\0")))
        raise InputError(
            f"{line}: a NUL byte, expected text in UTF-8; remove it, as `python -m data_prep clean` does"
        )
    return decoded


def read_lines(path, nul: bool = False) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file without their line ends.

    Only `\\n` (and `\\r\\n`) ends a line: other Unicode line separators are text. A byte order mark is
    dropped.

    Raises:
        InputError: the file is missing, broken (truncated gzip), or a line is not UTF-8 or has a NUL; names
            file and line.
    """
    rows = (row for some in read_rows(path, _ROWS) for row in some)
    for number, row in enumerate(rows, start=1):
        yield _line(row, path, number, nul)


def read_stream(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """As `read_lines`, of an open stream: every line as soon as it is there.

    Args:
        name: in place of a path, for errors.

    Raises:
        InputError: a line is not UTF-8, or has a NUL; names it.
    """
    for number, row in enumerate(stream, start=1):
        yield _line(row if number > 1 else row.removeprefix(BYTE_ORDER_MARK), name, number)


def _line(row: bytes, path, number: int, nul: bool = False) -> str:
    return decode(row, path, number, nul).removesuffix("\n").removesuffix("\r")


def read_parallel(*paths, nul: bool = False) -> Iterator[tuple[str, ...]]:
    """Yield lines of several files side by side.

    Raises:
        InputError: one file has fewer lines than another; names the short file and the line where it ends.
    """
    missing = object()
    sides = [read_lines(path, nul) for path in paths]
    for number, row in enumerate(zip_longest(*sides, fillvalue=missing), start=1):
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
        except BROKEN as error:
            raise broken(path, count + 1, error) from None
    return count + (last != b"\n")
