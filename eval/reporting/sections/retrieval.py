"""Sentence and word retrieval P@1 in the encoder, Tables C.4 to C.9 of the thesis (`probe retrieval`)."""

from eval.reporting.parts import Figure, Section, Table, cell, cells, slug, tidy
from eval.reporting.plots import dots
from eval.reporting.sections.layers import KINDS, curves
from eval.results.labels import UNKNOWN
from eval.results.result_set import ResultSet
from eval.results.runs import datasets_of, on, runs_of, seed_of
from eval.results.systems import MeanStd

NOTES = [
    "P@1: how often the nearest sentence (or word) of the other language, by the cosine of encoder states, is"
    " the translation (or an aligned word); average of both directions. A sentence is the mean of its tokens."
]
SENTENCES = {
    "sentence": ("P@1", "Sentence retrieval from the whole set, P@1 per encoder layer."),
    "sentence_in_batch": ("P@1 in batches", "Sentence retrieval within batches, P@1 per encoder layer."),
}
TOP = {
    "sentence": "Sentence retrieval P@1 on top of the encoder",
    "sentence_in_batch": "Sentence retrieval P@1 within batches on top of the encoder",
    "word": "Word retrieval P@1 within batches on top of the encoder",
}


def section(results: ResultSet) -> Section:
    groups = runs_of(results, "retrieval")
    parts = []
    for dataset in datasets_of(groups):
        systems = on(groups, dataset)
        parts += [
            curves("retrieval", systems, dataset, measure, *titles) for measure, titles in SENTENCES.items()
        ]
        for measure, title in TOP.items():
            with_measure = {
                system: runs
                for system, runs in systems.items()
                if all(measure in entry for run in runs for entry in run["pairs"].values())
            }
            if with_measure:
                parts.append(per_pair(with_measure, dataset, measure, title))
    return Section("Retrieval in the encoder", parts, NOTES)


def at_the_top(value) -> float:
    """Of a list of one number per layer the last, which is the encoder's output."""
    return value[-1] if isinstance(value, list) else value


def per_pair(systems: dict[str, list[dict]], dataset: str, measure: str, title: str) -> Figure:
    """Rows: pairs of languages and their averages; columns: systems, in percent."""
    pairs = {
        name: entry["kind"]
        for runs in systems.values()
        for run in runs
        for name, entry in run["pairs"].items()
    }
    ordered = sorted(pairs, key=lambda name: (list(KINDS).index(pairs[name]), name))
    values = {
        system: [pair_value(runs, name, measure) for name in ordered] for system, runs in systems.items()
    }
    rule = sum(kind == "supervised" for kind in pairs.values())
    rows = [
        [*cells(name, pairs[name]), *(percent(values[system][i]) for system in systems)]
        for i, name in enumerate(ordered)
    ]
    rules = {rule} if 0 < rule < len(ordered) else set()
    for kind in KINDS:
        if kind in pairs.values():
            rules |= {len(rows)}
            rows.append(
                [*cells("Avg.", kind), *(percent(average(runs, kind, measure)) for runs in systems.values())]
            )
    caption = (
        f"{title}, on {dataset}, in percent; mean over seeds, error bars: standard deviation over seeds."
    )
    name = slug("retrieval", measure, dataset)
    png = dots(ordered, values, "P@1 in %", [rule] if 0 < rule < len(ordered) else [])
    data = [
        [dataset, system, seed_of(run, i), entry["kind"], pair, at_the_top(entry[measure])]
        for system, runs in systems.items()
        for i, run in enumerate(runs, 1)
        for pair, entry in run["pairs"].items()
    ]
    header = [cells("Pair", "Kind", *systems)]
    titles = ["dataset", "system", "seed", "kind", "pair", measure]
    return Figure(
        name, caption, png, Table(name, caption, header, rows, frozenset(rules), tidy(titles, data))
    )


def pair_value(runs: list[dict], pair: str, measure: str) -> MeanStd | None:
    """Mean over seeds, in percent; None where a run does not have the pair."""
    found = [run["pairs"].get(pair) for run in runs]
    return MeanStd.of(entry and 100 * at_the_top(entry[measure]) for entry in found)


def average(runs: list[dict], kind: str, measure: str) -> MeanStd | None:
    found = [run["averages"].get(kind) for run in runs]
    return MeanStd.of(entry and 100 * at_the_top(entry[measure]) for entry in found)


def percent(value: MeanStd | None):
    if value is None:
        return cell(UNKNOWN)
    return cell(
        f"{value.mean:.1f}" + (f" ± {value.std:.1f}" if value.std is not None else ""), value=value.mean
    )
