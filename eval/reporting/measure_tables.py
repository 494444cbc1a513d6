"""Views of several measures beside each other: systems by measures, and effects with their intervals."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from command_line.measurements import high, low
from eval.measurements import Measurements
from eval.reporting.exhibits import Cell, Table, cell, cells, mean_cell, rows_behind, slug
from eval.reporting.plots import dots
from eval.systems import UNKNOWN, MeanStd, System


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        measure: whose numbers it has.
        title: its own.
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
    def names(self) -> list[str]:
        """The measures that it shows."""
        return [self.measure, low(self.measure), high(self.measure)] if self.interval else [self.measure]

    def titled(self, measured: Measurements) -> "list[tuple[Column, Measurements]]":
        """The columns of the table that this one makes, each with what was measured."""
        if not self.each:
            return [(self, measured)] if self.measure in set(measured.rows.measure) else []
        values = measured.values(self.each, self.measure)
        return [(replace(self, title=value), measured.where(**{self.each: value})) for value in values]

    def numbers(self, measured: Measurements, by: tuple[str, ...] = ()) -> dict[tuple, list[MeanStd]]:
        """System, and values of `by` -> the number, and both ends of its interval if it has one."""
        means, *ends = (measured.means(name, by, scale=self.scale) for name in self.names)
        return {
            place: [mean, *(end[place] for end in ends if all(place in each for each in ends))]
            for place, mean in means.items()
        }

    def cell(self, number: MeanStd | None = None, *ends: MeanStd) -> Cell:
        if number is None:
            return cell(UNKNOWN)
        if not (self.form or self.interval):
            return mean_cell(number, self.digits, self.unit)
        form = self.form or f"+.{self.digits}f"
        interval = " [" + ", ".join(f"{end.mean:{form}}" for end in ends) + "]" if ends else ""
        return cell(f"{number.mean:{form}}{self.unit}{interval}", value=number.mean)


def measures(
    measured: Measurements,
    dataset: str,
    name: str,
    columns: list[dict],
    caption: str,
    lines: Mapping[str, str] = {},
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
    given = [Column(**column) for column in columns]
    names = [measure for column in given for measure in column.names]
    measured = measured.where(measure=names)
    if not measured.systems:
        return []
    shown = [
        (column, column.numbers(part, tuple(lines)))
        for each in given
        for column, part in each.titled(measured)
    ]
    titles = [*system_titles(derived, systems), *lines.values(), *(column.title for column, _ in shown)]
    rows, rules = [], set()
    for system in measured.systems:
        rules.add(len(rows))
        for line in _lines(measured, system, list(lines)):
            numbers = [column.cell(*of_column.get((system.name, *line), ())) for column, of_column in shown]
            rows.append([*cells(*system_cells(system, derived), *line), *numbers])
    shown_rules = frozenset(rules - {0}) if lines else frozenset()
    data = rows_behind(measured, names)
    return [Table(slug(name, dataset), f"{caption} on {dataset}.", [cells(*titles)], rows, shown_rules, data)]


def system_titles(derived: bool, title: str = "System") -> list[str]:
    """The titles of the columns that `system_cells` fills."""
    return [title] if derived else [title, "Seeds"]


def system_cells(system: System, derived: bool) -> list:
    """A system's name and the number of its runs; of repetitions the name alone."""
    return [system.name] if derived else [system.name, len(system.runs)]


def _lines(measured: Measurements, system: System, columns: list[str]) -> list[tuple[str, ...]]:
    """What the columns hold together in the rows of a system; one line of nothing without columns."""
    rows = measured.where(system=system.name).rows
    return list(dict.fromkeys(rows[columns].itertuples(index=False, name=None))) or [()]


def effects(
    measured: Measurements, dataset: str, name: str, columns: list[dict], caption: str, title: str
) -> list[Table]:
    """Differences with their intervals: a line per system, a colour per measure, and the table behind.

    Args:
        columns: as those of `measures`; those with an interval are drawn.
    """
    (table,) = measures(measured, dataset, name, columns, caption, derived=True)
    systems = [system.name for system in measured.systems]
    series = {}
    for column in (Column(**column) for column in columns):
        if column.interval:
            numbers = column.numbers(measured)
            series[column.title] = [_bar(*numbers.get((system,), ())) for system in systems]
    return [replace(table, images=dots(systems, series, title, []))]


def _bar(number: MeanStd | None = None, *ends: MeanStd) -> MeanStd | None:
    """The number, with half of its interval in place of the deviation."""
    return number and MeanStd(number.mean, (ends[1].mean - ends[0].mean) / 2 if ends else None)
