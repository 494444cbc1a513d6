"""The view of two measures against each other: one point per direction or pair of languages."""

from collections.abc import Mapping

from eval.measurements import Measurements
from eval.reporting.exhibits import Figure, Table, cells, mean_cell, rows_behind, slug
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
) -> list[Figure]:
    """A colour per system, with the line of least squares.

    Args:
        x, y: measures of directions.
        x_title, y_title: of the axes.
        caption: without the dataset.
        legend: measures that are written behind the name of a system, and how, for example "r = {:.2f}".
        legend_kind: the `kind` of their rows.
        scale: of the numbers of y.
    """
    of_places = measured.where(measure=[x, y])
    if not of_places.systems:
        return []
    xs, ys = measured.means(x, ("direction",)), measured.means(y, ("direction",), scale=scale)
    said = {one: measured.where(kind=legend_kind).means(one) for one in legend}
    series, rows, rules = {}, [], set()
    for system in of_places.systems:
        words = [form.format(said[one][(system.name,)].mean) for one, form in legend.items()]
        places = [(system.name, direction) for of_system, direction in xs if of_system == system.name]
        rules.add(len(rows))
        title = ": ".join(filter(None, (system.name, ", ".join(words))))
        series[title] = [(xs[place].mean, ys[place].mean, place[1]) for place in places]
        rows += [[*cells(*place), mean_cell(xs[place], 2), mean_cell(ys[place], 2)] for place in places]
    text = f"{caption} on {dataset}."
    header = [cells("System", "Of", x_title, y_title)]
    data = rows_behind(of_places, [x, y])
    table = Table(slug(name, dataset), text, header, rows, frozenset(rules - {0}), data)
    return [Figure(table.name, text, scatter(series, x_title, y_title), table)]
