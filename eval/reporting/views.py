"""The views of the report: each makes tables and figures of the rows of some measure, and knows none by name.

`eval/report.toml` says which measure is shown by which view. A view is called with what was measured on one
dataset, and with the settings of its entry there.
"""

from collections.abc import Mapping, Sequence

from eval.measurements import Measurements
from eval.reporting.confusion import confusion
from eval.reporting.curves import curves_over
from eval.reporting.directions import direction_heat_map, direction_table, directions, largest
from eval.reporting.example_tables import example_means, examples
from eval.reporting.exhibits import Table, cells, mean_cell, rows_behind, slug
from eval.reporting.grids import grid, heat_map, heat_maps
from eval.reporting.layers import layer_changes, layer_curves
from eval.reporting.measure_tables import effects, measures
from eval.reporting.points import points
from eval.reporting.system_figures import bars, trainings
from eval.systems import MeanStd


def table(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    caption: str,
    columns: str,
    digits: int = 1,
    scale: float = 1.0,
    average: bool = False,
    above: Mapping[str, str] = {},
) -> list[Table]:
    """Systems by what a column of the rows holds: mean and deviation over seeds.

    Args:
        columns: whose values are the columns of the table, in their order.
        digits: behind the point.
        scale: of the numbers.
        average: add a column of the mean over all columns.
        above: measures that all systems share, and what their lines above the systems are called.
    """
    measured = measured.where(measure=[measure, *above])
    if not measured.systems:
        return []
    titles = sorted(measured.values(columns), key=_in_order)
    means = measured.means(measure, (columns,), scale=scale)
    averages = measured.means(measure, scale=scale) if average else {}
    rows = [
        [
            *cells(line, ""),
            *(mean_cell(value, digits) for value in _shared(measured, one, columns, titles, scale)),
        ]
        for one, line in above.items()
    ]
    for system in measured.systems:
        values = [means.get((system.name, title)) for title in titles]
        if average:
            values.append(averages.get((system.name,)) if all(values) else None)
        rows.append([*cells(system.name, len(system.runs)), *(mean_cell(value, digits) for value in values)])
    text = f"{caption} on {dataset}; mean ± deviation over seeds."
    header = [cells("System", "Seeds", *titles, *(["Avg."] if average else []))]
    rules, data = frozenset({len(above)} - {0}), rows_behind(measured, [measure, *above])
    return [Table(slug(name, dataset), text, header, rows, rules, data)]


def _in_order(title: str) -> tuple:
    """Numbers by their size, before names."""
    return (0, int(title), "") if title.isdecimal() else (1, 0, title)


def _shared(
    measured: Measurements, measure: str, column: str, values: Sequence[str], scale: float
) -> list[MeanStd | None]:
    """For each value of a column, a number that is the same for all systems that have it."""
    numbers: dict[str, MeanStd] = {}
    for (_, value), mean in measured.means(measure, (column,), scale=scale).items():
        numbers.setdefault(value, MeanStd(mean.mean, None))
    return [numbers.get(value) for value in values]


VIEWS = {
    view.__name__: view
    for view in (
        layer_curves,
        layer_changes,
        table,
        directions,
        direction_table,
        direction_heat_map,
        largest,
        bars,
        trainings,
        measures,
        curves_over,
        effects,
        points,
        example_means,
        confusion,
        examples,
        grid,
        heat_map,
        heat_maps,
    )
}
