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
from eval.reporting.measure_tables import effects, measures, parts
from eval.reporting.points import points
from eval.reporting.system_figures import bars, trainings
from eval.results.systems import MeanStd


def table(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    caption: str,
    columns: str,
    digits: int = 1,
    scale: float = 1.0,
    each: str = "",
    average: bool = False,
    above: Mapping[str, str] = {},
) -> list[Table]:
    """Systems by what a column of the rows holds: mean and deviation over seeds.

    Args:
        columns: whose values are the columns of the table, in alphabetical order.
        digits: behind the point.
        scale: of the numbers.
        each: column of the rows; there is a table for each of its values.
        average: add a column of the mean over all columns.
        above: measures that all systems share, and what their lines above the systems are called.
    """
    tables = []
    for part, files, label in parts(measured.where(measure=[measure, *above]), dataset, each):
        titles = sorted(part.values(columns))
        means = part.means(measure, (columns,), scale=scale)
        averages = part.means(measure, scale=scale) if average else {}
        rows = [
            [
                *cells(line, ""),
                *(mean_cell(value, digits) for value in _shared(part, one, columns, titles, scale)),
            ]
            for one, line in above.items()
        ]
        rules = frozenset({len(rows)} - {0})
        for system in part.systems:
            values = [means.get((system.name, title)) for title in titles]
            if average:
                values.append(averages.get((system.name,)) if all(values) else None)
            cells_of_values = [mean_cell(value, digits) for value in values]
            rows.append([*cells(system.name, len(system.runs)), *cells_of_values])
        text = f"{caption} on {label}; mean ± deviation over seeds."
        header = [cells("System", "Seeds", *titles, *(["Avg."] if average else []))]
        data = rows_behind(part, [measure, *above])
        tables.append(Table(slug(name, *files), text, header, rows, rules, data))
    return tables


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
