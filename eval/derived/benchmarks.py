"""What encoders reach on benchmarks, a fraction: P@1 of retrieval by cosine, or F1 of mining; and published
numbers.

A benchmark is the dataset of the rows: "Tatoeba", "UN en-es" (a pair of languages), "BUCC, training" (the
mean of all pairs).
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import pandas as pd

from command_line.measurements import Measured, numbers, read_rows
from eval.derived.retrieved import BY_NUMBER, COSINE, Retrieved
from eval.measurements import Measurements, as_table, joined, measured_by
from eval.result_set import RETRIEVAL, ResultSet
from eval.systems import MeanStd, Run, System

BUCC = re.compile(r"BUCC \S+, (?P<part>.+)")
MINING = "mining"
REACHED = "reached"  # the measure
SIZES = (
    "languages",
    "layers",
    "state_width",
    "ffn_width",
    "heads",
    "parameters",
    "layer_parameters",
    "width",
)
SPEED = "encoding-speed"
SEED = re.compile(r"-seed\d+$")  # ends the names of what recipes time
FEW_PAIRS = 6  # of a benchmark whose pairs have columns of their own, as UN's

Reached = dict[str, MeanStd]  # by the name of an encoder, in percent


def by_cosine(retrieved: Retrieved) -> Measurements:
    """P@1 of encoders on one test set."""
    rows = retrieved.rows()
    return Measurements(retrieved.systems, rows[rows.part == COSINE].assign(measure=REACHED))


def mined(results: ResultSet) -> Measurements:
    """F1 on every pair of languages."""
    measured = measured_by(results, MINING, False).where(measure="f1")
    return Measurements(measured.systems, measured.rows.assign(measure=REACHED))


def means_of_bucc(of_pairs: Measurements) -> Measurements:
    """The mean of all pairs of languages of each part that has several, of the encoders that have all."""
    parts: dict[str, list[Measurements]] = {}
    for dataset, measured in of_pairs.by_dataset().items():
        if match := BUCC.fullmatch(dataset):
            parts.setdefault(f"BUCC, {match['part']}", []).append(measured)
    return joined(_mean(title, measured) for title, measured in parts.items() if len(measured) > 1)


def mined_shown(results: ResultSet) -> Measurements:
    """The means over all pairs; every pair where there are no such means."""
    of_pairs = mined(results)
    means = means_of_bucc(of_pairs)
    return means if means.systems else of_pairs


def _mean(title: str, of_pairs: list[Measurements]) -> Measurements:
    """The mean over runs of one encoder; several pairs are no seeds, so there is no deviation."""
    reached = [reached_in(measured) for measured in of_pairs]
    systems, rows = [], []
    for system in of_pairs[0].systems:
        values = [of_pair[system.name].mean / 100 for of_pair in reached if system.name in of_pair]
        if len(values) == len(of_pairs):
            row = {"run": len(rows), "dataset": title, "system": system.name, "measure": REACHED}
            systems.append(replace(system, dataset=title, runs=system.runs[:1]))
            rows.append(row | {"value": sum(values) / len(values)})
    return Measurements(systems, as_table(rows))


def reached_in(measured: Measurements) -> Reached:
    """What encoders reach on one benchmark."""
    return {name: mean for (name,), mean in measured.means(REACHED, scale=100).items()}


@lru_cache(maxsize=1)
def published(results: ResultSet) -> Measurements:
    """What the file of published rows has besides whole tables: results by cosine, F1 of mining, and sizes of
    encoders, whose dataset is "encoder".
    """
    reference = results.reference
    systems: dict[tuple[str, str], System] = {}
    rows = []
    for row in read_rows(reference) if reference else ():
        if row["group"]:
            continue
        is_result = row["measure"] in (BY_NUMBER, "f1")
        dataset, name = f"{row['dataset']} {row['direction'] or ''}".strip(), row["system"]
        run = Run(reference, {"system": {"name": name}, "dataset": dataset}, number=row["run"])
        systems.setdefault((dataset, name), System(name, dataset, (run,)))
        rows.append(row | {"dataset": dataset} | ({"measure": REACHED} if is_result else {}))
    return Measurements(list(systems.values()), as_table(rows))


def reached_on(results: ResultSet) -> dict[str, dict[str, list[float]]]:
    """Benchmark -> encoder -> what each of its runs reaches; pairs of languages, where they are few, before
    the whole benchmark.
    """
    reached: dict[str, dict[str, list[float]]] = {}
    for retrieved in Retrieved.of(results):
        measured = by_cosine(retrieved)
        for pair in sorted(retrieved.pairs) if 1 < len(retrieved.pairs) <= FEW_PAIRS else ():
            reached[f"{retrieved.dataset} {pair}"] = measured.of_runs(REACHED, pair=pair)
        reached[retrieved.dataset] = measured.of_runs(REACHED)
    of_pairs = mined(results)
    for mining in (of_pairs, means_of_bucc(of_pairs)):
        reached |= {title: measured.of_runs(REACHED) for title, measured in mining.by_dataset().items()}
    return reached


def are_sizes_known(results: ResultSet) -> bool:
    """Whether sizes of any encoder were measured."""
    return "width" in set(measured_by(results, RETRIEVAL, False).rows.measure)


def by_size(results: ResultSet) -> Measurements:
    """Encoders whose sizes are known: these, their speed, and what they reach on every benchmark, which is
    the `group`; seeds are repetitions.
    """
    if not are_sizes_known(results):
        return joined([])
    speeds: dict[str, list[float]] = {}
    for measured in measured_by(results, SPEED, False).by_dataset().values():
        for (name,), mean in measured.means("lines_per_second").items():
            speeds.setdefault(SEED.sub("", name), []).append(mean.mean)
    ours = joined(test.measured for test in Retrieved.of(results))
    encoders = dict.fromkeys(system.name for system in ours.systems)
    return _by_size(encoders, ours.rows, reached_on(results), speeds)


def published_by_size(results: ResultSet) -> Measurements:
    """The same of published encoders, on the benchmarks of ours."""
    if not are_sizes_known(results):
        return joined([])
    theirs = published(results).by_dataset()
    of_ours = {title: theirs.get(title.partition(",")[0]) for title in reached_on(results)}
    reached = {title: measured.of_runs(REACHED) for title, measured in of_ours.items() if measured}
    sizes = theirs["encoder"].rows if reached and "encoder" in theirs else as_table([])
    encoders = dict.fromkeys([*sizes.system, *(name for of in reached.values() for name in of)])
    return _by_size(encoders, sizes, reached, {})


def _by_size(
    encoders: Iterable[str],
    rows: pd.DataFrame,
    reached: dict[str, dict[str, list[float]]],
    speeds: dict[str, list[float]],
) -> Measurements:
    """The sizes of encoders, what they reach by benchmark, and lines per second."""
    sizes: dict[str, dict[str, float]] = {}
    for row in rows[rows.measure.isin(SIZES)].itertuples():
        sizes.setdefault(row.system, {})[row.measure] = row.value
    measured = Measured()
    for name in encoders:
        of_encoder = numbers(sizes.get(name, {}))
        of_encoder += _repeated("lines_per_second", speeds.get(name, []))
        for benchmark, values in reached.items():
            of_encoder += _repeated(REACHED, values.get(name, []), group=benchmark)
        measured.add({"system": {"name": name}, "dataset": "every benchmark"}, of_encoder)
    derived = Measurements.derived(measured)
    places = {benchmark: place for place, benchmark in enumerate(reached)}
    places = derived.rows.group.map(places).fillna(len(places))  # sizes and speed, of no benchmark
    return Measurements(derived.systems, derived.rows.iloc[places.argsort(kind="stable")])


def _repeated(measure: str, values: list[float], **place: str) -> list[dict]:
    return [
        {"measure": measure, "value": value, "repeat": number, **place} for number, value in enumerate(values)
    ]


def against_sizes(results: ResultSet) -> Measurements:
    """P@1 of every test set beside the sizes of its encoders."""
    return joined(
        Measurements(test.systems, pd.concat([by_cosine(test).rows, test.measured.rows]))
        for test in Retrieved.of(results)
    )
