"""Encoding in windows of lines, so that texts may be larger than the memory and a kill costs one window."""

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from command_line.errors import InputError
from command_line.journal import Journal
from command_line.lines import decode, read_rows
from command_line.progress import progress
from data_prep.formats.vector_numbers import Numbers
from data_prep.formats.vectors import first_not_finite, normalized
from embeddings.encoders.sentence_encoder import NotFinite, SentenceEncoder, TokenVectors

WINDOW = 8_192  # lines


@dataclass(frozen=True)
class Store:
    """Where vectors go.

    Attributes:
        normalize: vectors of length 1; those of zeros stay as they are. Numbers of fewer bits need it.
        at: the name of a line in error messages, by its number from 0.
    """

    vectors: np.ndarray
    numbers: Numbers
    normalize: bool
    at: Callable[[int], str]

    def put(self, start: int, vectors: np.ndarray) -> int:
        """Store the vectors of the lines from `start` on; returns their checksum.

        Raises:
            InputError: one is beyond the range of the numbers on disk; names the line.
        """
        if self.normalize:
            vectors = normalized(vectors)
        stored = self.numbers.stored(vectors)
        row = first_not_finite(stored)
        if row is not None:
            raise InputError(f"{self.at(start + row)}: its vector is beyond float16; give --dtype float32")
        self.vectors[start : start + len(stored)] = stored
        return zlib.crc32(stored)

    def has(self, entry: dict) -> bool:
        """Whether a finished window is still as it was written."""
        rows = np.ascontiguousarray(self.vectors[entry["start"] : entry["start"] + entry["lines"]])
        return zlib.crc32(rows) == entry["crc32"]


class Encoded(NamedTuple):
    """What was made of a window.

    Attributes:
        start: number of its first line, from 0.
        vectors: a row per line, or the states of the lines' tokens; None if a number is NaN or infinite.
        not_finite: the row of that one.
        cut: sentences that were cut.
    """

    start: int
    lines: int
    vectors: np.ndarray | TokenVectors | None
    not_finite: int | None
    cut: int
    seconds: float


def encoded(
    encoder: SentenceEncoder,
    encode: Callable[[Sequence], np.ndarray | TokenVectors],
    window: tuple[int, Sequence],
) -> Encoded:
    """Encode a window.

    Args:
        encode: function sentences -> vectors, or states of tokens, by the encoder.
    """
    start, sentences = window
    began, cut = time.monotonic(), encoder.cut or 0
    vectors, not_finite = None, None
    try:
        vectors = encode(sentences)
    except NotFinite as error:
        not_finite = error.row
    seconds = time.monotonic() - began
    return Encoded(start, len(sentences), vectors, not_finite, (encoder.cut or 0) - cut, seconds)


def encode_windows(
    windows: Iterable[tuple[int, Sequence]],
    encode_all: Callable[[Iterable[tuple[int, Sequence]]], Iterable[Encoded]],
    store: Store,
    journal: Journal,
    title: str,
) -> list[dict]:
    """Encode what the journal does not have yet.

    Args:
        windows: number of the first line, from 0, and the sentences of each window.
        encode_all: what becomes of some of these, in their order.

    Returns:
        the journal's entries of all windows: "start", "lines", "crc32", "cut", "seconds".

    Raises:
        InputError: a vector is NaN, infinite or beyond float16; names the line.
    """
    done = {entry["start"]: entry for entry in journal.entries if store.has(entry)}
    todo = ((start, window) for start, window in windows if start not in done)
    left = len(store.vectors) - sum(entry["lines"] for entry in done.values())
    for window in progress(encode_all(todo), left, title, "line", size=lambda window: window.lines):
        if window.vectors is None:
            raise InputError(
                f"{store.at(window.start + window.not_finite)}: its vector is NaN or infinite; expected an"
                " encoder whose training converged, or --precision float32"
            )
        entry = {
            "start": window.start,
            "lines": window.lines,
            "crc32": store.put(window.start, window.vectors),
            "cut": window.cut,
            "seconds": window.seconds,
        }
        journal.add(entry)
        done[window.start] = entry
    return list(done.values())


def windows(path: Path, size: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """Number of the first line, from 0, and the lines of each window of a text."""
    start = 0
    for rows in read_rows(path, size or WINDOW):
        text = decode(b"".join(rows), path, start + 1)
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        yield start, lines
        start += len(lines)
