"""Any number of rows of small numbers for every line of a text, in one file: a ragged array. Little-endian:

bytes             content
8                 what the file is of: its magic
4 x 2             version, numbers of a row k
8 x 2             number of lines n, number of rows m
2 x k x m         the rows of all lines, 16 bits a number
0 .. 6            zeros up to a multiple of 8
8 x (n + 1)       where the rows of every line begin, and m
"""

import contextlib
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from command_line.errors import InputError
from command_line.outputs import atomic_path
from data_prep.formats.binary_header import read_header

VERSION = 1
LARGEST = 2**16 - 1
_HEADER = struct.Struct("<8sIIQQ")
_NUMBER, _OFFSET = np.dtype("<u2"), np.dtype("<u8")


class Kind(NamedTuple):
    """A kind of files.

    Attributes:
        magic: 8 bytes, with which they begin.
        command: what the user runs to write them.
    """

    magic: bytes
    columns: int
    command: str


def _padding(rows: int, columns: int) -> int:
    """Bytes between the rows and the offsets, which are aligned."""
    return -(rows * columns * _NUMBER.itemsize) % _OFFSET.itemsize


class RaggedWriter:
    """Writes the file line by line; it appears under its name when the `with` block has ended well.

    Memory does not grow with the number of lines.

    Attributes:
        lines, rows: written until now.
    """

    def __init__(self, path, kind: Kind):
        self.path, self.kind = Path(path), kind
        self.lines = self.rows = 0

    def __enter__(self):
        self._complete = atomic_path(self.path)
        temporary = self._complete.__enter__()
        self._offsets_path = temporary.with_name(temporary.name + ".offsets")
        self._content = open(temporary, "wb", buffering=1 << 20)
        self._offsets = open(self._offsets_path, "w+b", buffering=1 << 18)
        self._content.write(self._header())
        return self

    def __exit__(self, *error) -> None:
        with contextlib.ExitStack() as ending:
            ending.push(self._complete)  # last, and with what goes wrong before it
            ending.callback(self._offsets_path.unlink, missing_ok=True)
            ending.enter_context(self._content)
            ending.enter_context(self._offsets)
            if error[0] is not None:
                raise error[1]
            self._content.write(bytes(_padding(self.rows, self.kind.columns)))
            self._offsets.write(np.array(self.rows, dtype=_OFFSET).tobytes())
            self._offsets.seek(0)
            shutil.copyfileobj(self._offsets, self._content, 1 << 20)
            self._content.seek(0)
            self._content.write(self._header())

    def _header(self) -> bytes:
        return _HEADER.pack(self.kind.magic, VERSION, self.kind.columns, self.lines, self.rows)

    def append(self, rows: Sequence) -> None:
        """Add the rows of the next line, each of numbers from 0 to 65,535."""
        content = np.array(rows, dtype=_NUMBER).reshape(-1, self.kind.columns)
        self._offsets.write(np.array(self.rows, dtype=_OFFSET).tobytes())
        self._content.write(content.tobytes())
        self.lines, self.rows = self.lines + 1, self.rows + len(content)

    def extend(self, others: "RaggedArray") -> None:
        """Add all lines of another file of the kind."""
        self._offsets.write((others.offsets[:-1] + np.uint64(self.rows)).astype(_OFFSET).tobytes())
        self._content.write(others.all_rows.tobytes())
        self.lines, self.rows = self.lines + len(others), self.rows + len(others.all_rows)


class RaggedArray:
    """The rows of all lines, memory-mapped; `len()` is the number of lines.

    Attributes:
        all_rows: m x k, of 16 bits.
        offsets: n + 1, where the rows of every line begin, and m.

    Raises:
        InputError: the file is missing, of another kind, or not whole.
    """

    def __init__(self, path, kind: Kind):
        self.path, self.kind = Path(path), kind
        header, size = read_header(self.path, _HEADER, kind.magic, kind.command)
        version, columns, self._lines, rows = header
        if (version, columns) != (VERSION, kind.columns):
            raise InputError(
                f"{path}: version {version} with {columns} columns, expected {VERSION} with {kind.columns};"
                f" {self.remedy}"
            )
        end = _HEADER.size + rows * columns * _NUMBER.itemsize
        begin = end + _padding(rows, columns)  # of the offsets
        expected = begin + _OFFSET.itemsize * (self._lines + 1)
        if size != expected:
            raise InputError(f"{path}: {size} bytes, expected {expected}: not whole; {self.remedy}")
        content = np.memmap(self.path, dtype=np.uint8, mode="r")
        self.all_rows = content[_HEADER.size : end].view(_NUMBER).reshape(-1, columns)
        self.offsets = content[begin:].view(_OFFSET)
        if self.offsets[0] != 0 or self.offsets[-1] != rows:
            raise InputError(f"{path}: damaged; {self.remedy}")

    @property
    def remedy(self) -> str:
        """What the user does about a broken file."""
        return f"run `{self.kind.command} --force` again"

    def __len__(self) -> int:
        return self._lines

    def rows_of(self, line: int) -> np.ndarray:
        """The rows of a line, counted from 0 or, if negative, from the end: rows x k, int64."""
        if not -self._lines <= line < self._lines:
            raise IndexError(line)
        line %= self._lines
        return self.all_rows[int(self.offsets[line]) : int(self.offsets[line + 1])].astype(np.int64)

    def counts(self) -> np.ndarray:
        """Number of rows of every line."""
        return np.diff(self.offsets.astype(np.int64))

    def check_count(self, lines: int) -> None:
        """Refuse data of another number of lines."""
        if lines != self._lines:
            raise InputError(f"{self.path}: {self._lines} lines, but the data has {lines}; {self.remedy}")
