"""The rows that a command wrote, for tests to ask."""

from pathlib import Path

import pandas as pd

from command_line.outputs import checksum
from eval.measurements import table_of


def rows_of(file: Path, **wanted) -> pd.DataFrame:
    """The rows of `KIND.csv` whose columns hold what is wanted."""
    rows = table_of(file, checksum(file))
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
