"""The views of two measures against each other: a point per direction or pair of languages, or per system."""

from collections.abc import Mapping
from dataclasses import replace

from eval.measurements import Measurements
from eval.reporting.exhibits import Table, cells, mean_cell, rows_behind, slug
from eval.reporting.plots import scatter


def points(
    measured: Measurements,
    dataset: str,
    name: str,
    x: str,
    x_title: str,
    y: str,
    y_title: str,
    caption: str,
    legend: Mapping[str, str] = {},
    legend_kind: str = "",
    scale: float = 1.0,
) -> list[Table]:
    """A colour per system, with the line of least squares.

    Args:
        x, y: measures of directions.
        x_title, y_title: of the axes.
        legend: measures that are written behind the name of a system, and how, for example "r = {:.2f}".
        legend_kind: the `kind` of their rows.
    """
    of_places = measured.where(measure=[x, y])
    xs, ys = measured.means(x, ("direction",)), measured.means(y, ("direction",), scale=scale)
    in_legend = {measure: measured.where(kind=legend_kind).means(measure) for measure in legend}
    series, rows, rules = {}, [], set()
    for system in of_places.systems:
        words = [form.format(in_legend[measure][(system.name,)].mean) for measure, form in legend.items()]
        places = [(system.name, direction) for of_system, direction in xs if of_system == system.name]
        rules.add(len(rows))
        title = ": ".join(filter(None, (system.name, ", ".join(words))))
        series[title] = [(xs[place].mean, ys[place].mean, place[1]) for place in places]
        rows += [[*cells(*place), mean_cell(xs[place], 2), mean_cell(ys[place], 2)] for place in places]
    header, data = [cells("System", "Of", x_title, y_title)], rows_behind(of_places, [x, y])
    table = Table(slug(name, dataset), f"{caption} on {dataset}.", header, rows, frozenset(rules - {0}), data)
    return [replace(table, images=scatter(series, x_title, y_title))] if rows else []


def points_by_size(
    measured: Measurements,
    dataset: str,
    name: str,
    x: str,
    x_title: str,
    y: str,
    y_title: str,
    caption: str,
    x_scale: float = 1.0,
    scale: float = 1.0,
) -> list[Table]:
    """A point per system, where systems differ in x, which has a logarithmic scale; other arguments as for
    `points`.
    """
    xs, ys = measured.means(x, scale=x_scale), measured.means(y, scale=scale)
    places = [place for place in ys if place in xs]
    if len({xs[place].mean for place in places}) < 2:
        return []
    series = {dataset: [(xs[place].mean, ys[place].mean, *place) for place in places]}
    rows = [[*cells(*place), mean_cell(xs[place], 1), mean_cell(ys[place], 1)] for place in places]
    images, header = scatter(series, x_title, y_title, by_magnitude=True), [cells("System", x_title, y_title)]
    return [Table(slug(name, dataset), f"{caption} on {dataset}.", header, rows, images=images)]
