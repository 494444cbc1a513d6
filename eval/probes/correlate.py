"""Does better retrieval go with better translation? (thesis 5.3.3)

Pearson correlation between the change in BLEU and the change in P@1 from the first system to every other one,
with one point per pair of languages: BLEU is the mean of both directions, as P@1 is. Of several seeds, means
are taken; beside them stands the correlation of each seed. Systems are told apart by their names: give --name
to `translate` and `probe states` alike.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import option, positional
from eval.checks import group_runs
from eval.measurements import Measurements
from eval.probes.pair_correlations import correlations
from eval.probes.parallel import OUTPUT
from eval.reporting.result_file import Written, publish
from eval.result_files import result_file
from eval.result_set import ResultSet
from eval.scored import SCORES, Scores
from eval.scoring.system_pairs import pairs_with_first
from eval.systems import System

KIND = "correlation"
MEASURES = ("sentence", "sentence_in_batch", "word")
PLACE = ["dataset", "system", "run", "direction"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    scores: list[Path] = positional(
        "scored folders of at least two systems, the baseline first", nargs="+", metavar="OUT"
    )
    retrieval: list[Path] = option("outputs of `eval probe retrieval`", required=True, metavar="DIR")
    measure: str = option("which P@1", "sentence", choices=MEASURES)
    written: Written


def main(options: Options) -> None:
    inputs = [*(result_file(path, SCORES) for path in options.scores), *retrieval_files(options)]
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def retrieval_files(options: Options) -> list[Path]:
    return [result_file(path, "retrieval.json") for path in options.retrieval]


def measure(options: Options) -> Measured:
    """One run for every system but the baseline. `part` is what was retrieved, `kind` a group of pairs."""
    retrieval = ResultSet.load(retrieval_files(options), ["retrieval"]).probed("retrieval")
    pairs = pairs_with_first(group_runs(Scores.load(result_file(path, SCORES)) for path in options.scores))
    scored = dict.fromkeys(system for pair in pairs for system in pair[:2])
    precision = precision_of([retrieved(system, retrieval) for system in scored], options.measure)
    measured = Measured()
    for baseline, system, *_ in pairs:
        rows = correlate(baseline, system, precision[precision.dataset == baseline.dataset])
        variant = f" against {baseline.name}, {options.measure.replace('_', ' ')}"
        run = {"system": {"name": system.name}, "variant": variant, "dataset": baseline.dataset}
        measured.add(run, [row | {"part": options.measure} for row in rows])
    return measured


def retrieved(system: System, retrieval: list[System]) -> System:
    """What was retrieved of the checkpoints that were scored.

    Raises:
        InputError: nothing of this system, or of other trainings.
    """
    for other in retrieval:
        if (other.dataset, other.name) == (system.dataset, system.name):
            check_same_trainings(system, other)
            return other
    there = ", ".join(f"{other.name!r} on {other.dataset}" for other in retrieval)
    raise InputError(
        f"--retrieval: nothing of system {system.name!r} on {system.dataset}, only of {there}; give --name"
        " and --dataset to `eval translate` and `eval probe states` alike"
    )


def check_same_trainings(scored: System, retrieved: System) -> None:
    """BLEU and P@1 are of the same checkpoints, as far as these are known."""
    if scored.seeds != retrieved.seeds:
        seeds = [", ".join(map(str, system.run_labels)) for system in (retrieved, scored)]
        raise InputError(
            f"--retrieval: {scored.name!r} on {scored.dataset} has seeds {seeds[0]}, but scores of"
            f" {seeds[1]}; expected the same trainings"
        )
    for run, other in zip(scored.runs, retrieved.runs, strict=True):
        checksums = [each.value("checkpoint", "sha256") for each in (run, other)]
        if None not in checksums and checksums[0] != checksums[1]:
            raise InputError(f"{other.path}: is of another checkpoint than {run.path}; probe that one again")


def precision_of(systems: list[System], measure: str) -> pd.DataFrame:
    """Rows of P@1 on top of the encoder.

    Raises:
        InputError: systems were measured in different ways, or a pair of languages has no such P@1.
    """
    every = Measurements.of(systems)
    rows = every.where(measure=measure, layer=OUTPUT).rows
    missing = every.rows[~every.rows.set_index(PLACE).index.isin(rows.set_index(PLACE).index)]
    if len(missing):
        hint = "; --words DATA measures it" if measure == "word" else ""
        raise InputError(
            f"--retrieval: no {measure!r} P@1 of {missing.system.iloc[0]!r} for"
            f" {missing.direction.iloc[0]}{hint}"
        )
    return rows


def correlate(baseline: System, system: System, precision: pd.DataFrame) -> list[dict]:
    """Changes and correlations of one system against its baseline: of means over seeds, and seed by seed.

    Raises:
        InputError: too few pairs of languages, or a change that is always the same.
    """
    points = points_of(baseline, system, precision)
    by_group = correlations(points, f"{system.name!r} against {baseline.name!r} on {baseline.dataset}")
    rows = [
        row
        for pair, point in points.items()
        for row in numbers(
            {name: point[name] for name in ("precision_change", "bleu_change")},
            kind=point["kind"],
            direction=pair,
        )
    ]
    for group, correlation in by_group.items():
        rows += numbers(correlation, kind=group)
    for seed in sorted(set(baseline.seeds) & set(system.seeds) - {None}):
        of_seed = [each.only(lambda run, seed=seed: run.seed == seed) for each in (baseline, system)]
        try:
            by_group = correlations(points_of(*of_seed, precision[precision.seed == seed]), "")
        except InputError:  # a change that is always the same: no correlation of this seed
            continue
        for group, correlation in by_group.items():
            rows += numbers({"r_of_seed": correlation["r"]}, kind=group, repeat=seed)
    return rows


def points_of(baseline: System, system: System, precision: pd.DataFrame) -> dict[str, dict]:
    """Pair of languages -> its kind, and its changes in BLEU and in P@1 in percent, of means over seeds."""
    bleu = [bleu_of(each) for each in (baseline, system)]
    means = 100 * precision.groupby(["system", "direction"]).value.mean()
    of_baseline = precision[precision.system == baseline.name]
    return {
        pair: {
            "kind": kind,
            "bleu_change": bleu[1][pair] - bleu[0][pair],
            "precision_change": means[system.name, pair] - means[baseline.name, pair],
        }
        for pair, kind in dict(zip(of_baseline.direction, of_baseline.kind, strict=True)).items()
        if all(pair in values for values in bleu)
    }


def bleu_of(system: System) -> dict[str, float]:
    """Pair of languages -> BLEU, the mean over both directions and over seeds, where both were translated."""
    means = Measurements.of([system]).means("bleu", ("direction",))
    bleu = {direction: mean.mean for (_, direction), mean in means.items()}
    by_pair = {}
    for source, target in (direction.split("-") for direction in sorted(bleu)):
        way, back = f"{source}-{target}", f"{target}-{source}"
        if source < target and back in bleu:
            by_pair[way] = statistics.fmean([bleu[way], bleu[back]])
    return by_pair
