"""Sentence vectors on disk: `NAME.npy`, lines x C, row i for line i of a text.

    file = VectorsFile.open("test.en.npy")
    for start, block in file.blocks(10_000): # float32, in memory
    file.stored                              # memory-mapped, as the numbers are stored

Files of floats of any program are read. `NAME.npy.json`, which `python -m embeddings encode` writes beside
its own, says which encoder made the vectors of which text, and which numbers those of fewer bits stand for.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import Literal, NotRequired

import numpy as np
from typing_extensions import TypedDict

from command_line.completion import check_finished, file_identity
from command_line.errors import InputError
from command_line.outputs import checksum, reserve
from command_line.records import read_record
from data_prep.formats.vector_numbers import DTYPES, FLOATS, Numbers

ENDING = ".npy"
_NO_ARRAY = (  # what numpy raises over a file whose header is none: it parses it as an expression of Python
    EOFError, MemoryError, OSError, OverflowError, RecursionError, SyntaxError, TokenError, TypeError,
    ValueError,
)  # fmt: skip
FORMAT = 1
KIND = "vectors"
LASER_WIDTH = 1024


class RecordOfEncoder(TypedDict):
    """What is always said of an encoder."""

    name: str
    kind: str
    width: int
    weights: NotRequired[dict[str, str] | None]


class RecordOfText(TypedDict):
    """The text of which vectors are."""

    path: str
    sha256: str
    lines: int


class VectorsRecord(TypedDict):
    """What is said of vectors beside them."""

    format: int
    kind: str
    encoder: RecordOfEncoder
    size: NotRequired[dict[str, int | None] | None]
    language: NotRequired[str | None]
    text: RecordOfText
    width: int
    dtype: Literal[*DTYPES]
    normalized: bool
    cut: NotRequired[int | None]
    vectors_sha256: str
    vectors_file: dict  # `file_identity`: whoever reads large vectors looks at samples of them


def step_name(path) -> str:
    """The step whose mark says that the vectors of this file are being written."""
    return f"encode {Path(path).name}"


def record_path(path) -> Path:
    return Path(path).with_name(f"{Path(path).name}.json")


def identity_of_vectors(path) -> dict:
    """The fields of the record that say which vectors it is of."""
    return {"vectors_sha256": checksum(path), "vectors_file": file_identity(path)}


def load_array(path, hint: str = "expected an array of numpy, NAME.npy") -> np.ndarray:
    """A memory-mapped array of numpy."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; {hint}")
    try:
        return np.lib.format.open_memmap(path, "r")
    except _NO_ARRAY as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: damaged, or no array of numbers ({reason}); {hint}") from None


@dataclass(frozen=True)
class VectorsFile:
    """Vectors of the lines of a text.

    Attributes:
        stored: a row per line, memory-mapped, as `numbers` has them on disk.
        numbers: what they stand for.
        record: of the encoder that made them; None for a file of another program.
        rows: those that are meant, from 0; None for all.
    """

    path: Path
    stored: np.ndarray
    numbers: Numbers
    record: dict | None
    rows: np.ndarray | None = None

    @classmethod
    def open(cls, path, width: int | None = None, lines: int | None = None) -> "VectorsFile":
        """The vectors in a file.

        Args:
            width: that the vectors must have, if it is known.
            lines: as many as there must be.

        Raises:
            InputError: the file is missing, damaged, unfinished, no table of real numbers, or of another
                width or length.
        """
        path = Path(path)
        check_finished(path.parent, step_name(path))
        stored = load_array(path, "expected vectors of `python -m embeddings encode`, NAME.npy")
        beside = record_path(path)
        record = read_record(beside, VectorsRecord) if beside.is_file() else None
        numbers = _numbers_of(path, stored, record)
        if record and (stored.shape, stored.dtype) != (
            (record["text"]["lines"], numbers.columns),
            numbers.storage,
        ):
            raise InputError(f"{beside}: is of other vectors than {path}; encode again (--force)")
        if record and record["vectors_file"] != file_identity(path):
            raise InputError(f"{path}: has changed since {beside.name} was written; encode again (--force)")
        if width is not None and numbers.width != width:
            raise InputError(
                f"{path}: vectors of {numbers.width} numbers, expected {width}; encode with one encoder"
            )
        if lines is not None and len(stored) != lines:
            raise InputError(f"{path}: {len(stored)} vectors, expected {lines}, one per line")
        return cls(path, stored, numbers, record)

    @classmethod
    def raw(cls, path: Path, lines: int) -> "VectorsFile":
        """The vectors in a file of float32 numbers and nothing else, as LASER writes them. Warns of another
        width than LASER's, as the file may be of another text.
        """
        size, wide = path.stat().st_size, 4 * lines
        if not size or size % wide:
            raise InputError(f"{path}: {size} bytes, expected float32 vectors of {lines} lines")
        if (width := size // wide) != LASER_WIDTH:
            print(
                f"warning: {path}: {width} numbers for each of {lines} lines, but LASER's vectors have"
                f" {LASER_WIDTH}; is it of this text?",
                file=sys.stderr,
            )
        stored = np.memmap(path, "<f4", "r", shape=(lines, width))
        return cls(path, stored, _numbers_of(path, stored, None), None)

    def __len__(self) -> int:
        """Number of vectors."""
        return len(self.stored if self.rows is None else self.rows)

    @property
    def width(self) -> int:
        return self.numbers.width

    def as_stored(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Some rows as they are on disk."""
        return self.stored[slice(start, stop) if self.rows is None else self.rows[start:stop]]

    def read(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Some rows in memory, float32; they are the caller's to change.

        Raises:
            InputError: a vector is NaN or infinite; names its line.
        """
        vectors = self.numbers.read(self.as_stored(start, stop))
        row = first_not_finite(vectors)
        if row is not None:
            number = start + row if self.rows is None else self.rows[start + row]
            raise InputError(f"{self.path}: vector {number + 1} has numbers that are NaN or infinite")
        return vectors

    def only(self, rows: np.ndarray) -> "VectorsFile":
        """Some of the rows, of which none is read yet."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def blocks(self, rows: int) -> Iterator[tuple[int, np.ndarray]]:
        """All rows, so many at a time: (number of the first, rows as `read` gives them)."""
        for start in range(0, len(self), rows):
            yield start, self.read(start, start + rows)


def first_not_finite(vectors: np.ndarray) -> int | None:
    """The first row with a number that is NaN or infinite."""
    wrong = ~np.isfinite(vectors).all(axis=1)
    return int(wrong.argmax()) if wrong.any() else None


def normalized(vectors: np.ndarray) -> np.ndarray:
    """Rows (n x C) of length 1, float32, in an array of their own; a row of zeros stays one."""
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def _numbers_of(path: Path, stored: np.ndarray, record: dict | None) -> Numbers:
    """What the numbers of an array stand for: what its record says, or the array's own floats."""
    if record and stored.ndim == 2 and record["width"] > 0:
        return Numbers(record["dtype"], record["width"])
    if stored.ndim != 2 or str(stored.dtype) not in FLOATS or not stored.shape[1]:
        raise InputError(
            f"{path}: an array of shape {stored.shape} of {stored.dtype}, expected lines x C of"
            f" {' or '.join(FLOATS)}, or beside it {record_path(path).name}, which says how to read it"
        )
    return Numbers(str(stored.dtype), stored.shape[1])


def create_vectors(path, lines: int, numbers: Numbers) -> np.ndarray:
    """A file of vectors to be written through its memory map; one of the same shape is continued.

    Raises:
        OSError: the disk has no room for all of them.
    """
    try:
        vectors = np.lib.format.open_memmap(path, mode="r+")
        if (vectors.shape, vectors.dtype) == ((lines, numbers.columns), numbers.storage):
            reserve(path, vectors.offset + vectors.nbytes)  # it may be one for which there was no room
            return vectors
    except (FileNotFoundError, ValueError):  # there is none, or it was cut off before it had a header
        pass
    made = np.lib.format.open_memmap(path, "w+", numbers.storage, (lines, numbers.columns))  # no room yet
    reserve(path, made.offset + made.nbytes)
    return np.lib.format.open_memmap(path, "r+")
