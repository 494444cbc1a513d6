"""The view of curves: measures over the updates of trainings, or over languages."""

from collections.abc import Mapping
from dataclasses import dataclass

from eval.measurements import Measurements
from eval.reporting.exhibits import Cell, Table, cells, mean_cell, rows_behind, slug
from eval.reporting.measure_tables import system_cells, system_titles
from eval.reporting.plots import lines
from eval.systems import MeanStd, System

Series = Mapping[str, list[MeanStd | None]]  # system -> its number at every tick
X_TITLES = {
    "update": "updates",
    "direction": "language",
    "layer": "layer",
    "part": "numbers of a vector",
}


@dataclass(frozen=True)
class Panel:
    """One panel of a figure.

    Attributes:
        measure: whose numbers it has.
        title: of its y axis.
        digits: of the numbers behind the figure.
        scale: of the numbers.
        dashed: a measure that is drawn dashed beside.
        dashed_title: of that one, in the numbers behind the figure.
    """

    measure: str
    title: str
    digits: int = 1
    scale: float = 1.0
    dashed: str = ""
    dashed_title: str = ""

    @property
    def measures(self) -> dict[str, str]:
        """Measure -> title."""
        return {self.measure: self.title} | ({self.dashed: self.dashed_title} if self.dashed else {})


def curves_over(
    measured: Measurements,
    dataset: str,
    name: str,
    panels: list[dict],
    caption: str,
    x: str = "update",
    most_ticks: int = 0,
    derived: bool = False,
) -> list[Table]:
    """A curve per system, a panel with its own y axis per measure; bands: deviation over seeds.

    Args:
        panels: of the figure; the attributes of `Panel`.
        x: column of the rows, one of `X_TITLES`.
        most_ticks: of the x axis; where there are more values, only every second, third, … is drawn, from the
            last one back. All are in the CSV file. 0: all.
        derived: numbers are of several trainings already, whose number is not that of runs.
    """
    shown = [Panel(**panel) for panel in panels]
    names = [measure for panel in shown for measure in panel.measures]
    measured = measured.where(measure=names)
    if not measured.systems:
        return []
    ticks = _ticks(measured, x, most_ticks)
    series = {
        measure: _series(measured, measure, x, ticks, panel.scale)
        for panel in shown
        for measure in panel.measures
    }
    text = f"{caption} on {dataset}; bands: standard deviation over seeds."
    header = [cells("", *system_titles(derived), *ticks)]
    rows, rules = _numbers(measured.systems, shown, series, derived)
    data = rows_behind(measured, names)
    images = lines(
        [str(tick) for tick in ticks],
        {panel.title: series[panel.measure] for panel in shown if series[panel.measure]},
        None,
        baselines={panel.title: series[panel.dashed] for panel in shown if panel.dashed},
        x_title=X_TITLES[x],
    )
    return [Table(slug(name, dataset), text, header, rows, rules, data, images=images)]


def _numbers(
    systems: list[System], panels: list[Panel], series: Mapping[str, Series], derived: bool
) -> tuple[list[list[Cell]], frozenset[int]]:
    """The rows behind a figure, one per curve, and those with a line above: the first of every measure."""
    rows, rules = [], set()
    for panel in panels:
        for measure, title in panel.measures.items():
            rules.add(len(rows))
            for system in systems:
                if values := series[measure].get(system.name):
                    shown = [mean_cell(value, panel.digits) for value in values]
                    rows.append([*cells(title, *system_cells(system, derived)), *shown])
    return rows, frozenset(rules - {0, len(rows)})


def _ticks(measured: Measurements, x: str, most: int) -> list:
    """Updates in their order, languages in that of the rows."""
    if x != "update":
        return measured.values(x)
    updates = sorted(int(update) for update in measured.rows["update"].dropna().unique())
    every = -(-len(updates) // most) if most else 1
    return updates[::-1][::every][::-1]


def _series(measured: Measurements, measure: str, x: str, ticks: list, scale: float) -> Series:
    """System -> its number at every tick, of the systems that have one."""
    means = measured.means(measure, (x,), scale=scale)
    series = {system.name: [means.get((system.name, tick)) for tick in ticks] for system in measured.systems}
    return {name: values for name, values in series.items() if any(values)}
