"""Views of several measures beside each other: systems by measures, and effects with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from command_line.measurements import high, low
from eval.measurements import Measurements
from eval.reporting.exhibits import Cell, Figure, Table, cell, cells, mean_cell, rows_behind, slug
from eval.reporting.plots import dots
from eval.systems import UNKNOWN, MeanStd, System


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
        each: a column of the rows, whose values become columns of the table and their titles.
    """

    measure: str
    title: str = ""
    digits: int = 1
    scale: float = 1.0
    unit: str = ""
    form: str = ""
    interval: bool = False
    each: str = ""

    @property
    def measures(self) -> list[str]:
        """All that the column shows."""
        return [self.measure, low(self.measure), high(self.measure)] if self.interval else [self.measure]

    def cell(self, value: MeanStd | None, ends: Sequence[MeanStd | None]) -> Cell:
        if value is None:
            return cell(UNKNOWN)
        if not (self.form or self.interval):
            return mean_cell(value, self.digits, self.unit)
        form = self.form or f"+.{self.digits}f"
        shown = f"{value.mean:{form}}{self.unit}"
        if ends and None not in ends:
            shown += " [" + ", ".join(f"{end.mean:{form}}" for end in ends) + "]"
        return cell(shown, value=value.mean)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column for every system, or for every line of every system."""

    measured: Measurements
    column: Column
    by: tuple[str, ...] = ()

    @cached_property
    def _means(self) -> list[Mapping[tuple, MeanStd]]:
        return [self.measured.means(name, self.by, scale=self.column.scale) for name in self.column.measures]

    def cell(self, *key: str) -> Cell:
        value, *ends = (means.get(key) for means in self._means)
        return self.column.cell(value, ends)

    def bar(self, *key: str) -> MeanStd | None:
        """The number, with half of its interval in place of the deviation."""
        value, *ends = (means.get(key) for means in self._means)
        if value is None:
            return None
        return MeanStd(value.mean, None if None in ends else (ends[1].mean - ends[0].mean) / 2)


def measures(
    measured: Measurements,
    dataset: str,
    name: str,
    columns: list[dict],
    caption: str,
    lines: Mapping[str, str] | None = None,
    derived: bool = False,
    systems: str = "System",
) -> list[Table]:
    """Systems by several measures: mean and deviation over seeds.

    Args:
        columns: of the table; the attributes of `Column`. Those that no system has are left out.
        lines: columns of the rows, and their titles; every system has a line for each of their values.
        derived: numbers are of several trainings already, whose number is not that of runs.
        systems: title of the first column.
    """
    shown = [Column(**column) for column in columns]
    names = [measure for column in shown for measure in column.measures]
    places = tuple(lines or ())
    measured = measured.where(measure=names)
    if not measured.systems:
        return []
    present = set(measured.rows.measure)
    numbers = [
        Numbers(part, replace(column, title=title), places)
        for column in shown
        if column.measure in present
        for title, part in _parts(measured, column).items()
    ]
    titles = [*system_titles(derived, systems), *(lines or {}).values()]
    titles += [of_column.column.title for of_column in numbers]
    rows, rules = [], set()
    for system in measured.systems:
        rules.add(len(rows))
        for line in _lines(measured, system, places):
            first = cells(*system_cells(system, derived), *line)
            rows.append([*first, *(of_column.cell(system.name, *line) for of_column in numbers)])
    shown_rules = frozenset(rules - {0}) if lines else frozenset()
    data = rows_behind(measured, names)
    return [Table(slug(name, dataset), f"{caption} on {dataset}.", [cells(*titles)], rows, shown_rules, data)]


def _parts(measured: Measurements, column: Column) -> dict[str, Measurements]:
    """Title -> what was measured, for every column of the table that a `Column` makes."""
    if not column.each:
        return {column.title: measured}
    values = measured.values(column.each, column.measure)
    return {value: measured.where(**{column.each: value}) for value in values}


def system_titles(derived: bool, title: str = "System") -> list[str]:
    """Of the columns that `system_cells` fills."""
    return [title] if derived else [title, "Seeds"]


def system_cells(system: System, derived: bool) -> list:
    """A system's name and the number of its runs; of repetitions the name alone."""
    return [system.name] if derived else [system.name, len(system.runs)]


def _lines(measured: Measurements, system: System, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What the columns hold together in the rows of a system; one line of nothing without columns."""
    rows = measured.where(system=system.name).rows
    return list(dict.fromkeys(rows[list(columns)].itertuples(index=False, name=None))) or [()]


def effects(
    measured: Measurements, dataset: str, name: str, columns: list[dict], caption: str, title: str
) -> list[Figure]:
    """Differences with their intervals: a line per system, a colour per measure, and the table behind.

    Args:
        columns: as those of `measures`; those with an interval are drawn.
    """
    (table,) = measures(measured, dataset, name, columns, caption, derived=True)
    shown = [given for given in (Column(**column) for column in columns) if given.interval]
    series = {
        column.title: [Numbers(measured, column).bar(system.name) for system in measured.systems]
        for column in shown
    }
    png = dots([system.name for system in measured.systems], series, title, [])
    return [Figure(table.name, table.caption, png, table)]
