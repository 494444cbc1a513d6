"""Zero-shot translation at equal supervised BLEU.

Systems learn at different speeds, and at the end of a small budget one may be better in all directions
because it is further, or worse in zero-shot ones because it has gone on. So trainings are also compared where
their supervised BLEU is the same: at the lowest one that any of them ends with, between the two checkpoints
around the first time that it is reached, by linear interpolation.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np

from command_line.measurements import Measured, high, low, numbers
from eval.derived.training_curves import Training, trainings_in
from eval.scoring.estimates import difference

DIFFERENCE = "bleu_difference"


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


@dataclass(frozen=True)
class Reached:
    """What a training has where its supervised BLEU reaches the level; None where there is no number."""

    level: float
    updates: float
    bleu: float | None
    off_target: float | None


def at_equal_supervised(trainings: Sequence[Training]) -> list[Reached | None]:
    """Zero-shot translation of each training of a dataset at the level of all; None where it is not between
    two checkpoints, or no supervised direction was translated.
    """
    unknown = [[None] * len(training.updates) for training in trainings]
    supervised = [
        training.scores.get(("supervised", "bleu"), none)
        for training, none in zip(trainings, unknown, strict=True)
    ]
    finals = [curve[-1] for curve in supervised]
    if None in finals:
        return [None] * len(trainings)
    level, reached = min(finals), []
    for training, curve, none in zip(trainings, supervised, unknown, strict=True):
        there = crossing(curve, level)
        zero_shot = (training.scores.get(("zero-shot", measure), none) for measure in ("bleu", "off_target"))
        reached.append(
            there and Reached(level, there.of(training.updates), *(there.of(curve) for curve in zero_shot))
        )
    return reached


def compared(measured) -> Measured:
    """All curves (`Measurements`) at the level of their dataset: a run for each training that reaches it, and
    one for the difference of each system from the first.
    """
    derived, by_dataset = Measured(), defaultdict(list)
    for training in trainings_in(measured):
        by_dataset[training.dataset].append(training)
    for dataset, trainings in by_dataset.items():
        bleu: dict[str, list[float]] = {training.system: [] for training in trainings}
        for training, reached in zip(trainings, at_equal_supervised(trainings), strict=True):
            if reached:
                system = {"name": training.system, "seed": training.seed}
                derived.add({"system": system, "dataset": dataset}, numbers(asdict(reached)))
                bleu[training.system] += [] if reached.bleu is None else [reached.bleu]
        first, *others = bleu
        for system in others:
            if bleu[first] and bleu[system]:
                run = {"system": {"name": f"{system} from {first}"}, "dataset": dataset}
                derived.add(run, numbers(_difference(bleu[first], bleu[system])))
    return derived


def _difference(first: list[float], system: list[float]) -> dict[str, float]:
    """Of zero-shot BLEU; with an interval from two seeds of both on."""
    values = {DIFFERENCE: fmean(system) - fmean(first)}
    if min(len(first), len(system)) > 1:
        estimate = difference([(1, np.array(system)), (-1, np.array(first))])
        values[low(DIFFERENCE)], values[high(DIFFERENCE)] = estimate.interval(0.05)
    return values
