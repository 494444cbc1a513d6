"""The views of colours: systems and measures by pairs of languages, and panels of layers or languages."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from eval.measurements import Measurements
from eval.reporting.exhibits import Table, cell, cells, mean_cell, number_cell, rows_behind, slug
from eval.reporting.layers import layers_in_order
from eval.reporting.plots import heatmap, heatmaps


def heat_map(
    measured: Measurements,
    dataset: str,
    name: str,
    measures: Mapping[str, str],
    columns: str,
    title: str,
    caption: str,
) -> list[Table]:
    """Numbers from 0 to 1 as colours: systems and measures by what a column of the rows holds.

    Args:
        measures: and what is written behind the name of the system.
        columns: column of the rows, whose values are the columns of the heat map.
    """
    titles = sorted(measured.where(measure=list(measures)).values(columns))
    means = {measure: measured.means(measure, (columns,)) for measure in measures}
    values = {
        f"{system.name}{suffix}": [means[measure].get((system.name, place)) for place in titles]
        for system, (measure, suffix) in product(measured.systems, measures.items())
    }
    rows = [
        [cell(place), *(number_cell(value and value.mean, ".3f") for value in column)]
        for place, column in zip(titles, zip(*values.values(), strict=True), strict=True)
    ]
    percent = [
        [None if value is None else max(0.0, 100 * value.mean) for value in row] for row in values.values()
    ]
    text = f"{caption} on {dataset}, mean over seeds."
    data = rows_behind(measured, list(measures))
    header = [cells("Pair", *values)]
    images = heatmap(list(values), titles, percent, title, [], "pair", "system")
    return [Table(slug(name, dataset), text, header, rows, data=data, images=images)]


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
) -> list[Table]:
    """Shares as colours and numbers in percent: a figure per system, a panel per value of `panels`.

    Args:
        panels, rows, columns: columns of the rows.
        titles: of these columns, for axes and panels.
        drawn: a pattern of the layers that are drawn; the others are in the table.
    """
    measured = measured.where(measure=measure)
    figures = []
    for system in measured.systems:
        of_system = measured.where(system=system.name)
        places = {
            column: layers_in_order(of_system, measure) if column == "layer" else of_system.values(column)
            for column in (panels, rows, columns)
        }
        if columns != "layer":
            places[columns].sort()
        shown = dict(places)
        if "layer" in shown:
            layers = [layer for layer in shown["layer"] if re.fullmatch(drawn, layer)]
            shown["layer"] = layers or shown["layer"]
        of_places = of_system.means(measure, (panels, rows, columns), scale=100)
        means = {tuple(place): mean for (_, *place), mean in of_places.items()}
        lines = list(product(places[panels], places[rows]))
        table = Table(
            slug(name, dataset, system.name),
            f"{caption} of {system.name} on {dataset}; mean over seeds.",
            [cells(titles[panels], titles[rows], *places[columns])],
            [
                [*cells(*line), *(mean_cell(means.get((*line, column)), 1) for column in places[columns])]
                for line in lines
            ],
            frozenset(range(len(places[rows]), len(lines), len(places[rows]))),
            rows_behind(of_system, [measure]),
        )
        numbers = {place: mean.mean for place, mean in means.items()}
        grids = {
            panel: [[numbers.get((panel, row, column)) for column in shown[columns]] for row in shown[rows]]
            for panel in shown[panels]
        }
        images = heatmaps(grids, shown[rows], shown[columns], title, titles[columns], titles[rows])
        figures.append(replace(table, images=images))
    return figures
