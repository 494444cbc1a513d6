"""COMET scores of an earlier scoring, which hold as long as the texts are the same."""

import math
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.measurements import read_rows
from command_line.outputs import checksum
from command_line.records import field
from eval.result_files import read_result
from eval.scoring.test_sets import DirectionFiles

CHECKSUMS = ("sha256", "source_sha256", "reference_sha256")  # of a direction, in the order of its files


@dataclass(frozen=True)
class KeptComet:
    """The COMET scores of an earlier scoring.

    Attributes:
        model: what gave the scores.
        details: what is known of it, see `Comet`.
        means: direction -> score.
        lines: direction -> statistics per line (lines x 2); of another scoring's there are none.
    """

    model: str
    details: dict
    means: dict[str, float]
    lines: dict[str, np.ndarray]

    @property
    def identity(self) -> str | dict:
        """As that of `Comet`."""
        if self.details["checkpoint"] is None:
            return self.model
        return {"model": self.model, "sha256": self.details["sha256"]}


def kept_comet(scores: Path, statistics: Path, files: list[DirectionFiles]) -> KeptComet | None:
    """The COMET scores in `scores.json`, if there are any and they are of these very texts; says on standard
    error that others are given up.
    """
    try:
        record = read_result(scores)
        model = field(record, "scoring.comet_model", str, scores)
        rows = read_rows(scores.with_suffix(".csv"), record["rows_sha256"])
    except InputError:  # not scored yet, or without COMET
        return None
    entries = record["directions"]
    means, lengths = (
        {row["direction"]: row["value"] for row in rows if row["measure"] == name}
        for name in ("comet", "lines")
    )
    for file in files:
        entry = entries.get(file.direction, {})
        if [entry.get(name) for name in CHECKSUMS] != [checksum(text) for text in file.paths]:
            print(
                f"{scores}: its COMET scores are of other texts and go; --comet-model makes new ones",
                file=sys.stderr,
            )
            return None
    return KeptComet(model, record["scoring"]["comet"], means, _lines(statistics, lengths, means))


def _lines(statistics: Path, lengths: dict[str, float], means: dict[str, float]) -> dict[str, np.ndarray]:
    """Of the directions whose mean they have: a scoring by another model that was killed before it came to
    its scores.json has left lines of its own.
    """
    try:
        with np.load(statistics) as stored:
            lines = {name: stored[f"comet/{name}"] for name in means if f"comet/{name}" in stored}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return {}
    return {
        name: rows
        for name, rows in lines.items()
        if rows.shape == (lengths[name], 2) and math.isclose(rows[:, 0].mean(), means[name])
    }
