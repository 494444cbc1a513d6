"""Does better retrieval go with better translation? (thesis 5.3.3)

Pearson correlation between the change in BLEU and the change in P@1 from the first system to every other one,
with one point per pair of languages: BLEU is the mean of both directions, as P@1 is. Of several seeds, means
are taken. Systems are told apart by their names: give --name to `translate` and `probe states` alike.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from eval.reporting.exhibits import Figure, Section, Table, cells, number_cell, slug, tidy
from eval.reporting.plots import scatter
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import result_file
from eval.results.result_set import ResultSet
from eval.results.scores import SCORES, Scores, group_scores
from eval.results.system_pairs import pairs_with_first
from eval.results.systems import System

KIND = "correlation"
FEWEST = 3  # points: through two there is always a line
NOTES = [
    "One point per pair of languages: the change in BLEU (mean of both directions) and in P@1 on top of the"
    " encoder between two systems. r: Pearson's correlation, p: two-sided, n: number of pairs."
]
MEASURES = {
    "sentence": "sentence retrieval P@1",
    "sentence_in_batch": "sentence retrieval P@1 within batches",
    "word": "word retrieval P@1",
}


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        scores: scored folders of at least two systems, the baseline first.
        retrieval: outputs of `eval probe retrieval`.
        measure: which P@1.
    """

    scores: list[Path]
    retrieval: list[Path]
    measure: str = "sentence"


def add_arguments(parser) -> None:
    parser.add_argument(
        "scores",
        nargs="+",
        type=types.path,
        metavar="OUT",
        help="scored folders of at least two systems, the baseline first",
    )
    parser.add_argument(
        "--retrieval",
        nargs="+",
        type=types.path,
        required=True,
        metavar="DIR",
        help="outputs of `eval probe retrieval`",
    )
    parser.add_argument("--measure", choices=MEASURES, default="sentence", help="which P@1")
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    inputs = [*(result_file(path, SCORES) for path in options.scores), *retrieval_files(options)]
    publish(KIND, options, inputs, lambda: measure(options), section, args.output, args.force)


def retrieval_files(options: Options) -> list[Path]:
    return [result_file(path, "retrieval.json") for path in options.retrieval]


def measure(options: Options) -> dict:
    """One correlation for every system but the baseline."""
    retrieval = ResultSet.load(retrieval_files(options), ["retrieval"]).probed("retrieval")
    pairs = pairs_with_first(group_scores(Scores.load(result_file(path, SCORES)) for path in options.scores))
    return {"correlations": [correlate(*pair[:2], retrieval, options.measure) for pair in pairs]}


def correlate(baseline: System, system: System, retrieval: list[System], measure: str) -> dict:
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
            values = [
                one
                for way in (f"{source}-{target}", back)
                for one in system.values("directions", way, "bleu")
            ]
            found[f"{source}-{target}"] = statistics.fmean(values)
    return found


def precision_of(system: System, retrieval: list[System], measure: str) -> dict[str, tuple[str, float]]:
    """Pair of languages -> its kind, and P@1 in percent on top of the encoder, mean over seeds."""
    probed = [one for one in retrieval if (one.dataset, one.name) == (system.dataset, system.name)]
    if not probed:
        known = ", ".join(f"{one.name!r} on {one.dataset}" for one in retrieval)
        raise InputError(
            f"--retrieval: nothing of system {system.name!r} on {system.dataset}, only of {known}; give"
            " --name and --dataset to `eval translate` and `eval probe states` alike"
        )
    found = {}
    for pair, entry in probed[0].records[0]["pairs"].items():
        values = probed[0].values("pairs", pair, measure)
        if None in values:
            hint = "; --words DATA measures it" if measure == "word" else ""
            raise InputError(f"--retrieval: no {measure!r} P@1 of {system.name!r} for {pair}{hint}")
        found[pair] = entry["kind"], 100 * statistics.fmean(np.ravel(one)[-1] for one in values)
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


# --- the section of the report


def section(results: ResultSet) -> Section:
    groups: dict[tuple, list[dict]] = {}
    for _, record in results.of_kind(KIND):
        for one in record["correlations"]:
            groups.setdefault((one["dataset"], one["measure"], one["baseline"]), []).append(one)
    return Section("Retrieval and translation quality", [figure(*key, g) for key, g in groups.items()], NOTES)


def figure(dataset: str, measure: str, baseline: str, correlations: list[dict]) -> Figure:
    """Scatter plot of all systems that were compared with one baseline."""
    series = {
        f"{one['system']}: {shown(one['pearson']['all'])}": [
            (point["precision_change"], point["bleu_change"], pair) for pair, point in one["pairs"].items()
        ]
        for one in correlations
    }
    caption = f"Changes from {baseline} on {dataset}: BLEU against {MEASURES[measure]}, in points."
    name = slug("correlation", measure, dataset, baseline)
    png = scatter(series, f"change in {MEASURES[measure]}", "change in BLEU")
    rows, data = [], []
    for one in correlations:
        for group, found in one["pearson"].items():
            numbers = [number_cell(found["r"], ".2f"), number_cell(found["p_value"], ".3f")]
            rows.append([*cells(one["system"], f"r, p of {group} pairs ({found['n']})"), *numbers])
        for pair, point in one["pairs"].items():
            values = [point["precision_change"], point["bleu_change"]]
            rows.append([*cells(one["system"], pair), *(number_cell(value, "+.2f") for value in values)])
            data.append([dataset, baseline, one["system"], point["kind"], pair, *values])
    titles = ["dataset", "baseline", "system", "kind", "pair", "precision_change", "bleu_change"]
    header = [cells("System", "Pair", "P@1 change (or r)", "BLEU change (or p)")]
    return Figure(name, caption, png, Table(name, caption, header, rows, data=tidy(titles, data)))


def shown(found: dict) -> str:
    return f"r = {found['r']:.2f}, p = {found['p_value']:.3f}, n = {found['n']}"
