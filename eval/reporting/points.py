"""The view of two measures against each other: one point per direction or pair of languages."""

from collections.abc import Mapping

from eval.measurements import Measurements
from eval.reporting.exhibits import Figure, Table, cells, mean_cell, rows_behind, slug
from eval.reporting.measure_tables import parts
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
    legend: Mapping[str, str],
    legend_kind: str,
    each: str = "",
) -> list[Figure]:
    """A colour per system, with the line of least squares.

    Args:
        x, y: measures of directions.
        x_title, y_title: of the axes.
        caption: without the dataset.
        legend: measures that are written behind the name of a system, and how, for example "r = {:.2f}".
        legend_kind: the `kind` of their rows.
        each: column of the rows; there is a figure for each of its values.
    """
    figures = []
    for part, files, label in parts(measured, dataset, each):
        xs, ys = (part.means(measure, ("direction",)) for measure in (x, y))
        said = {one: part.where(kind=legend_kind).means(one) for one in legend}
        series, rows, rules = {}, [], set()
        for system in part.systems:
            words = [form.format(said[one][(system.name,)].mean) for one, form in legend.items()]
            directions = [direction for of_system, direction in xs if of_system == system.name]
            places = [(system.name, direction) for direction in directions]
            rules.add(len(rows))
            series[f"{system.name}: {', '.join(words)}"] = [
                (xs[place].mean, ys[place].mean, place[1]) for place in places
            ]
            rows += [[*cells(*place), mean_cell(xs[place], 2), mean_cell(ys[place], 2)] for place in places]
        text = f"{caption} on {label}."
        header = [cells("System", "Pair", x_title, y_title)]
        data = rows_behind(part.where(measure=[x, y]), [x, y])
        table = Table(slug(name, *files), text, header, rows, frozenset(rules - {0}), data)
        figures.append(Figure(table.name, text, scatter(series, x_title, y_title), table))
    return figures
