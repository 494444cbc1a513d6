"""Views of several measures beside each other: systems by measures, and effects with their intervals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from eval.measurements import Measurements
from eval.reporting.exhibits import Cell, Figure, Table, cell, cells, mean_cell, rows_behind, slug
from eval.reporting.plots import dots
from eval.results.systems import UNKNOWN, MeanStd, System

SYSTEM_TITLES = ("System", "Seeds")
LINE_TITLES = {"direction": "Languages", "part": "Of", "kind": "Directions"}  # of columns of the rows


def low(measure: str) -> str:
    """The measure that is the lower end of the interval of another."""
    return f"{measure}_low"


def high(measure: str) -> str:
    return f"{measure}_high"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        measure: whose numbers it has.
        title: its own.
        digits: behind the point.
        scale: of the numbers.
        unit: behind each number.
        form: Python's format of the mean, which is then shown without deviation.
        interval: show the measure's interval, too.
    """

    measure: str
    title: str
    digits: int = 1
    scale: float = 1.0
    unit: str = ""
    form: str = ""
    interval: bool = False

    @property
    def measures(self) -> list[str]:
        """All that the column shows."""
        return [self.measure, low(self.measure), high(self.measure)] if self.interval else [self.measure]

    def cell(self, value: MeanStd | None, ends: tuple[MeanStd | None, MeanStd | None]) -> Cell:
        if value is None:
            return cell(UNKNOWN)
        if not (self.form or self.interval):
            return mean_cell(value, self.digits, self.unit)
        form = self.form or f"+.{self.digits}f"
        shown = f"{value.mean:{form}}{self.unit}"
        if None not in ends:
            shown += " [" + ", ".join(f"{end.mean:{form}}" for end in ends) + "]"
        return cell(shown, value=value.mean)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column for every system, or for every line of every system."""

    measured: Measurements
    column: Column
    by: tuple[str, ...] = ()
    over: tuple[str, ...] = ("run",)

    @cached_property
    def _means(self) -> list[Mapping[tuple, MeanStd]]:
        names = (self.column.measure, low(self.column.measure), high(self.column.measure))
        return [self.measured.means(name, self.by, self.over, self.column.scale) for name in names]

    def cell(self, *key: str) -> Cell:
        value, *ends = (means.get(key) for means in self._means)
        return self.column.cell(value, tuple(ends))

    def bar(self, *key: str) -> MeanStd | None:
        """The number, with half of its interval in place of the deviation."""
        value, *ends = (means.get(key) for means in self._means)
        if value is None:
            return None
        return MeanStd(value.mean, None if None in ends else (ends[1].mean - ends[0].mean) / 2)


def parts(measured: Measurements, dataset: str, each: str) -> Iterator[tuple[Measurements, list[str], str]]:
    """What was measured, for each value of a column of the rows, or all of it without one: with the names
    for files, and that for captions.
    """
    if not each:
        yield measured, [dataset], dataset
    for value in measured.values(each) if each else ():
        yield measured.where(**{each: value}), [dataset, value], f"{dataset}, {value}"


def measures(
    measured: Measurements,
    dataset: str,
    name: str,
    columns: list[dict],
    caption: str,
    lines: str = "",
    each: str = "",
    repeats: bool = False,
) -> list[Table]:
    """Systems by several measures: mean and deviation over seeds, or over the repetitions of single runs.

    Args:
        columns: of the table; the attributes of `Column`.
        caption: without the dataset.
        lines: column of the rows; every system has a line for each of its values.
        each: column of the rows; there is a table for each of its values.
        repeats: rows have several repetitions, which the deviation is of.
    """
    shown = [Column(**column) for column in columns]
    names = [measure for column in shown for measure in column.measures]
    tables = []
    for part, files, label in parts(measured.where(measure=names), dataset, each):
        numbers = [
            Numbers(part, one, (lines,) if lines else (), ("run", "repeat") if repeats else ("run",))
            for one in shown
        ]
        rows, rules = [], set()
        for system in part.systems:
            rules.add(len(rows))
            rows += [
                [
                    *cells(*system_cells(system, repeats), *line),
                    *(one.cell(system.name, *line) for one in numbers),
                ]
                for line in _lines(part, system, lines)
            ]
        titles = [*SYSTEM_TITLES[: 1 if repeats else 2], *([LINE_TITLES[lines]] if lines else [])]
        header = [cells(*titles, *(column.title for column in shown))]
        data = rows_behind(part, names)
        rules = frozenset(rules - {0}) if lines else frozenset()
        tables.append(Table(slug(name, *files), f"{caption} on {label}.", header, rows, rules, data))
    return tables


def system_cells(system: System, repeats: bool) -> list:
    """A system's name and the number of its runs; of repetitions the name alone."""
    return [system.name] if repeats else [system.name, len(system.runs)]


def _lines(measured: Measurements, system: System, column: str) -> list[tuple[str, ...]]:
    if not column:
        return [()]
    values = measured.where(system=system.name).values(column)
    return [(value,) for value in values]


def effects(
    measured: Measurements, dataset: str, name: str, columns: list[dict], caption: str, title: str
) -> list[Figure]:
    """Differences with their intervals: a line per system, a colour per measure, and the table behind.

    Args:
        columns: as those of `measures`.
        title: of the x axis.
    """
    (table,) = measures(measured, dataset, name, columns, caption)
    shown = [Column(**column) for column in columns]
    series = {
        column.title: [Numbers(measured, column).bar(system.name) for system in measured.systems]
        for column in shown
    }
    png = dots([system.name for system in measured.systems], series, title, [])
    return [Figure(table.name, table.caption, png, table)]
