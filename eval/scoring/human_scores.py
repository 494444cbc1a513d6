"""Scores of raters by system, and how far raters agree (thesis 4.5.3, Tables 4.8 and 4.9).

Reads the key of `human-sheet` and the CSV that each rater saved. Agreement is Krippendorff's alpha of ordinal
scores (Krippendorff 2004, 11.3). OUTPUT has human.md and human.csv.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from command_line import options
from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.option_classes import option, output_folder, positional
from command_line.outputs import write_text
from command_line.spreadsheets import csv_text
from eval.scoring.human_sheet import KEY, QUALITIES, SCALE


@dataclass(frozen=True, kw_only=True)
class HumanScores:
    """What raters said of what."""

    ratings: list[Path] = positional(
        "ratings.csv of every rater", nargs="+", type=options.path, metavar="CSV"
    )
    key: Path = option("key.csv of the sheet", required=True)
    output: Path = output_folder("human.md and human.csv")


def main(job: HumanScores) -> None:
    systems = [row["system"] for row in _rows(job.key, KEY).values()]
    ratings = [read_ratings(path, len(systems)) for path in job.ratings]
    means = pd.concat([pd.DataFrame(scores, index=systems) for scores in ratings]).groupby(level=0).mean()
    head = ("system", *QUALITIES)
    rows = [(name, *(f"{mean:.2f}" for mean in of_system)) for name, *of_system in means.itertuples()]
    scores = {quality: np.array([of_rater[quality] for of_rater in ratings]) for quality in QUALITIES}
    agreement = [f"Krippendorff's alpha of {quality}: {alpha(of)}" for quality, of in scores.items()]
    lines = [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]
    job.output.mkdir(parents=True, exist_ok=True)
    write_text(job.output / "human.csv", csv_text([head, *rows]))
    text = "\n".join([*lines, "", *agreement]) + "\n"
    write_text(job.output / "human.md", text)
    print(text, end="")


def read_ratings(path: Path, items: int) -> dict[str, list[float]]:
    """Quality -> the score of each item; NaN of an item without score.

    Raises:
        InputError: an item is missing or twice, or a score is none of the scale.
    """
    scores = {quality: [np.nan] * items for quality in QUALITIES}
    seen = set()
    for number, row in _rows(path, ("item", *QUALITIES)).items():
        item = int(row["item"]) if row["item"].isdecimal() else 0
        if not 1 <= item <= items or item in seen:
            raise InputError(f"{at(path, number)}: item {row['item']!r}; expected 1 to {items}, each once")
        seen.add(item)
        for quality in QUALITIES:
            if row[quality] and row[quality] not in map(str, SCALE):
                raise InputError(
                    f"{at(path, number)}: {quality} {row[quality]!r}; expected 1 to 5, or nothing"
                )
            scores[quality][item - 1] = float(row[quality] or "nan")
    if len(seen) < items:
        raise InputError(f"{path}: {len(seen)} items, expected all {items} of the sheet")
    return scores


def alpha(scores: np.ndarray) -> str:
    """Krippendorff's alpha of ordinal scores, raters x items; a dash if no item has scores of two raters."""
    import krippendorff

    pairable = scores[:, (~np.isnan(scores)).sum(axis=0) > 1]
    if pairable.size == 0 or len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        return "-"
    return f"{krippendorff.alpha(reliability_data=scores, level_of_measurement='ordinal'):.3f}"


def _rows(path: Path, columns: tuple[str, ...]) -> dict[int, dict[str, str]]:
    """Line -> the row of a CSV file with these columns. Empty lines are none."""
    rows = csv.reader(read_lines(path))
    if (head := tuple(next(rows, ()))) != columns:
        raise InputError(f"{at(path, 1)}: found {','.join(head)!r}, expected {','.join(columns)}")
    named = {}
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) != len(columns):
            raise InputError(f"{at(path, number)}: {len(row)} fields, expected {','.join(columns)}")
        named[number] = dict(zip(columns, row, strict=True))
    return named
