"""Queries of rows: the numbers of several result files in one table, and their means over runs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from command_line.measurements import (
    COLUMNS,
    NAMES,
    REQUIRED,
    WHOLE,
    Measured,
    check_written,
    read_columns,
)
from eval.checks import ALLOWED, check_known, check_lines, group_runs, lines_of, only_seeds
from eval.labels import groups_of
from eval.result_set import ResultSet
from eval.systems import MEASURED_ALIKE, MeanStd, Run, System, by_dataset


@dataclass(frozen=True)
class Measurements:
    """What was measured of some systems.

    Attributes:
        systems: in the order of tables; their runs say how they were measured.
        rows: of these runs, with all `COLUMNS`, an empty text for a missing name; `run` numbers the runs of
            all systems together.
    """

    systems: list[System]
    rows: pd.DataFrame

    @classmethod
    def of(cls, systems: list[System], allow_unlike: bool = False) -> "Measurements":
        """Read the rows of the runs of systems.

        Args:
            allow_unlike: systems on one dataset may be of other sentences, or measured in other ways.

        Raises:
            InputError: a file is damaged, a number stands in it twice, or two runs on one dataset are not of
                the same directions and lines, or were measured in different ways; names the files.
        """
        files: dict[Path, pd.DataFrame] = {}
        tables: list[pd.DataFrame] = []
        # dataset, or dataset and system -> its first run
        firsts: dict[tuple[str, ...], tuple[Run, dict]] = {}
        for run in (run for system in systems for run in system.runs):
            path = run.path.with_suffix(".csv")
            if path not in files:
                files[path] = table_of(path, run.rows_sha256)
            tables.append(_rows_of(files[path], run, len(tables)))
            lines = lines_of(tables[-1])
            first, expected = firsts.setdefault((run.dataset, run.name), (run, lines))
            check_lines(first, run, expected, lines, only_seeds(run))
            if not allow_unlike:
                first, expected = firsts.setdefault((run.dataset,), (run, lines))
                check_lines(first, run, expected, lines, ALLOWED)
                check_known(first, run, _ways(first), _ways(run), ALLOWED)
        return cls(systems, pd.concat(tables, ignore_index=True) if tables else as_table([]))

    @classmethod
    def derived(cls, measured: Measured) -> "Measurements":
        """Rows that were computed from others, and are in no file."""
        runs = [Run(Path(), run, number=number) for number, run in enumerate(measured.runs)]
        return cls(group_runs(runs), as_table(measured.rows))

    def by_dataset(self) -> "dict[str, Measurements]":
        """Dataset -> what was measured on it, both in the order given."""
        return {
            dataset: Measurements(systems, self.rows[self.rows.dataset == dataset])
            for dataset, systems in by_dataset(self.systems).items()
        }

    def means(
        self, measure: str, by: Sequence[str] = (), repeats: bool = False, scale: float = 1.0
    ) -> dict[tuple, MeanStd]:
        """Mean and deviation over the runs of a system, each the mean over all that `by` does not
        name; where there is one run, the deviation is that of its repetitions.

        Args:
            by: columns, in the order of the keys behind the name of the system.
            repeats: the deviation is that of each repetition of each run.

        Returns:
            (system, values of `by`) -> mean and deviation; no key where a run of the system lacks it.
        """
        runs = {system.name: len(system.runs) for system in self.systems}
        rows = self.rows[self.rows.measure == measure]
        if not repeats:
            rows = rows.assign(repeat=rows["repeat"].where(rows.system.map(runs) == 1))
        key = ["system", *by]
        of_runs = rows.groupby([*key, "run", "repeat"], dropna=False, sort=False).value.mean().mul(scale)
        of_keys = of_runs.reset_index().groupby(key, dropna=False, sort=False)
        means = of_keys.agg(mean=("value", "mean"), std=("value", "std"), runs=("run", "nunique"))
        return {
            tuple(place): MeanStd(mean, None if math.isnan(std) else std)
            for *place, mean, std, measured in means.reset_index().itertuples(index=False, name=None)
            if measured == runs[place[0]]
        }

    def values(self, column: str, measure: str | None = None) -> list:
        """What a column of names holds, in the order of first appearance."""
        rows = self.rows if measure is None else self.rows[self.rows.measure == measure]
        return [name for name in rows[column].unique() if name]

    def of_runs(self, measure: str, **columns) -> dict[str, list[float]]:
        """System -> a number for each of its runs, in their order: the mean over its rows whose columns hold
        these values. Systems with a run without any are left out.
        """
        chosen = self.where(measure=measure, **columns)
        means = chosen.rows.groupby(["system", "run"]).value.mean()
        numbers = {system.name: list(means[system.name]) for system in chosen.systems}
        runs = {system.name: len(system.runs) for system in chosen.systems}
        return {name: values for name, values in numbers.items() if len(values) == runs[name]}

    def where(self, **columns) -> "Measurements":
        """The rows whose columns hold these values, or one of a list, and the systems that have such rows."""
        rows = self.rows
        for name, value in columns.items():
            rows = rows[rows[name].isin([value] if isinstance(value, str) else value)]
        measured = set(rows[["dataset", "system"]].drop_duplicates().itertuples(index=False, name=None))
        systems = [system for system in self.systems if (system.dataset, system.name) in measured]
        return Measurements(systems, rows)


Cells = list[tuple[System, dict[str, str]]]


def joined(parts: "Iterable[Measurements]") -> "Measurements":
    """What was measured on several datasets, or of several systems."""
    parts = list(parts)
    rows = pd.concat([part.rows for part in parts], ignore_index=True) if parts else as_table([])
    return Measurements([system for part in parts for system in part.systems], rows)


def as_cells(measured: "Measurements", cells: Cells) -> "Measurements":
    """Systems as the cells of a table.

    Args:
        measured: on one dataset.
        cells: systems, and what columns of their rows hold instead: "system" is the line of the cell. Cells
            of a line that have other numbers of seeds stand in lines of their own.
    """
    seeds: dict[str, set[int]] = {}
    for system, names in cells:
        seeds.setdefault(names["system"], set()).add(len(system.runs))
    lines, tables = {}, [measured.rows.head(0)]
    for system, names in cells:
        line, dataset = names["system"], names.get("dataset", system.dataset)
        if len(seeds[line]) > 1:
            line += f", {len(system.runs)} seeds"
        lines.setdefault(line, replace(system, name=line, dataset=dataset))
        tables.append(measured.rows[measured.rows.system == system.name].assign(**names | {"system": line}))
    return Measurements(list(lines.values()), pd.concat(tables))


def table_of(path: Path, sha256: str) -> pd.DataFrame:
    """The rows of a file, whose checksum is known."""
    rows = _quickly_read(path, sha256)
    if rows is None:
        rows = as_table(read_columns(path, sha256))  # says which line is damaged
    return rows


def _quickly_read(path: Path, sha256: str) -> pd.DataFrame | None:
    """The rows as pandas reads them, in a tenth of the time; None if anything is not as it must be."""
    check_written(path, sha256)
    types = dict.fromkeys(NAMES, str) | dict.fromkeys((*WHOLE, "value"), float)
    missing = {name: [""] for name in WHOLE}
    try:
        rows = pd.read_csv(
            path, dtype=types, keep_default_na=False, na_values=missing, float_precision="round_trip"
        )
    except ValueError:  # also pandas' errors of CSV and of encoding
        return None
    is_table = set(REQUIRED) <= set(rows) <= set(COLUMNS) and isinstance(rows.index, pd.RangeIndex)
    if not is_table or not np.isfinite(rows.value).all() or rows.run.isna().any():
        return None
    is_named = all((rows[name] != "").all() for name in REQUIRED if name in NAMES)
    is_whole = not any((rows[name] % 1 > 0).any() for name in WHOLE if name in rows)
    if not is_named or not is_whole or rows.duplicated([name for name in rows if name != "value"]).any():
        return None
    whole = [name for name in WHOLE if name in rows and rows[name].notna().all()]
    return as_table(rows.astype(dict.fromkeys(whole, int)))


def as_table(rows: list[dict] | dict[str, list] | pd.DataFrame) -> pd.DataFrame:
    """Rows as the numbers of `Measurements`."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).fillna(dict.fromkeys(NAMES, ""))


def in_groups(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of scores, each once for every average over directions that it belongs to: that is its `part`."""
    rows = rows[rows.part == ""]
    places = rows[["direction", "kind"]].drop_duplicates().itertuples(index=False, name=None)
    groups = {place: groups_of(*place) for place in places}
    of_rows = [groups[place] for place in zip(rows.direction, rows.kind, strict=True)]
    return rows.assign(part=of_rows).explode("part", ignore_index=True)


def rows_of(run: Run) -> pd.DataFrame:
    """The rows of one run; reads its file."""
    return _rows_of(table_of(run.path.with_suffix(".csv"), run.rows_sha256), run, 0)


def _rows_of(table: pd.DataFrame, run: Run, number: int) -> pd.DataFrame:
    """The rows of one run, under the name that the report gives its system."""
    rows = table[table.run == run.number]
    return rows.assign(run=number, dataset=run.dataset, system=run.name, seed=run.seed)


def _ways(run: Run) -> dict:
    """How a run was measured, as far as it says so, each thing by itself."""
    ways = {}
    for name in MEASURED_ALIKE:
        value = run.record.get(name)
        if isinstance(value, dict):
            ways |= {f"{name} of {key}": way for key, way in value.items()}
        else:
            ways[name] = value
    return ways


@lru_cache(maxsize=16)
def measured_by(results: ResultSet, kind: str, allow_unlike: bool) -> Measurements:
    """What the files of a kind hold; several sections of a report ask the same."""
    return Measurements.of(results.systems_of(kind), allow_unlike or results.allow_unlike)
