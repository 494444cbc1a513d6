"""The views of the report: each makes tables and figures of the rows of some measure, and knows none by name.

`eval/report.toml` says which measure is shown by which view. A view is called with what was measured on one
dataset, and with the settings of its entry there. Those that all views have in common:

* `name` begins the name of the file, `caption` the caption, before the dataset and the system;
* `title` is that of an axis, or of the scale of colours;
* numbers are shown times `scale`, with as many `digits` behind the point;
* what is `folded` is shown after a click.
"""

from eval.reporting.confusion import confusion
from eval.reporting.curves import curves_over
from eval.reporting.directions import direction_heat_map, direction_table, directions, largest
from eval.reporting.example_tables import example_means, examples
from eval.reporting.heat_maps import heat_map, heat_maps
from eval.reporting.layers import layer_changes, layer_curves
from eval.reporting.measure_tables import effects, measures
from eval.reporting.points import points, points_by_size
from eval.reporting.system_figures import bars, trainings
from eval.reporting.tables import table

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
        points_by_size,
        example_means,
        confusion,
        examples,
        heat_map,
        heat_maps,
    )
}
