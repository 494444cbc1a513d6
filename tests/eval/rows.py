"""The rows that a command wrote, for tests to ask."""

import json
from pathlib import Path

import pandas as pd

from command_line.measurements import EXAMPLES, Measured, write_arrays, write_examples, write_rows
from command_line.outputs import checksum
from command_line.result_file import FORMAT
from eval.measurements import table_of


def rows_of(file: Path, **wanted) -> pd.DataFrame:
    """The rows of `KIND.csv` whose columns hold what is wanted."""
    return chosen(table_of(file, checksum(file)), **wanted)


def chosen(rows: pd.DataFrame, **wanted) -> pd.DataFrame:
    """The rows whose columns hold what is wanted."""
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


def write_measured(folder: Path, kind: str, measured: Measured) -> Path:
    """`KIND.json`, `KIND.csv` and `KIND.npz` as a command writes them; returns the first."""
    folder.mkdir(parents=True, exist_ok=True)
    sums = {"rows_sha256": write_rows(folder / f"{kind}.csv", measured.rows)}
    if measured.arrays:
        sums["arrays_sha256"] = write_arrays(folder / f"{kind}.npz", measured.arrays)
    if measured.examples:
        write_examples(folder / f"{kind}{EXAMPLES}", measured.examples)
    record = {"format": FORMAT, "kind": kind, **measured.record, **sums}
    (folder / f"{kind}.json").write_text(json.dumps(record), encoding="utf-8")
    return folder / f"{kind}.json"


def changed(file: Path, old: str, new: str) -> None:
    """Replace a text in `KIND.json` and in `KIND.csv`, in one of which it is."""
    table = file.with_suffix(".csv")
    before = checksum(table)
    assert old in file.read_text(encoding="utf-8") + table.read_text(encoding="utf-8")
    for each in (table, file):
        each.write_text(each.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    file.write_text(file.read_text(encoding="utf-8").replace(before, checksum(table)), encoding="utf-8")
