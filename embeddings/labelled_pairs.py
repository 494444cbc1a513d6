"""Pairs of sentences with labels, in the layouts in which corpora of inference are given.

- `.jsonl`: an object per line with sentence1, sentence2 and gold_label, perhaps language (SNLI, MultiNLI,
  XNLI);
- `.tsv` (or `.txt`) whose first line names the columns: those of AllNLI (split, dataset, filename, sentence1,
  sentence2, label), of which the training part is read; of XNLI and MultiNLI (language, gold_label, sentence1
  and sentence2 among others); of XNLI's translated training sets (premise, hypo, label); of PAWS-X (id,
  sentence1, sentence2, label);
- `.tsv` without names: sentence, sentence, label (XTREME).

A file may hold several languages; of one without a column of them, all lines are of the language asked for.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from command_line.errors import InputError, at
from command_line.lines import read_lines, uncompressed_name
from command_line.records import check, parse_json

ENTAILMENT, NEUTRAL, CONTRADICTION, NONE = "entailment", "neutral", "contradiction", "-"
LABELS = (ENTAILMENT, NEUTRAL, CONTRADICTION, NONE)  # of inference; the last where annotators did not agree
OTHER_NAMES = {"contradictory": CONTRADICTION}  # of labels, in XNLI's translated training sets
LAYOUTS = (  # the columns of the sentences and of the label
    ("sentence1", "sentence2", "gold_label"),
    ("sentence1", "sentence2", "label"),
    ("premise", "hypo", "label"),
)
LANGUAGE = "language"  # column of whose language a line is
SPLIT, TRAINING_PART = "split", "train"  # of AllNLI
ENDINGS = ("jsonl", "tsv", "txt")


class LineOfNli(TypedDict):
    sentence1: str
    sentence2: str
    gold_label: str
    language: NotRequired[str | None]


@dataclass(frozen=True)
class LabelledPair:
    """Two sentences and the label of their relation, with runs of white space as one space."""

    first: str
    second: str
    label: str
    line: int


def read_labelled_pairs(path: Path, language: str | None = None) -> Iterator[LabelledPair]:
    """The pairs of a file, those without an agreed label, `NONE`, too.

    Args:
        language: of the pairs that are wanted, where the file has several; None for all.

    Raises:
        InputError: the file is in none of the layouts.
    """
    ending = uncompressed_name(path).rpartition(".")[2]
    if ending not in ENDINGS:
        raise InputError(
            f"{path}: expected .jsonl (SNLI, MultiNLI) or .tsv (AllNLI, XNLI), perhaps with .gz or .xz"
        )
    rows = _json_lines(path) if ending == "jsonl" else _table(path)
    for line, first, second, label, of in rows:
        if language is None or of in (None, language):
            texts = (" ".join(text.split()) for text in (first, second))
            label = sys.intern(OTHER_NAMES.get(label, label))  # one string for millions of pairs
            yield LabelledPair(*texts, label, line)


def _json_lines(path: Path) -> Iterator[tuple[int, str, str, str, str | None]]:
    for number, line in enumerate(read_lines(path), start=1):
        record = parse_json(line.encode(), path, number)
        check(record, LineOfNli, at(path, number))
        yield number, record["sentence1"], record["sentence2"], record["gold_label"], record.get(LANGUAGE)


def _table(path: Path) -> Iterator[tuple[int, str, str, str, str | None]]:
    columns: Sequence[str] | None = None
    wanted: Sequence[int] = (0, 1, 2)
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if number == 1:
            columns = fields if (layout := _layout_of(fields)) else None
            if layout:
                wanted = [fields.index(name) for name in layout]
                continue
        if len(fields) != len(columns or wanted):
            expected = f"the columns {', '.join(columns)}" if columns else "sentence, sentence, label"
            raise InputError(f"{at(path, number)}: found {line!r:.60}, expected {expected}")
        named = dict(zip(columns or (), fields, strict=False))
        if named.get(SPLIT, TRAINING_PART) == TRAINING_PART:
            yield number, *(fields[place] for place in wanted), named.get(LANGUAGE)


def _layout_of(fields: Sequence[str]) -> tuple[str, ...] | None:
    """The columns that a first line names; None if it names none."""
    return next((layout for layout in LAYOUTS if set(layout) <= set(fields)), None)


def check_label(label: str, labels: Sequence[str], path: Path, line: int) -> None:
    """Refuse a label that is not among those of the data.

    Raises:
        InputError: it is not; names file and line.
    """
    if label not in labels:
        raise InputError(f"{at(path, line)}: label {label!r:.40}, expected one of {', '.join(labels)}")
