"""The views of several measures in many places: systems and measures by layers, languages or pairs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from eval.measurements import Measurements
from eval.reporting.exhibits import Figure, Table, cell, cells, mean_cell, number_cell, rows_behind, slug
from eval.reporting.layers import layers_in_order
from eval.reporting.plots import heatmap, heatmaps


@dataclass(frozen=True)
class Mark:
    """A sign behind some numbers.

    Attributes:
        sign: "*", …
        measure: which is 1 or 0 in the same place.
        where: "all": where it is 1 in all runs; "not all": where it is not.
        on: the only measure that is marked; all of them without one.
    """

    sign: str
    measure: str
    where: str
    on: str = ""


def grid(
    measured: Measurements,
    dataset: str,
    name: str,
    measures: Mapping[str, str],
    columns: str,
    caption: str,
    mark: dict | None = None,
    lines: Mapping[str, str] = {},
    average: bool = False,
    digits: int = 1,
    folded: bool = False,
) -> list[Table]:
    """Systems by measures, and by what a column of the rows holds: mean and deviation over seeds.

    Args:
        measures: and what their lines are called; those in "%" are fractions.
        columns: column of the rows, whose values are the columns of the table.
        caption: without the dataset.
        mark: the attributes of a `Mark`, if some numbers have one.
        lines: columns of the rows, and their titles; all systems stand once for what these hold together.
        average: add a column of the mean over all columns.
        digits: behind the point.
        folded: shown after a click.
    """
    marked = Mark(**mark) if mark else None
    part = measured.where(measure=[*measures, *([marked.measure] if marked else [])])
    if not part.systems:
        return []
    titles = (
        layers_in_order(part, marked.measure if marked else next(iter(measures)))
        if columns == "layer"
        else sorted(part.values(columns))
    )
    by = [*lines, columns]
    scales = {measure: 100 if "%" in title else 1 for measure, title in measures.items()}
    means = {measure: part.means(measure, by, scale=scale) for measure, scale in scales.items()}
    averages = {measure: part.means(measure, by[:-1], scale=scale) for measure, scale in scales.items()}
    holds = part.means(marked.measure, by) if marked else {}

    def sign(measure: str, place: tuple) -> str:
        if marked is None:
            return ""
        is_marked = place in holds and (holds[place].mean == 1) == (marked.where == "all")
        return marked.sign if is_marked and marked.on in ("", measure) else ""

    rows, rules = [], set()
    every_line = [()]
    if lines:
        every_line = part.rows[list(lines)].drop_duplicates().itertuples(index=False, name=None)
    for line, system in product(sorted(every_line), part.systems):
        if not lines or system is part.systems[0]:
            rules.add(len(rows))
        start = (system.name, *line)
        for measure, title in measures.items():
            values = [
                mean_cell(means[measure].get((*start, one)), digits, sign(measure, (*start, one)))
                for one in titles
            ]
            if average:
                values.append(mean_cell(averages[measure].get(start), digits))
            rows.append([*cells(*line, system.name, len(system.runs), title), *values])
    text = f"{caption} on {dataset}; mean ± deviation over seeds."
    header = [cells(*lines.values(), "System", "Seeds", "", *titles, *(["Avg."] if average else []))]
    data = rows_behind(part, [*measures, *([marked.measure] if marked else [])])
    return [Table(slug(name, dataset), text, header, rows, frozenset(rules - {0}), data, folded)]


def heat_map(
    measured: Measurements,
    dataset: str,
    name: str,
    measures: Mapping[str, str],
    columns: str,
    title: str,
    caption: str,
) -> list[Figure]:
    """Numbers from 0 to 1 as colours: systems and measures by what a column of the rows holds.

    Args:
        measures: and what is written behind the name of the system.
        columns: column of the rows, whose values are the columns of the heat map.
        title: of the scale, which ends at 100.
        caption: without the dataset.
    """
    titles = sorted(measured.where(measure=list(measures)).values(columns))
    means = {measure: measured.means(measure, (columns,)) for measure in measures}
    values = {
        f"{system.name}{suffix}": [means[measure].get((system.name, one)) for one in titles]
        for system, (measure, suffix) in product(measured.systems, measures.items())
    }
    rows = [
        [cell(one), *(number_cell(value and value.mean, ".3f") for value in column)]
        for one, column in zip(titles, zip(*values.values(), strict=True), strict=True)
    ]
    percent = [
        [None if value is None else max(0.0, 100 * value.mean) for value in row] for row in values.values()
    ]
    text = f"{caption} on {dataset}, mean over seeds."
    data = rows_behind(measured, list(measures))
    header = [cells("Pair", *values)]
    table = Table(slug(name, dataset), text, header, rows, data=data, folded=True)
    png = heatmap(list(values), titles, percent, title, [], "pair", "system")
    return [Figure(table.name, text, png, table)]


def heat_maps(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    panels: str,
    rows: str,
    columns: str,
    titles: Mapping[str, str],
    title: str,
    caption: str,
    drawn: str = ".*",
) -> list[Figure]:
    """Shares as colours and numbers in percent: a figure per system, a panel per value of `panels`.

    Args:
        panels, rows, columns: columns of the rows.
        titles: of these columns, for axes and panels.
        title: of the scale of colours.
        caption: without the system and the dataset.
        drawn: a pattern of the layers that are drawn; the others are in the table.
    """
    measured = measured.where(measure=measure)
    figures = []
    for system in measured.systems:
        part = measured.where(system=system.name)
        means = part.means(measure, (panels, rows, columns), scale=100)
        places = {
            column: layers_in_order(part, measure) if column == "layer" else part.values(column)
            for column in (panels, rows, columns)
        }
        if columns != "layer":
            places[columns].sort()
        shown = dict(places)
        if "layer" in shown:
            layers = [layer for layer in shown["layer"] if re.fullmatch(drawn, layer)]
            shown["layer"] = layers or shown["layer"]
        text = f"{caption} of {system.name} on {dataset}; mean over seeds."
        table = Table(
            slug(name, dataset, system.name),
            text,
            [cells(titles[panels], titles[rows], *places[columns])],
            [
                [
                    *cells(*place),
                    *(mean_cell(means.get((system.name, *place, one)), 1) for one in places[columns]),
                ]
                for place in product(places[panels], places[rows])
            ],
            frozenset(range(0, len(places[panels]) * len(places[rows]), len(places[rows]))) - {0},
            rows_behind(part, [measure]),
        )
        grids = {
            panel: [
                [
                    (mean := means.get((system.name, panel, row, column))) and mean.mean
                    for column in shown[columns]
                ]
                for row in shown[rows]
            ]
            for panel in shown[panels]
        }
        images = heatmaps(grids, shown[rows], shown[columns], title, titles[columns], titles[rows])
        figures.append(Figure(table.name, text, images, table))
    return figures
