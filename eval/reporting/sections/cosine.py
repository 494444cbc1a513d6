"""Cosine of parallel sentences per encoder layer, and its differences as in Figure 6.3 of the thesis."""

from eval.probes.parallel_cosine import differences
from eval.reporting.parts import Figure, Section, Table, cell, cells, slug, tidy
from eval.reporting.plots import signed_heatmap
from eval.reporting.sections.layers import KINDS, curves
from eval.results.result_set import ResultSet
from eval.results.runs import datasets_of, on, runs_of

NOTES = [
    "Cosine of the mean-pooled states of parallel sentences in two languages, per encoder layer. States of a"
    " layer may all point into one direction: compare by differences, not by the height."
]


def section(results: ResultSet) -> Section:
    groups = runs_of(results, "cosine")
    parts = [
        curves(
            "cosine", on(groups, dataset), dataset, "cosine", "cosine", "Cosine between parallel sentences."
        )
        for dataset in datasets_of(groups)
    ]
    parts += map(change, differences(groups))  # also between runs of different files
    return Section("Parallel sentences in the encoder", parts, NOTES)


def change(one: dict) -> Figure:
    """Pairs of languages by layers, the averages of each kind of pairs last."""
    members = [
        (f"{pair}", entry["kind"], entry["cosine"])
        for kind in KINDS
        for pair, entry in one["pairs"].items()
        if entry["kind"] == kind
    ]
    members += [
        (f"mean of {kind}", kind, one["averages"][kind]["cosine"])
        for kind in KINDS
        if kind in one["averages"]
    ]
    caption = (
        f"Change of the cosine between parallel sentences from {one['baseline']} to {one['system']} on"
        f" {one['dataset']}, mean over seeds."
    )
    name = slug("cosine_change", one["dataset"], one["baseline"], one["system"])
    png = signed_heatmap(
        [row[0] for row in members], one["layers"], [row[2] for row in members], "change of cosine"
    )
    rows = [
        [*cells(pair, kind), *(cell(f"{v:+.3f}", value=v) for v in values)] for pair, kind, values in members
    ]
    data = [
        [one["dataset"], one["baseline"], one["system"], entry["kind"], pair, layer, value]
        for pair, entry in one["pairs"].items()
        for layer, value in zip(one["layers"], entry["cosine"], strict=True)
    ]
    titles = ["dataset", "baseline", "system", "kind", "pair", "layer", "change"]
    table = Table(name, caption, [cells("Pair", "Kind", *one["layers"])], rows, data=tidy(titles, data))
    return Figure(name, caption, png, table)
