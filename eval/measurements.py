"""Queries of rows: the numbers of several result files in one table, and their means over runs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from command_line.errors import InputError, at
from command_line.measurements import (
    COLUMNS,
    NAMES,
    REQUIRED,
    WHOLE,
    Measured,
    check_written,
    read_columns,
)
from eval.results.measures import groups_of
from eval.results.result_set import ResultSet
from eval.results.systems import MEASURED_ALIKE, MeanStd, Run, System, by_dataset, group_runs

ONE_SYSTEM = "runs of one name must differ in their seed only"
ALLOWED = "give them other --dataset names, or show them together all the same by --allow-unlike"


@dataclass(frozen=True)
class Measurements:
    """What was measured of some systems.

    Attributes:
        systems: whose runs say how they were measured; the order of tables.
        rows: of these runs. Columns: `COLUMNS` of `command_line.measurements`, an empty text for a missing
            name; `run` numbers the runs of all systems together.
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
        firsts: dict[
            tuple[str, ...], tuple[Run, dict]
        ] = {}  # dataset, or dataset and system -> its first run
        for run in (run for system in systems for run in system.runs):
            path = run.path.with_suffix(".csv")
            if path not in files:
                files[path] = table_of(path, run.rows_sha256)
            tables.append(_rows_of(files[path], run, len(tables)))
            directions = directions_of(tables[-1])
            check_directions(
                *firsts.setdefault((run.dataset, run.name), (run, directions)), run, directions, ONE_SYSTEM
            )
            if not allow_unlike:
                first, expected = firsts.setdefault((run.dataset,), (run, directions))
                check_directions(first, expected, run, directions, ALLOWED)
                _check_ways(first, run)
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
            scale: of the numbers.

        Returns:
            (system, values of `by`) -> mean and deviation. A key is missing where a run of the system lacks
            it.
        """
        runs = {system.name: len(system.runs) for system in self.systems}
        rows = self.rows[self.rows.measure == measure]
        if not repeats:
            rows = rows.assign(repeat=rows["repeat"].where(rows.system.map(runs) == 1))
        key = ["system", *by]
        each = rows.groupby([*key, "run", "repeat"], dropna=False, sort=False).value.mean().mul(scale)
        of_keys = each.reset_index().groupby(key, dropna=False, sort=False)
        found = of_keys.agg(mean=("value", "mean"), std=("value", "std"), runs=("run", "nunique"))
        return {
            tuple(place): MeanStd(mean, None if math.isnan(std) else std)
            for *place, mean, std, measured in found.reset_index().itertuples(index=False, name=None)
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
        measured = set(rows.system)
        return Measurements([system for system in self.systems if system.name in measured], rows)

    def of_system(self, system: System, measure: str) -> pd.DataFrame:
        """The rows of one measure of one system."""
        return self.rows[(self.rows.system == system.name) & (self.rows.measure == measure)]

    def have_same_layers(self, measure: str, first: System, other: System) -> bool:
        """Whether a measure was taken in the same layers of the same directions of two systems."""
        places = [
            set(self.of_system(system, measure)[["kind", "direction", "layer"]].itertuples(index=False))
            for system in (first, other)
        ]
        return places[0] == places[1]


def table_of(path: Path, sha256: str) -> pd.DataFrame:
    """The rows of a file, whose checksum is known.

    Raises:
        InputError: as `read_columns`; a number stands in it twice.
    """
    rows = _quickly_read(path, sha256)
    if rows is None:
        rows = as_table(read_columns(path, sha256))  # says which line is damaged
    keys = [name for name in COLUMNS if name != "value"]
    twice = rows[rows.duplicated(keys)]
    if len(twice):
        named = {name: value for name, value in twice.iloc[0][keys].items() if value == value and value != ""}
        raise InputError(
            f"{at(path, twice.index[0] + 2)}: stands in an earlier line, too: "
            + ", ".join(f"{name} {value}" for name, value in named.items())
        )
    return rows


def _quickly_read(path: Path, sha256: str) -> pd.DataFrame | None:
    """The rows of a file by pandas, which takes a tenth of the time; None if anything is not as it must be.

    Raises:
        InputError: the file is missing, or another one.
    """
    check_written(path, sha256)
    types = dict.fromkeys(NAMES, str) | dict.fromkeys((*WHOLE, "value"), float)
    try:
        missing = {name: [""] for name in WHOLE}
        rows = pd.read_csv(
            path, dtype=types, keep_default_na=False, na_values=missing, float_precision="round_trip"
        )
    except ValueError:  # also pandas' errors of CSV and of encoding
        return None
    is_table = set(REQUIRED) <= set(rows) <= set(COLUMNS) and isinstance(rows.index, pd.RangeIndex)
    if not is_table or not np.isfinite(rows.value).all():
        return None
    whole = [name for name in WHOLE if name in rows and rows[name].notna().all()]
    names_of_all = (rows[name] != "" for name in REQUIRED if name in NAMES)
    if "run" not in whole or not all(of_all.all() for of_all in names_of_all):
        return None
    if any((rows[name] % 1 > 0).any() for name in WHOLE if name in rows):
        return None
    return as_table(rows.astype(dict.fromkeys(whole, int)))


def as_table(rows: list[dict] | dict[str, list] | pd.DataFrame) -> pd.DataFrame:
    """Rows as the numbers of `Measurements`."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).fillna(dict.fromkeys(NAMES, ""))


def in_groups(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of scores, each once for every average over directions that it belongs to: that is its `part`.
    A mean over the rows of one is unweighted, and over those directions that have the measure.
    """
    rows = rows[rows.part == ""]
    places = rows[["direction", "kind"]].drop_duplicates().itertuples(index=False, name=None)
    groups = {place: groups_of(*place) for place in places}
    of_rows = [groups[place] for place in zip(rows.direction, rows.kind, strict=True)]
    return rows.assign(part=of_rows).explode("part", ignore_index=True)


def rows_of(run: Run) -> pd.DataFrame:
    """The rows of one run; reads its file.

    Raises:
        InputError: as `table_of`.
    """
    return _rows_of(table_of(run.path.with_suffix(".csv"), run.rows_sha256), run, 0)


def _rows_of(table: pd.DataFrame, run: Run, number: int) -> pd.DataFrame:
    """The rows of one run, under the name that the report gives its system."""
    rows = table[table.run == run.number]
    return rows.assign(run=number, dataset=run.dataset, system=run.name, seed=run.seed)


def directions_of(rows: pd.DataFrame) -> dict[str, float | str]:
    """Every direction of a run, and its number of lines where they were counted."""
    lines = rows[rows.measure == "lines"].set_index("direction").value
    return {f"lines of {name}": lines.get(name, "some") for name in rows.direction.unique() if name}


def check_directions(
    first: Run, expected: Mapping[str, float | str], run: Run, found: Mapping[str, float | str], remedy: str
) -> None:
    """Two runs are of the same lines of the same directions. What was translated through a pivot may lack
    directions: those from the pivot and into it.

    Raises:
        InputError: they are not; names both files.
    """
    names = {**expected, **found}
    if first.record.get("pivot") or run.record.get("pivot"):
        names = expected.keys() & found.keys()
    _check_equal(first, expected, run, found, names, remedy)


def _check_ways(first: Run, run: Run) -> None:
    """Two runs on one dataset were measured in the same way, as far as both say it."""
    expected, found = _ways(first), _ways(run)
    _check_equal(first, expected, run, found, sorted(expected.keys() & found.keys()), ALLOWED)


def _check_equal(
    first: Run, expected: Mapping, run: Run, found: Mapping, names: Iterable[str], remedy: str
) -> None:
    for name in names:
        here, there = (side.get(name, "none") for side in (found, expected))
        if here != there:
            raise InputError(
                f"{run.path}: {name}: {here} ({run.name!r}), but {there} in {first.path} ({first.name!r});"
                f" {remedy}"
            )


def _ways(run: Run) -> dict:
    """How a run was measured, as far as it says so, each thing by itself."""
    ways = {}
    for name in MEASURED_ALIKE:
        value = run.record.get(name)
        entries = value.items() if isinstance(value, dict) else [(None, value)]
        ways |= {
            name if key is None else f"{name} of {key}": entry for key, entry in entries if entry is not None
        }
    return ways


@lru_cache(maxsize=16)
def measured_by(results: ResultSet, kind: str, allow_unlike: bool) -> Measurements:
    """What the files of a kind hold; several sections of a report ask the same.

    Raises:
        InputError: as `Measurements.of`.
    """
    return Measurements.of(results.systems_of(kind), allow_unlike or results.allow_unlike)
