"""What encoders reach on benchmarks, a fraction: P@1 of retrieval by cosine, or F1 of mining; and published
numbers.

A benchmark is the dataset of the rows: "Tatoeba", "UN en-es" (a pair of languages), "BUCC, training" (the
mean of all pairs).
"""

import re
from dataclasses import replace
from functools import lru_cache

from command_line.measurements import read_rows
from eval.derived.retrieved import BY_NUMBER, COSINE, Retrieved
from eval.measurements import Measurements, as_table, joined, measured_by
from eval.result_set import ResultSet
from eval.systems import MeanStd, Run, System

BUCC = re.compile(r"BUCC \S+, (?P<part>.+)")
MINING = "mining"
REACHED = "reached"  # the measure
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


def _mean(title: str, of_pairs: list[Measurements]) -> Measurements:
    """Of runs of one encoder, the mean; several pairs are no seeds, so that there is no deviation."""
    reached = [reached_in(one) for one in of_pairs]
    systems, rows = [], []
    for system in of_pairs[0].systems:
        values = [of[system.name].mean / 100 for of in reached if system.name in of]
        if len(values) == len(of_pairs):
            number = int(of_pairs[0].rows[of_pairs[0].rows.system == system.name].run.iloc[0])
            systems.append(replace(system, dataset=title, runs=system.runs[:1]))
            rows.append(_row(number, title, system.name, sum(values) / len(values)))
    return Measurements(systems, as_table(rows))


def _row(run: int, dataset: str, system: str, value: float) -> dict:
    return {"run": run, "dataset": dataset, "system": system, "measure": REACHED, "value": value}


def reached_in(measured: Measurements) -> Reached:
    """What encoders reach on one benchmark."""
    return {name: mean for (name,), mean in measured.means(REACHED, scale=100).items()}


def columns(results: ResultSet) -> dict[str, Reached]:
    """Benchmark -> what is reached: pairs of languages, where they are few, before the whole benchmark."""
    found: dict[str, Reached] = {}
    for retrieved in Retrieved.of(results):
        measured = by_cosine(retrieved)
        for pair in sorted(retrieved.pairs) if 1 < len(retrieved.pairs) <= FEW_PAIRS else ():
            found[f"{retrieved.dataset} {pair}"] = reached_in(measured.where(pair=pair))
        found[retrieved.dataset] = reached_in(measured)
    of_pairs = mined(results)
    for mining in (of_pairs, means_of_bucc(of_pairs)):
        found |= {title: reached_in(measured) for title, measured in mining.by_dataset().items()}
    return found


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
