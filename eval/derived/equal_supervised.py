"""Zero-shot translation at equal supervised BLEU.

Systems learn at different speeds, and at the end of a small budget one may be better in all directions
because it is further, or worse in zero-shot ones because it has gone on. So trainings are also compared where
their supervised BLEU is the same: at the lowest one that any of them ends with, between the two checkpoints
around the first time that it is reached, by linear interpolation.
"""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pandas as pd

from command_line.measurements import Measured, high, low, numbers
from eval.scoring.estimates import difference

DIFFERENCE = "bleu_difference"
SUPERVISED = ("supervised", "bleu")
SHOWN = {"bleu": ("zero-shot", "bleu"), "off_target": ("zero-shot", "off_target")}


def at_equal_supervised(curves: Sequence) -> list[dict[str, float] | None]:
    """What the trainings of a dataset have at the level of all.

    Args:
        curves: of each training a table of updates by kinds of directions and measures.

    Returns:
        Of each: "level", "updates", "bleu" and "off_target" of zero-shot directions, NaN without a number;
        None where the level is not between two checkpoints, or no supervised direction was translated.
    """
    if not all(SUPERVISED in curve and curve[SUPERVISED].notna().iloc[-1] for curve in curves):
        return [None] * len(curves)
    level = min(curve[SUPERVISED].iloc[-1] for curve in curves)
    return [_reached(curve, level) for curve in curves]


def _reached(curve, level: float) -> dict[str, float] | None:
    supervised = curve[SUPERVISED]
    if supervised.isna().any() or supervised.iloc[0] >= level:
        return None
    after = int((supervised >= level).argmax())
    first, second = supervised.iloc[after - 1], supervised.iloc[after]
    share = (level - first) / (second - first)

    def there(values) -> float:
        return values[after - 1] + share * (values[after] - values[after - 1])

    shown = {name: there(curve[place].values) if place in curve else np.nan for name, place in SHOWN.items()}
    return {"level": level, "updates": there(curve.index.values)} | shown


def compared(measured) -> Measured:
    """All curves (`Measurements`) at the level of their dataset: a run for each training that reaches it, and
    one for the difference of each system from the first.
    """
    derived = Measured()
    rows = measured.rows[measured.rows.measure.isin(SHOWN)]
    for dataset, of_dataset in rows.groupby("dataset", sort=False):
        trainings = [of_run for _, of_run in of_dataset.groupby("run", sort=False)]
        curves = [
            of_run.pivot(index="update", columns=["kind", "measure"], values="value") for of_run in trainings
        ]
        bleu: dict[str, list[float]] = {system: [] for system in of_dataset.system.unique()}
        for of_run, reached in zip(trainings, at_equal_supervised(curves), strict=True):
            if reached:
                name, seed = of_run[["system", "seed"]].iloc[0]
                system = {"name": name, "seed": None if pd.isna(seed) else int(seed)}
                values = {measure: value for measure, value in reached.items() if value == value}
                derived.add({"system": system, "dataset": dataset}, numbers(values))
                bleu[name] += [values["bleu"]] if "bleu" in values else []
        first, *others = bleu
        for system in others:
            if bleu[first] and bleu[system]:
                run = {"system": {"name": f"{system} from {first}"}, "dataset": dataset}
                derived.add(run, numbers(_difference(bleu[first], bleu[system])))
    return derived


def _difference(first: list[float], system: list[float]) -> dict[str, float]:
    """The difference of zero-shot BLEU, with an interval if both have two seeds or more."""
    values = {DIFFERENCE: fmean(system) - fmean(first)}
    if min(len(first), len(system)) > 1:
        estimate = difference([(1, np.array(system)), (-1, np.array(first))])
        values[low(DIFFERENCE)], values[high(DIFFERENCE)] = estimate.interval(0.05)
    return values
