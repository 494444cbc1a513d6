"""Aligned words of a bitext as subword spans: `DATA/SPLIT.A-B.ALIGNER.alignment`, beside the sentences.

One file per split, pair (A before B in the alphabet) and aligner, or what `align --name` calls it where one
aligner stores several. It is a `ragged_array` whose rows are aligned pairs: start and end in A, start and end
in B.

Spans are half-open, in subwords, and count neither language tags nor `</s>`. The aligned pairs of a sentence
pair ascend by (start_a, end_a, start_b, end_b), none twice.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from command_line.errors import InputError, at
from data_prep.formats.ragged_array import LARGEST, Kind, RaggedArray, RaggedWriter

SUFFIX = ".alignment"
KIND = Kind(b"WORDALGN", columns=4, command="python -m data_prep align")
_NAME = re.compile(rf"[^.]+\.[^.]+-[^.]+\.(?P<aligner>.+){re.escape(SUFFIX)}")
_LINES_AT_ONCE = 1 << 18


def alignment_path(data, split: str, pair: tuple[str, str], aligner: str) -> Path:
    """The file of a pair of language codes, which come in alphabetical order."""
    if len(pair) != 2 or tuple(sorted(pair)) != tuple(pair):
        raise ValueError(f"{pair}: expected two language codes in alphabetical order")
    return Path(data) / f"{split}.{pair[0]}-{pair[1]}.{aligner}{SUFFIX}"


def is_alignment_file(path: Path, aligner: str | None = None) -> bool:
    """Whether a file is named as alignments are, by this aligner or any."""
    own = _aligner(path)
    return own is not None and aligner in (None, own)


def _aligner(path: Path) -> str | None:
    """None of other names: of files of others, and of hidden ones, which a killed command has left."""
    match = _NAME.fullmatch(path.name)
    return match["aligner"] if match else None


def aligners(data) -> list[str]:
    """Whose alignments a binarized folder holds, sorted."""
    return sorted({name for path in Path(data).glob(f"*{SUFFIX}") if (name := _aligner(path))})


def alignment_files(data, split: str, aligner: str) -> list[Path]:
    """The files of a split of a binarized folder, sorted."""
    return sorted(path for path in Path(data).glob(f"{split}.*{SUFFIX}") if is_alignment_file(path, aligner))


def choose_aligner(data, wanted: str | None, option: str, preferred: str | None = None) -> str:
    """Whose alignments of a binarized folder are read.

    Args:
        wanted: the user's choice; without one, `preferred` if it is there, or the only one that is.
        option: with which the user chooses.
    """
    names = aligners(data)
    if not names:
        raise InputError(f"{data}: no word alignments; `python -m data_prep align` writes them")
    wanted = wanted or (preferred if preferred in names else None)
    if wanted is None and len(names) > 1:
        raise InputError(f"{data}: alignments by {', '.join(names)}; choose with {option}")
    if wanted is not None and wanted not in names:
        raise InputError(
            f"{option} {wanted}: {data} has alignments by {', '.join(names)}; `python -m data_prep align`"
            " writes others"
        )
    return wanted or names[0]


class AlignedSpansWriter(RaggedWriter):
    """Writes the file line by line; it appears under its name when the `with` block has ended well."""

    def __init__(self, data, split: str, pair: tuple[str, str], aligner: str):
        super().__init__(alignment_path(data, split, pair, aligner), KIND)

    def append(self, spans: Iterable[Iterable[int]]) -> None:
        """Add the aligned pairs (start_a, end_a, start_b, end_b) of the next line, in any order.

        Raises:
            InputError: a span is empty, or ends beyond 65,535; names file and line.
        """
        rows = sorted({tuple(map(int, row)) for row in spans})
        for row in rows:
            start_a, end_a, start_b, end_b = row
            if not (0 <= start_a < end_a <= LARGEST and 0 <= start_b < end_b <= LARGEST):
                raise InputError(
                    f"{at(self.path, self.lines + 1)}: found the spans {row}, "
                    f"expected 0 <= start < end <= {LARGEST}"
                )
        super().append(rows)


class AlignedSpans(RaggedArray):
    """The aligned pairs of every line of a bitext, memory-mapped.

    `len()` is the number of lines; `[i]` is the `n x 4` int64 array (start_a, end_a, start_b, end_b) of line
    `i`, counted from 0; negative indices count from the end.
    """

    def __init__(self, path):
        super().__init__(path, KIND)

    @classmethod
    def open(cls, data, split: str, pair: tuple[str, str], aligner: str) -> "AlignedSpans":
        """The alignments of a split and pair (codes in alphabetical order) of a binarized folder."""
        return cls(alignment_path(data, split, pair, aligner))

    def __reduce__(self):  # a worker process maps the file anew instead of receiving its content
        return type(self), (self.path,)

    @property
    def total(self) -> int:
        """Aligned pairs of all lines together."""
        return len(self.all_rows)

    def __getitem__(self, line: int) -> np.ndarray:
        return self.rows_of(line)

    def check(self, lengths_a, lengths_b) -> None:
        """Compare with the sentences.

        Args:
            lengths_a, lengths_b: subwords of every sentence of both sides, without tags and `</s>`.

        Raises:
            InputError: another number of lines; a span that is empty or ends behind its sentence; aligned
                pairs that do not ascend. Names the file and the first such line.
        """
        lengths = [np.asarray(sizes, dtype=np.int64) for sizes in (lengths_a, lengths_b)]
        for sizes in lengths:
            self.check_count(len(sizes))
        for first in range(0, len(self), _LINES_AT_ONCE):
            last = min(first + _LINES_AT_ONCE, len(self))
            self._check_lines(first, [sizes[first:last] for sizes in lengths])

    def _check_lines(self, first: int, lengths: list[np.ndarray]) -> None:
        offsets = self.offsets[first : first + len(lengths[0]) + 1].astype(np.int64)
        counts = np.diff(offsets)
        if (counts < 0).any() or offsets[-1] > self.total:
            line = first + int(np.argmax(counts < 0)) + 1
            raise InputError(f"{at(self.path, line)}: damaged; {self.remedy}")
        spans = self.all_rows[offsets[0] : offsets[-1]].astype(np.int64)
        owner = np.repeat(np.arange(len(counts)), counts)
        for side, sizes in enumerate(lengths):
            start, end = spans[:, 2 * side], spans[:, 2 * side + 1]
            wrong = (start >= end) | (end > sizes[owner])
            if wrong.any():
                row = int(np.argmax(wrong))
                raise InputError(
                    f"{at(self.path, first + owner[row] + 1)}: found the span {start[row]}:{end[row]} on "
                    f"side {'AB'[side]} in a sentence of {sizes[owner[row]]} subwords, "
                    "expected 0 <= start < end <= length; align again"
                )
        one_line = owner[1:] == owner[:-1]
        unordered = one_line & ~_ascending(spans)
        if unordered.any():
            row = int(np.argmax(unordered))
            raise InputError(
                f"{at(self.path, first + owner[row] + 1)}: found {tuple(spans[row + 1].tolist())} after "
                f"{tuple(spans[row].tolist())}, expected aligned pairs in ascending order; align again"
            )


def _ascending(rows: np.ndarray) -> np.ndarray:
    """Whether every row (of positions below 2**16) is lexicographically above the one before."""
    keys = rows[:, 0].astype(np.uint64)
    for column in range(1, KIND.columns):
        keys = (keys << np.uint64(16)) | rows[:, column].astype(np.uint64)
    return keys[1:] > keys[:-1]
