"""Does layer-wise language recognition go with zero-shot translation during training? (thesis E.1)

Pearson's correlation of the accuracy in zero-shot directions with zero-shot BLEU: over all checkpoints, and
over systems by the last ones, where time does not make both rise.
"""

from collections import defaultdict

import numpy as np

from command_line.measurements import Measured, numbers
from eval.derived.training_curves import Training, trainings_in
from eval.scoring.significance import holm

FEWEST = 3  # points: through two there is always a line
POINTS = {"all": "all checkpoints", "last": "last checkpoints, mean of each system"}


def llr_and_bleu(measured) -> Measured:
    """The correlations of all curves (`Measurements`): a run for each choice of points on each dataset."""
    rows: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for correlation in correlations(trainings_in(measured)):
        of = {"n": correlation["n"], "r": correlation["r"], "p_value": correlation["p_value"]}
        rows[correlation["dataset"], correlation["points"]] += numbers(
            of, part=correlation["question"], layer=correlation["layer"]
        )
    derived = Measured()
    for (dataset, which), of_points in rows.items():
        derived.add({"system": {"name": POINTS[which]}, "dataset": dataset}, of_points)
    return derived


def correlations(trainings: list[Training]) -> list[dict]:
    """Of every dataset, question, layer and choice of points that has `FEWEST` of them, which are not all the
    same; p-values corrected by Holm over all.
    """
    results = []
    for dataset in dict.fromkeys(training.dataset for training in trainings):
        results += _correlations(dataset, [training for training in trainings if training.dataset == dataset])
    tested = [correlation for correlation in results if correlation["p_value"] is not None]
    for correlation, corrected in zip(
        tested, holm([correlation["p_value"] for correlation in tested]), strict=True
    ):
        correlation["p_value"] = corrected
    return results


def _correlations(dataset: str, trainings: list[Training]) -> list[dict]:
    from scipy.stats import pearsonr

    results = []
    for question, layer in sorted({place for training in trainings for place in training.accuracy}):
        every = [(training.system, points(training, question, layer)) for training in trainings]
        chosen = {
            "all": [pair for _, pairs in every for pair in pairs if None not in pair],
            "last": last_of_systems(every),
        }
        for which, pairs in chosen.items():
            columns = np.array(pairs, dtype=float).T
            if len(pairs) >= FEWEST and np.ptp(columns, axis=1).all():
                result = pearsonr(*columns)
                results.append(
                    {
                        "dataset": dataset,
                        "question": question,
                        "layer": layer,
                        "points": which,
                        "n": len(pairs),
                        "r": float(result.statistic),
                        "p_value": float(result.pvalue) if which == "last" else None,
                    }
                )
    return results


def last_of_systems(trainings: list[tuple[str, list[tuple[float, float]]]]) -> list[tuple[float, float]]:
    """The mean over its seeds of every system's last points.

    Args:
        trainings: name of the system, and points of one of its trainings. Where the last lacks a number, it
            has none: an earlier one is of another time.
    """
    by_system: dict[str, list] = defaultdict(list)
    for name, pairs in trainings:
        by_system[name] += [pair for pair in pairs[-1:] if None not in pair]
    return [tuple(np.mean(pairs, axis=0)) for pairs in by_system.values() if pairs]


def points(training: Training, question: str, layer: str) -> list[tuple[float | None, float | None]]:
    """(accuracy, zero-shot BLEU) of the checkpoints in their order; None for what is not known."""
    unknown = [None] * len(training.updates)
    accuracy = training.accuracy.get((question, layer), unknown)
    return list(zip(accuracy, training.scores.get(("zero-shot", "bleu"), unknown), strict=True))
