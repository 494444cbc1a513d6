"""Layer-wise language recognition, as Figures 8.2 and E.4 of the thesis (`eval probe llr`)."""

import re

from eval.labels import UNKNOWN
from eval.plots import lines
from eval.probes.runs import Runs, datasets_of, grouped, on, seed_of
from eval.report_parts import Figure, Section, Table, cell, cells, slug, tidy
from eval.result_set import ResultSet
from eval.results import field
from eval.systems import MeanStd

KINDS = {"supervised": "Supervised", "zero-shot": "Zero-shot"}
QUESTIONS = {"source": "source language", "target": "target language"}
SIDES = ("encoder", "decoder")
VARIANTS = {"all": "", "no-tags": ", without tags", "words": ", only words"}
NOTES = [
    "Accuracy of linear classifiers that recognize the source or the target language of a sentence from the"
    " state of one token in one layer, trained on the validation sets of the supervised directions. Layers"
    " are counted through encoder and decoder, before their final norms. Dotted: chance, one of as many"
    " languages. A classifier that always gives the most frequent language of its training tokens has the"
    " accuracy of the columns \"majority\"."
]  # fmt: skip


def section(results: ResultSet) -> Section:
    runs = [
        (path, with_variant(run))
        for path, record in results.of_kind("llr")
        for run in field(record, "runs", list, path)
    ]
    groups: Runs = grouped(runs)
    parts = [figure(on(groups, dataset), dataset) for dataset in datasets_of(groups)]
    return Section("Layer-wise language recognition", parts, NOTES)


def with_variant(run: dict) -> dict:
    """The run under a name that says what was left out: other tokens make a curve of its own."""
    name = run["system"]["name"] + VARIANTS[run["tokens"]]
    name += ", references" if run["forced"] == "reference" else ""
    return run | {"system": run["system"] | {"name": name}}


def layers_of(runs: list[dict]) -> list[str]:
    """All layers of the runs, from the bottom of the encoder to the top of the decoder."""
    longest = {side: max((run["layers"].get(side, []) for run in runs), key=len) for side in SIDES}
    return [*longest["encoder"], *longest["decoder"]]


def figure(series: dict[str, list[dict]], dataset: str) -> Figure:
    """Panels of supervised and zero-shot directions, source and target language; one curve per system."""
    every = [run for runs in series.values() for run in runs]
    layers = layers_of(every)
    shown = [layer for layer in layers if re.fullmatch(r"L[1-9]\d*", layer)]
    panels, chances, rows, rules = {}, {}, [], set()
    for kind, kind_title in KINDS.items():
        for question, question_title in QUESTIONS.items():
            curves = {}
            for name, runs in series.items():
                values = [accuracy(runs, kind, question, layer) for layer in layers]
                if any(values):
                    curves[name] = [values[layers.index(layer)] for layer in shown]
                    rows.append(row(kind_title, question, name, runs, values, kind))
            if curves:
                title = f"{kind_title}, {question_title}"
                panels[title] = curves
                chances[title] = {run["chance"][question] * 100 for run in every if question in run["chance"]}
                rules.add(len(rows))
    caption = (
        f"Layer-wise language recognition on {dataset}: accuracy in %, mean over directions and seeds; bands:"
        " standard deviation over seeds of the system, or of the classifiers where there is one system seed."
    )
    encoder = [layer for layer in shown if any(layer in run["layers"].get("encoder", []) for run in every)]
    png = lines(
        shown, panels, "accuracy %", columns=2, rules=[len(encoder)] if 0 < len(encoder) < len(shown) else [],
        levels={title: sorted(found) for title, found in chances.items()},
    )  # fmt: skip
    header = ["Directions", "Language", "System", "Seeds", "chance", "majority enc.", "majority dec."]
    table = Table(
        slug("llr", dataset), caption, [cells(*header, *layers)], rows, frozenset(rules - {len(rows)}),
        data(series, dataset),
    )  # fmt: skip
    return Figure(slug("llr", dataset), caption, png, table)


def accuracy(runs: list[dict], kind: str, question: str, layer: str) -> MeanStd | None:
    """In percent, over the system's seeds, each the mean over its classifiers; with one system seed, over the
    classifiers. None where a run lacks the kind, the question or the layer.
    """
    found = [run["averages"].get(kind, {}).get(question, {}).get(layer) for run in runs]
    if not all(found):
        return None
    per_run = [MeanStd.of(100 * value for value in values) for values in found]
    return per_run[0] if len(runs) == 1 else MeanStd.of(value.mean for value in per_run)


def row(kind_title: str, question: str, name: str, runs: list[dict], values: list, kind: str) -> list:
    first = runs[0]
    majority = [first["majority"][question].get(side, {}).get(kind) for side in SIDES]
    baselines = [first["chance"][question], *majority]
    seeds = ", ".join(seed_of(run, i) for i, run in enumerate(runs, 1))
    return [
        *cells(kind_title, question, name, seeds),
        *(UNKNOWN_CELL if one is None else cell(f"{100 * one:.1f}", value=100 * one) for one in baselines),
        *map(percent, values),
    ]


UNKNOWN_CELL = cell(UNKNOWN)


def percent(value: MeanStd | None):
    if value is None:
        return UNKNOWN_CELL
    return cell(
        f"{value.mean:.1f}" + (f" ± {value.std:.1f}" if value.std is not None else ""), value=value.mean
    )


def data(series: dict[str, list[dict]], dataset: str) -> list[list]:
    """One row per system, seed, direction, question and layer; accuracies from 0 to 1, over classifiers."""
    rows = []
    for name, runs in series.items():
        for i, run in enumerate(runs, 1):
            for direction, entry in run["directions"].items():
                for question, layers in entry["accuracy"].items():
                    for layer, values in layers.items():
                        found = MeanStd.of(values or [])
                        rows.append(
                            [
                                dataset, name, seed_of(run, i), entry["kind"], direction, question, layer,
                                found and found.mean, found and found.std, len(run["seeds"]),
                                run["chance"][question],
                            ]
                        )  # fmt: skip
    header = ["dataset", "system", "seed", "kind", "direction", "question", "layer", "accuracy"]
    return tidy([*header, "deviation", "classifier_seeds", "chance"], rows)
