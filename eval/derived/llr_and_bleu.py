"""Does layer-wise language recognition go with zero-shot translation during training? (thesis E.1)

Pearson's correlation of the accuracy in zero-shot directions with zero-shot BLEU: over all checkpoints, and
over systems by the last ones, where time does not make both rise.
"""

from collections import defaultdict

from command_line.measurements import Measured, numbers
from eval.scoring.significance import holm

ACCURACY = "accuracy"  # of layer-wise language recognition, among the rows of learning curves
FEWEST = 3  # points: through two there is always a line
POINTS = {"all": "all checkpoints", "last": "last checkpoints, mean of each system"}


def llr_and_bleu(measured) -> Measured:
    """The correlations of all curves (`Measurements`): a run for each choice of points on each dataset."""
    rows: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for correlation in correlations(measured.rows):
        values = {name: correlation[name] for name in ("n", "r", "p_value")}
        place = {"part": correlation["question"], "layer": correlation["layer"]}
        rows[correlation["dataset"], correlation["points"]] += numbers(values, **place)
    derived = Measured()
    for (dataset, which), of_points in rows.items():
        derived.add({"system": {"name": POINTS[which]}, "dataset": dataset}, of_points)
    return derived


def correlations(rows) -> list[dict]:
    """The correlations for every dataset, question, layer and choice of points that has `FEWEST` of them,
    which are not all the same. p-values are those of last points only, corrected by Holm over all.

    A last point that lacks a number is none: an earlier one is of another time.
    """
    from scipy.stats import pearsonr

    is_last = rows["update"] == rows.groupby("run")["update"].transform("max")
    bleu = rows[(rows.kind == "zero-shot") & (rows.measure == "bleu")].set_index(["run", "update"]).value
    points = (
        rows[rows.measure == ACCURACY]
        .assign(is_last=is_last)
        .join(bleu.rename("bleu"), on=["run", "update"], how="inner")
    )
    results = []
    for dataset in points.dataset.unique():
        for (question, layer), every in points[points.dataset == dataset].groupby(["part", "layer"]):
            last = every[every.is_last].groupby("system", sort=False)[["value", "bleu"]].mean()
            for which, pairs in {"all": every, "last": last}.items():
                if len(pairs) >= FEWEST and pairs.value.nunique() > 1 and pairs.bleu.nunique() > 1:
                    result = pearsonr(pairs.value, pairs.bleu)
                    results.append(
                        {"dataset": dataset, "question": question, "layer": layer, "points": which}
                        | {"n": len(pairs), "r": float(result.statistic)}
                        | {"p_value": float(result.pvalue) if which == "last" else None}
                    )
    tested = [result for result in results if result["p_value"] is not None]
    for result, corrected in zip(tested, holm([result["p_value"] for result in tested]), strict=True):
        result["p_value"] = corrected
    return results
