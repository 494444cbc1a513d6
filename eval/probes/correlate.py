"""Does better retrieval go with better translation? (thesis 5.3.3)

Pearson correlation between the change in BLEU and the change in P@1 from the first system to every other one,
with one point per pair of languages: BLEU is the mean of both directions, as P@1 is. Of several seeds, means
are taken. Systems are told apart by their names: give --name to `translate` and `probe states` alike.
"""

import statistics

import numpy as np

from command_line import options
from command_line.errors import InputError
from eval.results.files import SCORES, Scores, result_file
from eval.results.runs import Runs, runs_of
from eval.results.systems import System, group_systems

KIND = "correlation"
MEASURES = ("sentence", "sentence_in_batch", "word")
FEWEST = 3  # points: through two there is always a line


def add_arguments(parser) -> None:
    from eval.probes.findings import add_output_arguments

    parser.add_argument(
        "scores",
        nargs="+",
        type=options.path,
        metavar="OUT",
        help="scored folders of at least two systems, the baseline first",
    )
    parser.add_argument(
        "--retrieval",
        nargs="+",
        type=options.path,
        required=True,
        metavar="DIR",
        help="outputs of `eval probe retrieval`",
    )
    parser.add_argument("--measure", choices=MEASURES, default="sentence", help="which P@1")
    add_output_arguments(parser, KIND)


def main(args) -> None:
    from eval.probes.findings import publish
    from eval.reporting.sections import correlation
    from eval.results.result_set import ResultSet
    from eval.results.system_pairs import pairs_with_first

    files = [result_file(path, "retrieval.json") for path in args.retrieval]
    retrieval = runs_of(ResultSet.load(files, ["retrieval"]), "retrieval")
    scores = [Scores.load(result_file(path, SCORES)) for path in args.scores]
    pairs = pairs_with_first(group_systems(scores))
    publish(
        args,
        KIND,
        [*(one.path for one in scores), *files],
        correlation.section,
        lambda: {"correlations": [correlate(*pair[:2], retrieval, args.measure) for pair in pairs]},
    )


def correlate(baseline: System, system: System, retrieval: Runs, measure: str) -> dict:
    """Points and correlation of one system against its baseline: over all pairs of languages, and over those
    of a kind where these are enough.

    Raises:
        InputError: no retrieval of a system, too few pairs of languages, or a change that is always the same.
    """
    bleu = [bleu_of(one) for one in (baseline, system)]
    precision = [precision_of(one, retrieval, measure) for one in (baseline, system)]
    kinds = {pair: kind for pair, (kind, _) in precision[0].items()}
    common = [pair for pair in kinds if all(pair in values for values in (*bleu, precision[1]))]
    points = {
        pair: {
            "kind": kinds[pair],
            "bleu_change": bleu[1][pair] - bleu[0][pair],
            "precision_change": precision[1][pair][1] - precision[0][pair][1],
        }
        for pair in common
    }
    where = f"{system.name!r} against {baseline.name!r} on {baseline.dataset}"
    found = {"all": pearson(points.values(), where)}
    for kind in ("supervised", "zero-shot"):
        members = [point for point in points.values() if point["kind"] == kind]
        if FEWEST <= len(members) < len(points):
            found[kind] = pearson(members, f"{where}, {kind} pairs")
    return {
        "dataset": baseline.dataset,
        "baseline": baseline.name,
        "system": system.name,
        "measure": measure,
        "pairs": points,
        "pearson": found,
    }


def bleu_of(system: System) -> dict[str, float]:
    """Pair of languages -> BLEU, the mean over both directions and over seeds, where both were translated."""
    directions = set(system.directions())
    found = {}
    for source, target in (direction.split("-") for direction in sorted(directions)):
        back = f"{target}-{source}"
        if source < target and back in directions:
            values = system.scores(f"{source}-{target}", "bleu") + system.scores(back, "bleu")
            found[f"{source}-{target}"] = statistics.fmean(values)
    return found


def precision_of(system: System, retrieval: Runs, measure: str) -> dict[str, tuple[str, float]]:
    """Pair of languages -> its kind, and P@1 in percent on top of the encoder, mean over seeds."""
    runs = retrieval.get((system.dataset, system.name))
    if not runs:
        known = ", ".join(f"{name!r} on {dataset}" for dataset, name in retrieval)
        raise InputError(
            f"--retrieval: nothing of system {system.name!r} on {system.dataset}, only of {known}; give"
            " --name and --dataset to `eval translate` and `eval probe states` alike"
        )
    found = {}
    for pair, entry in runs[0]["pairs"].items():
        entries = [run["pairs"].get(pair, {}) for run in runs]
        if any(measure not in one for one in entries):
            hint = "; --words DATA measures it" if measure == "word" else ""
            raise InputError(f"--retrieval: no {measure!r} P@1 of {system.name!r} for {pair}{hint}")
        found[pair] = entry["kind"], 100 * statistics.fmean(np.ravel(one[measure])[-1] for one in entries)
    return found


def pearson(points, where: str) -> dict:
    """Number of points, correlation and its two-sided p-value.

    Args:
        points: with "bleu_change" and "precision_change".
        where: names them in errors.
    """
    from scipy.stats import pearsonr

    values = [[point[name] for point in points] for name in ("bleu_change", "precision_change")]
    if len(values[0]) < FEWEST:
        raise InputError(
            f"{where}: {len(values[0])} pairs of languages with BLEU in both directions and P@1, expected at"
            f" least {FEWEST}"
        )
    for title, one in zip(("BLEU", "P@1"), values, strict=True):
        if np.ptp(one) == 0:
            raise InputError(f"{where}: {title} changes by {one[0]:g} for every pair: no correlation")
    result = pearsonr(*values)
    return {"n": len(values[0]), "r": float(result.statistic), "p_value": float(result.pvalue)}
