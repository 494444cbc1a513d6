"""The rows that a command wrote, for tests to ask."""

import json
from pathlib import Path

import pandas as pd

from command_line.measurements import Measured, write_rows
from eval.measurements import table_of


def rows_of(file: Path, **wanted) -> pd.DataFrame:
    """The rows of `KIND.csv` whose columns hold what is wanted."""
    rows = table_of(file)
    for name, value in wanted.items():
        rows = rows[rows[name] == value]
    return rows


def by_name(file: Path, column: str, **wanted) -> dict[str, float]:
    """What the column of names holds -> the number of its row."""
    rows = rows_of(file, **wanted)
    assert rows[column].is_unique
    return dict(zip(rows[column], rows.value, strict=True))


def values_of(file: Path, **wanted) -> list[float]:
    """Their numbers, in the order of the file."""
    return list(rows_of(file, **wanted).value)


def write_result(folder: Path, kind: str, runs: list[tuple[dict, list[dict]]], **about) -> Path:
    """Write a result as commands do; returns the JSON file.

    Args:
        runs: the card and the rows of each.
        about: fields of the file.
    """
    measured = Measured(about=about)
    for run, rows in runs:
        measured.add(run, rows)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}.json"
    write_rows(path.with_suffix(".csv"), measured.rows)
    path.write_text(json.dumps({"format": 1, "kind": kind, **measured.record}), encoding="utf-8")
    return path
