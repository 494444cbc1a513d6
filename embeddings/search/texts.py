"""The lines of a text that may be larger than the memory: where each begins is known, and which are equal."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import COMPRESSIONS, decode, read_lines, read_rows

ROWS = 10_000  # at a time
MOST_IN_MEMORY = 64 * 2**20  # bytes of a text


class LazyLines(Sequence):
    """Some lines of a file, which is read where they are looked at; 24 bytes of memory a line.

    Args:
        path: not compressed.
        starts: the bytes at which all lines of the file begin, and the one behind the last.
        identities: of all lines: equal ones have equal numbers.
        rows: those that are meant, from 0, in order.
    """

    def __init__(self, path: Path, starts: np.ndarray, identities: np.ndarray, rows: np.ndarray):
        self.path, self.starts, self.rows = path, starts, rows
        self._identities = identities

    @classmethod
    def open(cls, path: Path) -> "LazyLines":
        """All lines of a file.

        Raises:
            InputError: it is missing, empty, compressed, or not UTF-8, or has a NUL; names the line.
        """
        if path.suffix in COMPRESSIONS:
            raise InputError(f"{path}: lines of a compressed file cannot be looked up; decompress it")
        lengths, identities, lines = [], [], 0
        for rows in read_rows(path, ROWS):
            decode(b"".join(rows), path, 1 + lines)
            lengths.append(np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)))
            identities.append(np.fromiter(map(_identity, rows), dtype=np.uint64, count=len(rows)))
            lines += len(rows)
        if not lines:
            raise InputError(f"{path}: is empty, expected a sentence per line")
        ends = np.cumsum(np.concatenate(lengths))
        before = path.stat().st_size - ends[-1]  # a byte order mark is no part of the first line
        return cls(path, before + np.concatenate([[0], ends]), np.concatenate(identities), np.arange(lines))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> str:
        return next(self.at(np.array([place])))

    def __iter__(self) -> Iterator[str]:
        places = iter(self.rows.tolist())
        wanted, number = next(places, None), 0
        for rows in read_rows(self.path, ROWS):
            for row in rows:
                if number == wanted:
                    yield _text(row)
                    wanted = next(places, None)
                number += 1

    def at(self, places: np.ndarray) -> Iterator[str]:
        """Lines in any order, from a file that is opened once."""
        with open(self.path, "rb") as stream:
            for row in self.rows[places]:
                stream.seek(self.starts[row])
                yield _text(stream.read(self.starts[row + 1] - self.starts[row]))

    @property
    def is_whole(self) -> bool:
        """Whether all lines of the file are meant."""
        return len(self.rows) == len(self.starts) - 1

    @property
    def identities(self) -> np.ndarray:
        """A number for each line, the same for equal ones."""
        return self._identities[self.rows]

    def only(self, places: np.ndarray) -> "LazyLines":
        """Some of the lines."""
        return LazyLines(self.path, self.starts, self._identities, self.rows[places])


def open_lines(path: Path) -> Sequence[str]:
    """The lines of a text: looked up in the file where they are many and it is not compressed, else in
    memory.

    Raises:
        InputError: it is missing or not UTF-8, has a NUL, or, of many lines, is empty.
    """
    is_large = path.is_file() and path.stat().st_size > MOST_IN_MEMORY
    return LazyLines.open(path) if is_large and path.suffix not in COMPRESSIONS else list(read_lines(path))


def lines_at(texts: Sequence[str], places: np.ndarray) -> Iterator[str]:
    """Some lines, in the order of their places."""
    return texts.at(places) if isinstance(texts, LazyLines) else (texts[place] for place in places)


def some_lines(texts: Sequence[str], places: np.ndarray) -> Sequence[str]:
    """The lines at these places, which ascend."""
    return texts.only(places) if isinstance(texts, LazyLines) else [texts[place] for place in places]


def distinct_lines(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Where each different text occurs first, ascending, and for every line its place among these."""
    _, first, which = np.unique(identities_of(texts), return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return first[order], places[which]


def identities_of(texts: Sequence[str]) -> np.ndarray:
    """A number for each text, the same for equal ones."""
    if isinstance(texts, LazyLines):
        return texts.identities
    number: dict[str, int] = {}
    return np.array([number.setdefault(text, len(number)) for text in texts])


def rows_of(texts: Sequence[str]) -> np.ndarray:
    """The numbers of the lines in their file, from 0."""
    return texts.rows if isinstance(texts, LazyLines) else np.arange(len(texts))


def first_of_equal_pairs(first: LazyLines, second: LazyLines) -> np.ndarray:
    """The places of the pairs of lines that do not occur before."""
    pairs = np.stack([first.identities, second.identities], axis=1)
    _, places = np.unique(pairs, axis=0, return_index=True)
    return np.sort(places)


def _text(row: bytes) -> str:
    return row.decode("utf-8").removesuffix("\n").removesuffix("\r")


def _identity(row: bytes) -> int:
    """64 bits: among ten million lines two different ones are equal by chance once in 400,000 files."""
    content = row.removesuffix(b"\n").removesuffix(b"\r")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
