"""The views of one number per system or training: bars, and points of two numbers."""

from collections.abc import Mapping

from eval.measurements import Measurements
from eval.reporting.exhibits import Table, cell, cells, mean_and_std_cells, number_cell, slug
from eval.reporting.plots import clouds, horizontal_bars


def bars(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    title: str,
    kinds: Mapping[str, str] | None = None,
    scale: float = 1.0,
    series: str = "kind",
) -> list[Table]:
    """A group of bars per system: means over directions and seeds.

    Args:
        title: of the x axis.
        kinds: values of the column `series`, and what their bars are called; without it, all that there are.
        scale: of the numbers.
    """
    kinds = kinds or {kind: kind for kind in measured.values(series, measure)}
    measured = measured.where(measure=measure, **{series: list(kinds)})
    means = measured.means(measure, (series,), scale=scale)
    names = [system.name for system in measured.systems]
    values = {label: [means.get((system, kind)) for system in names] for kind, label in kinds.items()}
    if not names:
        return []
    header = [cells("System", *(f"{label} {part}" for label in values for part in ("mean", "std")), "Seeds")]
    rows = [
        [
            cell(system.name),
            *(field for of_kind in values.values() for field in mean_and_std_cells(of_kind[place])),
            cell(", ".join(system.run_labels)),
        ]
        for place, system in enumerate(measured.systems)
    ]
    text = (
        f"{title} on {dataset}: means over directions and seeds; error bars: standard deviation over seeds."
    )
    images = horizontal_bars(names, values, title)
    return [Table(slug(name, dataset), text, header, rows, images=images)]


def trainings(
    measured: Measurements, dataset: str, name: str, measure: str, title: str, x: str, y: str, caption: str
) -> list[Table]:
    """A point for every training: a measure in two kinds of directions, means over each. Of one system there
    is nothing to see.

    Args:
        x, y: kinds of directions.
    """
    of_kinds = [measured.of_runs(measure, kind=kind) for kind in (x, y)]
    series, rows = {}, []
    for system in measured.systems:
        values = [of_kind.get(system.name, []) for of_kind in of_kinds]
        if points := list(zip(*values, strict=False)):
            series[system.name] = points
            rows += [
                [*cells(system.name, label), *(number_cell(number, ".1f") for number in point)]
                for label, point in zip(system.run_labels, points, strict=True)
            ]
    if len(series) < 2:
        return []
    titles = [f"{kind.capitalize()} {title}" for kind in (x, y)]
    text = f"{caption} on {dataset}, means over directions: every training is a point."
    header = [cells("System", "Seed", *titles)]
    return [Table(slug(name, dataset), text, header, rows, images=clouds(series, *titles))]
