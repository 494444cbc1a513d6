"""The view of systems by what a column of the rows holds: layers, languages, tasks, …"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from eval.measurements import Measurements
from eval.reporting.exhibits import Table, cells, mean_cell, rows_behind, slug
from eval.reporting.layers import layers_in_order
from eval.systems import MeanStd


@dataclass(frozen=True)
class Mark:
    """A sign behind some numbers.

    Attributes:
        sign: "*", …
        measure: which is 1 or 0 in the same place; without one, no number is marked.
        where: "all": where it is 1 in all runs; "not all": where it is not.
        on: the only measure that is marked; all of them without one.
    """

    sign: str = ""
    measure: str = ""
    where: str = "all"
    on: str = ""


def table(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str | Mapping[str, str],
    caption: str,
    columns: str,
    digits: int = 1,
    scale: float = 1.0,
    average: bool = False,
    lines: Mapping[str, str] = {},
    above: Mapping[str, str] = {},
    mark: Mapping[str, str] = {},
    folded: bool = False,
) -> list[Table]:
    """Systems by what a column of the rows holds: mean and deviation over seeds.

    Args:
        measure: one, or several, and what their lines are called; those in "%" are fractions.
        columns: column of the rows, whose values are the columns of the table, in their order.
        average: add a column of the mean over all columns.
        lines: columns of the rows, and their titles; all systems stand once for what these hold together.
        above: measures that all systems share, and what their lines above the systems are called.
        mark: the attributes of a `Mark`, if some numbers have one.
    """
    named = {measure: ""} if isinstance(measure, str) else measure
    scales = {each: 100 if "%" in title else scale for each, title in named.items()}
    marked = Mark(**mark)
    shown = [*named, *above, *filter(None, [marked.measure])]
    measured = measured.where(measure=shown)
    if not measured.systems:
        return []
    titles = _titles(measured, columns, marked.measure or next(iter(named)))
    by = [*lines, columns]
    means = {each: measured.means(each, by, scale=scales[each]) for each in named}
    averages = {each: measured.means(each, by[:-1], scale=scales[each]) for each in named}
    holds = {place: mean.mean == 1 for place, mean in measured.means(marked.measure, by).items()}

    def sign(each: str, place: tuple) -> str:
        is_marked = holds.get(place) == (marked.where == "all") and marked.on in ("", each)
        return marked.sign if is_marked else ""

    rows = [
        [
            *cells(title, ""),
            *(mean_cell(mean, digits) for mean in _shared(measured, each, columns, titles, scale)),
        ]
        for each, title in above.items()
    ]
    has_titles, rules, note = any(named.values()), {len(above)}, ""
    every_line = set(measured.rows[list(lines)].itertuples(index=False, name=None)) if lines else {()}
    for line, system in product(sorted(every_line), measured.systems):
        if system is measured.systems[0] or (has_titles and not lines):
            rules.add(len(rows))
        start = (system.name, *line)
        for each, title in named.items():
            places = [(*start, value) for value in titles]
            numbers = [mean_cell(means[each].get(place), digits, sign(each, place)) for place in places]
            if average:
                is_of_all = all(place in means[each] for place in places)
                note = note if is_of_all else " Avg. is empty where a number is missing."
                numbers.append(mean_cell(averages[each].get(start) if is_of_all else None, digits))
            names = [*line, system.name, len(system.runs), *filter(None, [title])]
            rows.append([*cells(*names), *numbers])
    text = f"{caption} on {dataset}; mean ± deviation over seeds.{note}"
    names = [*lines.values(), "System", "Seeds", *([""] if has_titles else [])]
    header = [cells(*names, *titles, *(["Avg."] if average else []))]
    data = rows_behind(measured, shown)
    return [Table(slug(name, dataset), text, header, rows, frozenset(rules - {0}), data, folded)]


def _shared(
    measured: Measurements, measure: str, column: str, values: list[str], scale: float
) -> list[MeanStd | None]:
    """For each value of a column, a number that is the same for all systems that have it."""
    numbers: dict[str, MeanStd] = {}
    for (_, value), mean in measured.means(measure, (column,), scale=scale).items():
        numbers.setdefault(value, MeanStd(mean.mean, None))
    return [numbers.get(value) for value in values]


def _titles(measured: Measurements, column: str, measure: str) -> list[str]:
    """The values of a column: layers from the bottom up; numbers by their size, before names."""

    def place(title: str) -> tuple:
        return (0, int(title), "") if title.isdecimal() else (1, 0, title)

    if column == "layer":
        return layers_in_order(measured, measure)
    return sorted(measured.values(column), key=place)
