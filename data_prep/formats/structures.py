"""Bunsetsu or phrases, and the reordering, of every line of a text: `NAME.bunsetsu`, `NAME.phrases`.

`NAME` is the file of text (`train.en-ja.ja`). Beside tokenized text the units of a line are its words; beside
binarized text they are runs of subwords, each a word (or several that a subword joins). The file is a
`ragged_array` whose rows are single values.

The values of a line with `u` units:

    1                 u
    1                 p, number of boundaries: bunsetsu - 1, or phrases = u - 1
    p                 the boundaries: first unit of every bunsetsu but the first (ascending), or the split of
                      every phrase in preorder (`trees.Tree`)
    u                 the reordering: which unit stands first, second, …
    u + 1, or 0       where every unit begins in subwords, and their number; absent beside tokenized text

A line without values was empty or could not be parsed; its tasks fall back to MASS.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from command_line.errors import InputError, at
from command_line.lines import uncompressed_name
from data_prep.formats.ragged_array import LARGEST, Kind, RaggedArray, RaggedWriter

BUNSETSU, PHRASES = "bunsetsu", "phrases"
KINDS = {
    name: Kind(magic, columns=1, command=f"python -m data_prep {name}")
    for name, magic in ((BUNSETSU, b"BUNSETSU"), (PHRASES, b"PHRASES_"))
}
MOST_UNITS = LARGEST


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
    """The files of structures of a folder, sorted; hidden ones are what a killed command has left."""
    paths = sorted(path for path in Path(folder).glob("[!.]*") if is_structure_file(path))
    if not paths:
        missing = "structures" if Path(folder).is_dir() else "such folder"
        raise InputError(f"{folder}: no {missing}, expected files that `bunsetsu` or `phrases` wrote")
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
    with RaggedWriter(path, KINDS[kind]) as writer:
        for line in lines:
            writer.append(line)


def join_structures(path, kind: str, parts: Sequence[Path]) -> None:
    """Write one file of several, in order; one of them is in memory at a time."""
    with RaggedWriter(path, KINDS[kind]) as writer:
        for part in parts:
            writer.extend(Structures(part, kind))


class Structures(RaggedArray):
    """The structures of all lines, memory-mapped.

    `len()` is the number of lines, `[i]` the `Structure` of line `i` (from 0) or None.

    Args:
        name: of its kind, `BUNSETSU` or `PHRASES`.

    Raises:
        InputError: the file is missing, of another kind, or not whole; from `[i]`: line `i` is damaged.
    """

    def __init__(self, path, name: str):
        super().__init__(path, KINDS[name])
        self.name = name

    def __reduce__(self):  # a worker process maps the file anew instead of receiving its content
        return type(self), (self.path, self.name)

    def __getitem__(self, line: int) -> Structure | None:
        values = self.rows_of(line)[:, 0]
        if not len(values):
            return None
        units, boundaries = int(values[0]), int(values[1])
        middle = 2 + boundaries
        starts = values[middle + units :]
        structure = Structure(
            values[2:middle], values[middle : middle + units], starts if len(starts) else np.arange(units + 1)
        )
        if not _is_consistent(structure, self.name):
            raise InputError(f"{at(self.path, line + 1)}: damaged; {self.remedy}")
        return structure

    def known(self) -> np.ndarray:
        """Whether every line has a structure."""
        return self.counts() > 0

    def check(self, lengths) -> None:
        """Compare a file beside binarized text with the sentences.

        Args:
            lengths: subwords of every sentence, without tags and `</s>`.

        Raises:
            InputError: another number of lines; a line with another number of subwords, or damaged; names
                file and line.
        """
        lengths = np.asarray(lengths, dtype=np.int64)
        self.check_count(len(lengths))
        offsets = self.offsets.astype(np.int64)
        sizes = np.diff(offsets)
        there = np.flatnonzero(sizes != 0)
        wrong = sizes < 0
        if not wrong.any() and len(there):
            values, begins = self.all_rows[:, 0], offsets[there]
            short = sizes[there] < 4
            units, boundaries = (
                values[np.minimum(begins + place, len(values) - 1)].astype(np.int64) for place in (0, 1)
            )
            expected = 2 + boundaries + 2 * units + 1
            last = values[offsets[there + 1] - 1]
            wrong[there] = (
                short | (sizes[there] != expected) | (last != lengths[there]) | (boundaries >= units)
            )
        if wrong.any():
            line = int(np.argmax(wrong))
            raise InputError(
                f"{at(self.path, line + 1)}: does not describe a sentence of {lengths[line]} subwords; "
                f"it is damaged or of another text; {self.remedy}"
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
