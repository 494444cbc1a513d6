"""The views of the report: each makes tables and figures of the rows of some measure, and knows none by name.

`eval/report.toml` says which measure is shown by which view. A view is called with what was measured on one
dataset, and with the settings of its entry there.
"""

from collections.abc import Iterable
from functools import partial
from itertools import pairwise

from eval.measurements import Measurements
from eval.reporting.curves import curves
from eval.reporting.exhibits import Figure, Table, cells, mean_cell, number_cell, rows_behind, slug
from eval.reporting.measure_tables import effects, measures, parts
from eval.reporting.plots import dots, lines, signed_heatmap
from eval.results.systems import System

KINDS = {"supervised": "Supervised pairs", "zero-shot": "Zero-shot pairs"}
MEAN = "mean"  # of all pairs of a kind
OUTPUT = "output"  # the encoder's, which all architectures have: the last layer of a figure


def layers_in_order(names: Iterable[str]) -> list[str]:
    """From the bottom up, the encoder's output last."""
    return sorted(
        names, key=lambda layer: (layer == OUTPUT, int(layer.removeprefix("L") if layer != OUTPUT else 0))
    )


def layer_curves(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    title: str,
    caption: str,
    chance: str | None = None,
) -> list[Figure]:
    """One curve per system over the layers, one panel per kind of pairs, bands over seeds.

    Args:
        name: of the figure.
        title: of the y axis.
        caption: without the dataset and what the curves are.
        chance: the measure that is `measure` by chance, in repetitions; drawn as dashed lines.
    """
    layers = layers_in_order(measured.values("layer", measure))
    means = measured.means(measure, ("kind", "layer"))
    by_chance = measured.means(chance, ("kind", "layer"), over=("run", "repeat")) if chance else {}
    cell_of = partial(mean_cell, digits=3)
    panels, baselines, rows, rules = {}, {}, [], set()
    for kind, panel in KINDS.items():
        series, lower = {}, {}
        for system in measured.systems:
            values, levels = (
                [found.get((system.name, kind, layer)) for layer in layers] for found in (means, by_chance)
            )
            if any(values):
                series[system.name] = values
                rows.append([*cells(panel, system.name, len(system.runs)), *map(cell_of, values)])
            if any(levels):
                lower[system.name] = levels
                rows.append(
                    [*cells(panel, f"{system.name}, by chance", len(system.runs)), *map(cell_of, levels)]
                )
        if series:
            panels[panel], baselines[panel] = series, lower
            rules.add(len(rows))
    caption = f"{caption} On {dataset}, mean over pairs of languages; bands: standard deviation over seeds."
    if chance:
        caption += " Dashed: by chance, for sentences in another order; bands: over such orders."
    header = [cells("Pairs", "System", "Seeds", *layers)]
    data = rows_behind(measured, [measure, chance] if chance else [measure])
    table = Table(slug(name, dataset), caption, header, rows, frozenset(rules - {len(rows)}), data)
    return [Figure(table.name, caption, lines(layers, panels, title, baselines=baselines), table)]


def layer_changes(
    measured: Measurements, dataset: str, name: str, measure: str, title: str, caption: str
) -> list[Figure]:
    """How a measure of pairs and layers changes from the first system to every other, and from every other to
    the next: pairs by layers, the averages of each kind last. Systems with other layers are left out.
    """
    first, *others = measured.systems
    compared = [*((first, system) for system in others), *pairwise(others)]
    return [
        _change(measured, dataset, name, measure, title, caption, *pair)
        for pair in compared
        if measured.have_same_layers(measure, *pair)
    ]


def _change(measured, dataset, name, measure, title, caption, baseline: System, system: System) -> Figure:
    layers = layers_in_order(measured.of_system(baseline, measure).layer.unique())
    of_pairs = measured.means(measure, ("kind", "direction", "layer"))
    of_kinds = measured.means(measure, ("kind", "layer"))
    means = of_pairs | {(one, kind, MEAN, layer): value for (one, kind, layer), value in of_kinds.items()}
    pairs = sorted(
        {
            (pair == MEAN, list(KINDS).index(kind), pair, kind)
            for one, kind, pair, _ in means
            if one == system.name
        }
    )

    def change(kind: str, pair: str, layer: str) -> float:
        return means[system.name, kind, pair, layer].mean - means[baseline.name, kind, pair, layer].mean

    titles = [f"{MEAN} of {kind}" if pair == MEAN else pair for _, _, pair, kind in pairs]
    changes = [[change(kind, pair, layer) for layer in layers] for _, _, pair, kind in pairs]
    rows = [
        [*cells(shown, kind), *(number_cell(value, "+.3f") for value in values)]
        for shown, (*_, kind), values in zip(titles, pairs, changes, strict=True)
    ]
    caption = f"{caption} From {baseline.name} to {system.name} on {dataset}, mean over seeds."
    table = Table(
        slug(f"{name}_change", dataset, baseline.name, system.name),
        caption,
        [cells("Pair", "Kind", *layers)],
        rows,
    )
    return Figure(table.name, caption, signed_heatmap(titles, layers, changes, title), table)


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
) -> list[Table]:
    """Systems by what a column of the rows holds: mean and deviation over seeds.

    Args:
        columns: whose values are the columns of the table, in alphabetical order.
        digits: behind the point.
        scale: of the numbers.
        each: column of the rows; there is a table for each of its values.
        average: add a column of the mean over all columns.
    """
    tables = []
    for part, files, label in parts(measured.where(measure=measure), dataset, each):
        titles = sorted(part.values(columns))
        means = part.means(measure, (columns,), scale=scale)
        averages = part.means(measure, scale=scale)
        rows = []
        for system in part.systems:
            values = [means.get((system.name, title)) for title in titles]
            if average:
                values.append(averages.get((system.name,)) if all(values) else None)
            cells_of_values = [mean_cell(value, digits) for value in values]
            rows.append([*cells(system.name, len(system.runs)), *cells_of_values])
        text = f"{caption} on {label}; mean ± deviation over seeds."
        header = [cells("System", "Seeds", *titles, *(["Avg."] if average else []))]
        data = rows_behind(part, [measure])
        tables.append(Table(slug(name, *files), text, header, rows, data=data))
    return tables


def directions(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    title: str,
    caption: str,
    layer: str = "",
    digits: int = 1,
    scale: float = 1.0,
) -> list[Figure]:
    """Dots of every system per pair of languages or direction, and the averages of each kind in the table.

    Args:
        title: of the x axis.
        layer: the one that is shown.
        digits, scale: as for `table`.
    """
    measured = measured.where(measure=measure, layer=layer)
    if not measured.systems:
        return []
    kinds = [kind for kind in KINDS if kind in measured.values("kind")]
    means = measured.means(measure, ("kind", "direction"), scale=scale)
    of_kinds = measured.means(measure, ("kind",), scale=scale)
    places = sorted({(kinds.index(kind), direction, kind) for _, kind, direction in means})
    values = {
        system.name: [means.get((system.name, kind, direction)) for _, direction, kind in places]
        for system in measured.systems
    }
    rows = [
        [*cells(direction, kind), *(mean_cell(of_system[place], digits) for of_system in values.values())]
        for place, (_, direction, kind) in enumerate(places)
    ]
    for kind in kinds:
        averages = (of_kinds.get((name, kind)) for name in values)
        rows.append([*cells("Avg.", kind), *(mean_cell(average, digits) for average in averages)])
    rules = [sum(kind == kinds[0] for *_, kind in places)] if len(kinds) > 1 else []
    caption = f"{caption} on {dataset}; mean over seeds, error bars: standard deviation over seeds."
    numbers = Table(
        slug(name, dataset),
        caption,
        [cells("Pair", "Kind", *values)],
        rows,
        frozenset({*rules, *range(len(places), len(rows))}),
        rows_behind(measured, [measure]),
    )
    png = dots([direction for _, direction, _ in places], values, title, rules)
    return [Figure(numbers.name, caption, png, numbers)]


VIEWS = {
    view.__name__: view
    for view in (
        layer_curves,
        layer_changes,
        table,
        directions,
        measures,
        curves,
        effects,
    )
}
