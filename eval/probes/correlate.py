"""Does better retrieval go with better translation? (thesis 5.3.3)

Pearson correlation between the change in BLEU and the change in P@1 from the first system to every other one,
with one point per pair of languages: BLEU is the mean of both directions, as P@1 is. Of several seeds, means
are taken; beside them stands the correlation of each seed. Systems are told apart by their names: give --name
to `translate` and `probe states` alike.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from eval.probes.pair_correlations import WITHIN_KINDS, correlations
from eval.reporting.exhibits import Figure, Section, Table, cell, cells, number_cell, slug, tidy
from eval.reporting.plots import scatter
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import result_file
from eval.results.result_set import ResultSet
from eval.results.scores import SCORES, Scores, group_scores
from eval.results.system_pairs import check_equal, pairs_with_first
from eval.results.systems import MEASURED_WITH, UNKNOWN, Run, System

KIND = "correlation"
NOTES = [
    "One point per pair of languages: the change in BLEU (mean of both directions) and in P@1 on top of the"
    " encoder between two systems. r: Pearson's correlation, p: two-sided, n: number of pairs.",
    "In brackets the 95% interval for independent pairs; pairs share languages, and the second one is that of"
    " a bootstrap that draws languages. Within kinds: of deviations from the mean of supervised and of"
    " zero-shot pairs, which differ for other reasons, too.",
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
    publish(KIND, options, inputs, lambda: measure(options), args)


def retrieval_files(options: Options) -> list[Path]:
    return [result_file(path, "retrieval.json") for path in options.retrieval]


def measure(options: Options) -> dict:
    """One correlation for every system but the baseline."""
    retrieval = ResultSet.load(retrieval_files(options), ["retrieval"]).probed("retrieval")
    pairs = pairs_with_first(group_scores(Scores.load(result_file(path, SCORES)) for path in options.scores))
    return {"correlations": [correlate(*pair[:2], retrieval, options.measure) for pair in pairs]}


def correlate(baseline: System, system: System, retrieval: list[System], measure: str) -> dict:
    """Points and correlations of one system against its baseline: of means over seeds, and seed by seed.

    Raises:
        InputError: no retrieval of a system, or of other trainings than those that were scored, or measured
            in another way than that of the other one, too few pairs of languages, or a change that is always
            the same.
    """
    measured = [probed(one, retrieval) for one in (baseline, system)]
    for one, retrieved in zip((baseline, system), measured, strict=True):
        check_same_trainings(one, retrieved)
    check_measured_alike(*(one.runs[0] for one in measured))
    points = points_of(baseline, system, retrieval, measure)
    where = f"{system.name!r} against {baseline.name!r} on {baseline.dataset}"
    return {
        "dataset": baseline.dataset,
        "baseline": baseline.name,
        "system": system.name,
        "measure": measure,
        "pairs": points,
        "pearson": correlations(points, where),
        "by_seed": by_seed(baseline, system, retrieval, measure),
    }


def check_same_trainings(scored: System, retrieved: System) -> None:
    """BLEU and P@1 are of the same checkpoints, as far as these are known."""
    if scored.seeds != retrieved.seeds:
        seeds = [", ".join(map(str, one.run_labels)) for one in (retrieved, scored)]
        raise InputError(
            f"--retrieval: {scored.name!r} on {scored.dataset} has seeds {seeds[0]}, but scores of"
            f" {seeds[1]}; expected the same trainings"
        )
    for one, other in zip(scored.runs, retrieved.runs, strict=True):
        checksums = [run.value("checkpoint", "sha256") for run in (one, other)]
        if None not in checksums and checksums[0] != checksums[1]:
            raise InputError(f"{other.path}: is of another checkpoint than {one.path}; probe that one again")


def check_measured_alike(first: Run, run: Run) -> None:
    """P@1 of both systems is of the same sentences, and among as many, as far as the results say."""
    for name in MEASURED_WITH:
        _check_known(name, first, run, name)
    for pair in first.record["pairs"]:
        _check_known(f"pairs.{pair}.lines", first, run, "pairs", pair, "lines")


def _check_known(what: str, first: Run, run: Run, *keys: str) -> None:
    values = [one.value(*keys) for one in (first, run)]
    if None not in values:
        check_equal(what, first, run, *values)


def by_seed(baseline: System, system: System, retrieval: list[System], measure: str) -> dict[str, dict]:
    """Seed -> group of pairs -> r, for seeds of which everything was measured; null where a change is always
    the same.
    """
    known = [one for one in retrieval if one.dataset == baseline.dataset]
    known = [[one for one in known if one.name == name] for name in (baseline.name, system.name)]
    seeds = set(baseline.seeds) & set(system.seeds) - {None}
    for systems in known:
        seeds &= {seed for one in systems for seed in one.seeds}
    found = {}
    for seed in sorted(seeds):
        of_seed = [_only(one, seed) for one in (baseline, system, *(one for group in known for one in group))]
        points = points_of(*of_seed[:2], of_seed[2:], measure)
        try:
            found[str(seed)] = {name: one["r"] for name, one in correlations(points, "").items()}
        except InputError:
            kinds = sorted({point["kind"] for point in points.values()})
            found[str(seed)] = dict.fromkeys(["all", WITHIN_KINDS, *kinds])
    return found


def _only(system: System, seed: int) -> System:
    return system.only(lambda run: run.seed == seed)


def points_of(baseline: System, system: System, retrieval: list[System], measure: str) -> dict[str, dict]:
    """Pair of languages -> its kind, and its changes in BLEU and P@1."""
    bleu = [bleu_of(one) for one in (baseline, system)]
    precision = [precision_of(one, retrieval, measure) for one in (baseline, system)]
    kinds = {pair: kind for pair, (kind, _) in precision[0].items()}
    common = [pair for pair in kinds if all(pair in values for values in (*bleu, precision[1]))]
    return {
        pair: {
            "kind": kinds[pair],
            "bleu_change": bleu[1][pair] - bleu[0][pair],
            "precision_change": precision[1][pair][1] - precision[0][pair][1],
        }
        for pair in common
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


def probed(system: System, retrieval: list[System]) -> System:
    """What was retrieved of a system that was scored."""
    for one in retrieval:
        if (one.dataset, one.name) == (system.dataset, system.name):
            return one
    known = ", ".join(f"{one.name!r} on {one.dataset}" for one in retrieval)
    raise InputError(
        f"--retrieval: nothing of system {system.name!r} on {system.dataset}, only of {known}; give --name"
        " and --dataset to `eval translate` and `eval probe states` alike"
    )


def precision_of(system: System, retrieval: list[System], measure: str) -> dict[str, tuple[str, float]]:
    """Pair of languages -> its kind, and P@1 in percent on top of the encoder, mean over seeds."""
    measured, found = probed(system, retrieval), {}
    for pair, entry in measured.records[0]["pairs"].items():
        values = measured.values("pairs", pair, measure)
        if None in values:
            hint = "; --words DATA measures it" if measure == "word" else ""
            raise InputError(f"--retrieval: no {measure!r} P@1 of {system.name!r} for {pair}{hint}")
        found[pair] = entry["kind"], 100 * statistics.fmean(np.ravel(one)[-1] for one in values)
    return found


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
            r = cell(UNKNOWN) if found["r"] is None else cell(with_intervals(found), value=found["r"])
            numbers = [r, number_cell(found["p_value"], ".3f")]
            rows.append([*cells(one["system"], f"r, p of {named(group)} ({found['n']})"), *numbers])
        for pair, point in one["pairs"].items():
            values = [point["precision_change"], point["bleu_change"]]
            rows.append([*cells(one["system"], pair), *(number_cell(value, "+.2f") for value in values)])
            data.append([dataset, baseline, one["system"], point["kind"], pair, *values])
    titles = ["dataset", "baseline", "system", "kind", "pair", "precision_change", "bleu_change"]
    header = [cells("System", "Pair", "P@1 change (or r)", "BLEU change (or p)")]
    return Figure(name, caption, png, Table(name, caption, header, rows, data=tidy(titles, data)))


def named(group: str) -> str:
    return f"all pairs, {group}" if group == WITHIN_KINDS else f"{group} pairs"


def with_intervals(found: dict) -> str:
    """r, the interval for independent pairs, and that of drawn languages, where there are any."""
    bounds = [[found.get(f"{start}{end}") for end in ("low", "high")] for start in ("", "language_")]
    shown = ["–" if None in pair else "[{:.2f}, {:.2f}]".format(*pair) for pair in bounds]
    return f"{found['r']:.2f} {shown[0]}; languages {shown[1]}"


def shown(found: dict) -> str:
    return f"r = {found['r']:.2f}, p = {found['p_value']:.3f}, n = {found['n']}"
