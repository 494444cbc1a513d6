"""Bunsetsu or phrases, and the reordering, of every line of a text: `NAME.bunsetsu`, `NAME.phrases`.

`NAME` is the file of text (`train.en-ja.ja`). Beside tokenized text the units of a line are its words; beside
binarized text they are runs of subwords, each a word (or several that a subword joins). Little-endian:

    bytes             content
    8                 "STRUCTUR"
    2 x 1, 6          version (1); 1 bunsetsu or 2 phrases; zeros
    2 x 8             number of lines n, number of values m
    2 x m             values of all lines, 16 bits each
    0 .. 6            zeros up to a multiple of 8
    8 x (n + 1)       where the values of every line begin, and m

The values of a line with `u` units:

    1                 u
    1                 p, number of boundaries: bunsetsu - 1, or phrases = u - 1
    p                 the boundaries: first unit of every bunsetsu but the first (ascending), or the split of
                      every phrase in preorder (`trees.Tree`)
    u                 the reordering: which unit stands first, second, …
    u + 1, or 0       where every unit begins in subwords, and their number; absent beside tokenized text

A line without values was empty or could not be parsed; its tasks fall back to MASS.
"""

import itertools
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from command_line.errors import InputError, at
from command_line.lines import uncompressed_name
from command_line.outputs import atomic_path
from data_prep.formats.binary_header import read_header

BUNSETSU, PHRASES = "bunsetsu", "phrases"
KINDS = {BUNSETSU: 1, PHRASES: 2}
MAGIC = b"STRUCTUR"
VERSION = 1
MOST_UNITS = 2**16 - 1
_HEADER = struct.Struct("<8sBB6xQQ")
_VALUE, _OFFSET = np.dtype("<u2"), np.dtype("<u8")


class Structure(NamedTuple):
    """The structure of one line; all arrays are int64.

    Attributes:
        boundaries: first unit of every bunsetsu but the first, or the splits of the phrases in preorder.
        order: the units as BRSS or HFSS reorders them; a permutation.
        starts: where every unit begins in subwords, and their number; beside tokenized text the units are
            words, and `starts` is 0, 1, …, number of words.
    """

    boundaries: np.ndarray
    order: np.ndarray
    starts: np.ndarray

    def token_boundaries(self) -> np.ndarray:
        """The boundaries in subwords."""
        return self.starts[self.boundaries]

    def token_order(self) -> np.ndarray:
        """The reordering in subwords."""
        return order_of_parts(self.order, self.starts)


def order_of_parts(order: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """An order of units -> the order of their parts (subwords): units move as a whole.

    Args:
        order: which unit stands first, second, …
        starts: where every unit begins in parts, and the number of parts.
    """
    begins, lengths = starts[:-1][order], np.diff(starts)[order]
    return np.arange(starts[-1]) + np.repeat(begins - lengths.cumsum() + lengths, lengths)


def is_structure_file(path: Path) -> bool:
    return path.suffix.removeprefix(".") in KINDS


def structure_files(folder) -> list[Path]:
    """The files of structures of a folder, sorted; hidden ones are what a killed command has left.

    Raises:
        InputError: there are none.
    """
    paths = sorted(path for path in Path(folder).glob("[!.]*") if is_structure_file(path))
    if not paths:
        raise InputError(f"{folder}: no structures, expected files that `bunsetsu` or `phrases` wrote")
    return paths


def structure_path(text_path, kind: str) -> Path:
    """The file beside a file of text or the prefix of a binarized one (`DATA/train.en-ja.ja`)."""
    path = Path(text_path)
    return path.with_name(f"{uncompressed_name(path)}.{kind}")


def encode(boundaries: Sequence[int], order: Sequence[int], starts: Sequence[int] = ()) -> list[int]:
    """The values of a line.

    Raises:
        ValueError: more units or subwords than 16 bits can number.
    """
    if len(order) > MOST_UNITS or (len(starts) and starts[-1] > MOST_UNITS):
        raise ValueError(f"more than {MOST_UNITS} units")
    return [len(order), len(boundaries), *boundaries, *order, *starts]


def write_structures(path, kind: str, lines: Iterable[Sequence[int]]) -> None:
    """Write the values of all lines (of `encode`; empty for a line that was not parsed)."""
    lines = list(lines)
    values = np.fromiter(itertools.chain.from_iterable(lines), dtype=_VALUE)
    offsets = np.zeros(len(lines) + 1, dtype=_OFFSET)
    np.cumsum([len(line) for line in lines], out=offsets[1:])
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        stream.write(_HEADER.pack(MAGIC, VERSION, KINDS[kind], len(lines), len(values)))
        stream.write(values.tobytes() + bytes(_padding(len(values))))
        stream.write(offsets.tobytes())


def join_structures(path, kind: str, parts: Sequence[Path]) -> None:
    """Write one file of several, in order; one of them is in memory at a time."""
    headers = [_read_header(part, kind) for part in parts]
    lines, values = (sum(header[place] for header in headers) for place in (0, 1))
    with atomic_path(path) as temporary, open(temporary, "wb", buffering=1 << 20) as stream:
        stream.write(_HEADER.pack(MAGIC, VERSION, KINDS[kind], lines, values))
        for part in parts:
            stream.write(Structures(part, kind).raw_values())
        stream.write(bytes(_padding(values)))
        before = 0
        for part in parts:
            opened = Structures(part, kind)
            stream.write((opened.offsets[:-1] + np.uint64(before)).astype(_OFFSET).tobytes())
            before += opened.values
        stream.write(np.array([before], dtype=_OFFSET).tobytes())


def _padding(values: int) -> int:
    return -(values * _VALUE.itemsize) % _OFFSET.itemsize


class Structures:
    """The structures of all lines, memory-mapped.

    `len()` is the number of lines, `[i]` the `Structure` of line `i` (from 0) or None.

    Args:
        path: the file.
        kind: `BUNSETSU` or `PHRASES`.

    Raises:
        InputError: the file is missing, of another kind, or not whole; from `[i]`: line `i` is damaged.
    """

    def __init__(self, path, kind: str):
        self.path, self.kind = Path(path), kind
        self._lines, self.values = _read_header(self.path, kind)
        content = np.memmap(self.path, dtype=np.uint8, mode="r")
        end = _HEADER.size + _VALUE.itemsize * self.values
        self._values = content[_HEADER.size : end].view(_VALUE)
        self.offsets = content[end + _padding(self.values) :].view(_OFFSET)
        if self.offsets[0] != 0 or self.offsets[-1] != self.values:
            raise InputError(f"{self.path}: damaged; parse the text again")

    def __reduce__(self):  # a worker process maps the file anew instead of receiving its content
        return type(self), (self.path, self.kind)

    def raw_values(self) -> bytes:
        """The values of all lines, as the file has them."""
        return self._values.tobytes()

    def __len__(self) -> int:
        return self._lines

    def __getitem__(self, line: int) -> Structure | None:
        if not -self._lines <= line < self._lines:
            raise IndexError(line)
        line %= self._lines
        begin, end = int(self.offsets[line]), int(self.offsets[line + 1])
        if begin == end:
            return None
        values = self._values[begin:end].astype(np.int64)
        units, boundaries = int(values[0]), int(values[1])
        middle = 2 + boundaries
        starts = values[middle + units :]
        structure = Structure(
            values[2:middle], values[middle : middle + units], starts if len(starts) else np.arange(units + 1)
        )
        if not _is_consistent(structure, self.kind):
            raise InputError(f"{at(self.path, line + 1)}: damaged; parse the text again")
        return structure

    def known(self) -> np.ndarray:
        """Whether every line has a structure."""
        return np.diff(self.offsets.astype(np.int64)) > 0

    def check(self, lengths) -> None:
        """Compare a file beside binarized text with the sentences.

        Args:
            lengths: subwords of every sentence, without tags and `</s>`.

        Raises:
            InputError: another number of lines; a line with another number of subwords, or damaged; names
                file and line.
        """
        lengths = np.asarray(lengths, dtype=np.int64)
        if len(lengths) != self._lines:
            raise InputError(
                f"{self.path}: {self._lines} lines, but the text has {len(lengths)}; parse it again"
            )
        offsets = self.offsets.astype(np.int64)
        sizes = np.diff(offsets)
        there = np.flatnonzero(sizes != 0)
        wrong = sizes < 0
        if not wrong.any() and len(there):
            begins = offsets[there]
            short = sizes[there] < 4
            units, boundaries = (
                self._values[np.minimum(begins + place, self.values - 1)].astype(np.int64) for place in (0, 1)
            )
            expected = 2 + boundaries + 2 * units + 1
            last = self._values[offsets[there + 1] - 1]
            wrong[there] = (
                short | (sizes[there] != expected) | (last != lengths[there]) | (boundaries >= units)
            )
        if wrong.any():
            line = int(np.argmax(wrong))
            raise InputError(
                f"{at(self.path, line + 1)}: does not describe a sentence of {lengths[line]} subwords; "
                "it is damaged or of another text, parse the text again"
            )


def _is_consistent(structure: Structure, kind: str) -> bool:
    boundaries, order, starts = structure
    units = len(order)
    if not np.array_equal(np.sort(order), np.arange(units)):
        return False
    if len(starts) != units + 1 or starts[0] != 0 or not (starts[1:] > starts[:-1]).all():
        return False
    if kind == PHRASES:
        return _are_splits(boundaries.tolist(), units)
    inside = np.concatenate(([0], boundaries, [units]))
    return bool((inside[1:] > inside[:-1]).all())


def _are_splits(splits: list[int], units: int) -> bool:
    """Whether they divide all phrases in preorder down to single units."""
    begin, ends = 0, [units]  # of the phrases that are open, the innermost last
    for split in splits:
        while ends and ends[-1] - begin == 1:
            begin = ends.pop()
        if not ends or not begin < split < ends[-1]:
            return False
        ends.append(split)
    while ends and ends[-1] - begin == 1:
        begin = ends.pop()
    return not ends


def _read_header(path: Path, kind: str) -> tuple[int, int]:
    """Number of lines and of values.

    Raises:
        InputError: no such file, another kind of file, or one of another size than it says.
    """
    (version, number, lines, values), size = read_header(path, _HEADER, MAGIC, f"python -m data_prep {kind}")
    if (version, number) != (VERSION, KINDS[kind]):
        raise InputError(
            f"{path}: version {version} and kind {number}, expected {VERSION} and {KINDS[kind]} ({kind})"
        )
    expected = _HEADER.size + _VALUE.itemsize * values + _padding(values) + _OFFSET.itemsize * (lines + 1)
    if size != expected:
        raise InputError(f"{path}: {size} bytes, expected {expected}: not whole; parse the text again")
    return lines, values
