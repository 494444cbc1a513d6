"""Comparisons as `python -m eval compare` writes them, for tests to ask and to change."""

import json
from pathlib import Path

from command_line.measurements import read_rows, write_rows

PARTS = ("overall", "directions")
OPTIONAL = {"p_value_with_seeds", "adjusted_p_value_with_seeds", "agreement"}  # measures


def read_comparison(file: Path) -> dict:
    """The record; "comparisons" have the results of their tests, None where there is no number."""
    record = json.loads(file.read_text(encoding="utf-8"))
    rows = read_rows(file.with_suffix(".csv"), record["rows_sha256"])
    names = {row["measure"] for row in rows} | OPTIONAL
    comparisons = [run | {part: {} for part in PARTS} for run in record["runs"]]
    for row in rows:
        results = comparisons[row["run"]][row["part"]]
        results.setdefault(row["direction"], dict.fromkeys(names))[row["measure"]] = row["value"]
    return record | {"comparisons": comparisons}


def set_number(file: Path, value: float, **place) -> None:
    """Change the number of the rows of a comparison that are at a place."""
    record = json.loads(file.read_text(encoding="utf-8"))
    rows = read_rows(file.with_suffix(".csv"), record["rows_sha256"])
    for row in rows:
        if all(row[name] == wanted for name, wanted in place.items()):
            row["value"] = value
    record["rows_sha256"] = write_rows(file.with_suffix(".csv"), rows)
    file.write_text(json.dumps(record), encoding="utf-8")
