"""Zero-shot translation at equal supervised BLEU.

Systems learn at different speeds, and at the end of a small budget one may be better in all directions
because it is further, or worse in zero-shot ones because it has gone on. So trainings are also compared where
their supervised BLEU is the same: at the lowest one that any of them ends with, between the two checkpoints
around the first time that it is reached, by linear interpolation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from eval.reporting.exhibits import Cell, Table, cell, cells, mean_cell, slug, tidy
from eval.results.systems import UNKNOWN, MeanStd, System
from eval.scoring.estimates import difference

FIELD = "at_equal_supervised"  # of a run, while its table is made


@dataclass(frozen=True)
class Crossing:
    """Where a curve reaches a level for the first time: between two checkpoints, at a share of the way."""

    before: int
    share: float

    def of(self, values: Sequence[float | None]) -> float | None:
        """Another curve there; None where one of the checkpoints has no number."""
        first, second = values[self.before : self.before + 2]
        return None if None in (first, second) else first + self.share * (second - first)


def crossing(curve: Sequence[float | None], level: float) -> Crossing | None:
    """None for a curve that begins above the level, ends below it, or has gaps."""
    if None in curve:
        return None
    for before, (first, second) in enumerate(pairwise(curve)):
        if first >= level:
            return None
        if second >= level:
            return Crossing(before, (level - first) / (second - first))
    return None


def at_equal_supervised(runs: Sequence[dict]) -> list[dict | None]:
    """Of each training of a dataset: level, updates, zero-shot BLEU and off-target rate; None where it is not
    between two checkpoints, or no supervised direction was translated.

    Args:
        runs: of learning curves, all of one dataset.
    """
    finals = [run["averages"]["supervised"]["bleu"][-1] for run in runs]
    if None in finals:
        return [None] * len(runs)
    level, found = min(finals), []
    for run in runs:
        there = crossing(run["averages"]["supervised"]["bleu"], level)
        zero_shot = run["averages"]["zero-shot"]
        found.append(
            there
            and {
                "supervised": level,
                "updates": there.of(run["updates"]),
                **{measure: there.of(zero_shot[measure]) for measure in ("bleu", "off_target")},
            }
        )
    return found


# --- the table of the report


def table(systems: Sequence[System], dataset: str) -> Table | None:
    """A row per system; differences are from the first one, with the interval over seeds. None where no
    training has a number.
    """
    compared = _at_one_level(systems)
    reached = [system.only(lambda run: run.record[FIELD] is not None) for system in compared]
    levels = [one.runs[0].value(FIELD, "supervised") for one in reached if one]
    if not levels:
        return None
    rows = [
        [
            *cells(system.name, f"{len(one.runs) if one else 0} of {len(system.runs)}"),
            *(
                mean_cell(one and one.mean(FIELD, name, scale=scale), digits)
                for name, scale, digits in (("updates", 1, 0), ("bleu", 1, 1), ("off_target", 100, 1))
            ),
            _difference(reached[0], one),
        ]
        for system, one in zip(systems, reached, strict=True)
    ]
    header = cells("System", "Seeds", "Updates", "Zero-shot BLEU", "Off-target %", f"From {systems[0].name}")
    caption = (
        f"Zero-shot directions on {dataset} where supervised BLEU is {levels[0]:.1f}, the lowest that a"
        " training ends with; between checkpoints by interpolation. Seeds that begin above it are left out;"
        " differences of BLEU with the 95% interval over seeds."
    )
    name = slug("equal_supervised", dataset)
    return Table(name, caption, [header], rows, data=_data(reached, dataset))


def _at_one_level(systems: Sequence[System]) -> list[System]:
    """The systems with what is theirs at the level of all of them, whatever files they are in."""
    runs = [run for system in systems for run in system.runs]
    found = iter(at_equal_supervised([run.record for run in runs]))
    return [
        replace(
            system, runs=tuple(replace(run, record={**run.record, FIELD: next(found)}) for run in system.runs)
        )
        for system in systems
    ]


def _difference(first: System | None, system: System | None) -> Cell:
    """Of zero-shot BLEU; with an interval from two seeds of both on."""
    values = [
        [value for value in one.values(FIELD, "bleu") if value is not None] if one else []
        for one in (first, system)
    ]
    if first is system or not all(values):
        return cell(UNKNOWN)
    means = MeanStd.of(values[1]).mean - MeanStd.of(values[0]).mean
    if min(map(len, values)) < 2:
        return cell(f"{means:+.1f}", value=means)
    estimate = difference([(1, np.array(values[1])), (-1, np.array(values[0]))])
    low, high = estimate.interval(0.05)
    return cell(f"{means:+.1f} [{low:+.1f}, {high:+.1f}]", value=means)


def _data(systems: Sequence[System | None], dataset: str) -> list[list]:
    rows = [
        [
            dataset,
            system.name,
            seed,
            *(run[FIELD][name] for name in ("supervised", "updates", "bleu", "off_target")),
        ]
        for system in systems
        if system
        for seed, run in system.labelled()
    ]
    return tidy(["dataset", "system", "seed", "supervised", "updates", "bleu", "off_target"], rows)
