"""Cosine between parallel sentences in every encoder layer, and its change between systems (thesis 6.4.5).

A sentence is the mean of its states in a layer, as in Figure 6.3. With several systems, differences of the
first one to every other are given too, and of every other one to the next: how the second training, loss or
normalization moved the languages together or apart, and what a third one changed then. The thesis does this
for a decoder-only model, whose layers all see the source; of translation models it is the encoder.
"""

from itertools import pairwise

import numpy as np

from command_line.errors import InputError
from command_line.option_classes import from_arguments
from data_prep.formats.vectors import normalized
from eval.probes.layer_curves import KINDS, curves
from eval.probes.parallel import StoreOptions, add_store_arguments, averages, index_files, layerwise
from eval.reporting.exhibits import Figure, Section, Table, cells, number_cell, slug, tidy
from eval.reporting.plots import signed_heatmap
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.result_set import ResultSet
from eval.results.systems import Run, System, by_dataset, group_runs

KIND = "cosine"
NOTES = [
    "Cosine of the mean-pooled states of parallel sentences in two languages, per encoder layer. States of a"
    " layer may all point into one direction: compare by differences, not by the height."
]


def add_arguments(parser) -> None:
    add_store_arguments(parser)
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(StoreOptions, args)
    inputs = index_files(options.states)
    publish(KIND, options, inputs, lambda: measure(options), section, args.output, args.force)


def measure(options: StoreOptions) -> dict:
    """The runs, and the differences between their systems.

    Raises:
        InputError: systems on the same dataset have other pairs, numbers of sentences, or layers.
    """
    runs = [layerwise(folder, options, normalized, compare, KIND) for folder in options.states]
    systems = group_runs(map(Run, options.states, runs))
    for members in by_dataset(systems).values():
        first, *others = (run for system in members for run in system.records)
        for run in others:
            if mismatch := mismatch_of(first, run):
                raise InputError(mismatch)
    return {"runs": runs, "differences": differences(systems)}


def compare(pair, first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    return {"cosine": parallel_cosine(first, second)}


def parallel_cosine(first: np.ndarray, second: np.ndarray) -> float:
    """Mean cosine between rows i of both sides (thesis 6.4.5), from -1 to 1."""
    return float(np.einsum("ij,ij->i", normalized(first), normalized(second)).mean())


def differences(systems: list[System]) -> list[dict]:
    """Means over the seeds of every further system minus those of the first one on the same dataset, and
    minus those of the one before it, where they have the same layers and sentences.
    """
    found = []
    for dataset, members in by_dataset(systems).items():
        pairs = [*((members[0], system) for system in members[1:]), *pairwise(members[1:])]
        for baseline, system in pairs:
            first = baseline.records[0]
            if any(mismatch_of(first, run) for run in (*baseline.records, *system.records)):
                continue
            changes = {
                pair: {
                    "kind": entry["kind"],
                    "lines": entry["lines"],
                    "cosine": (mean(system, pair) - mean(baseline, pair)).tolist(),
                }
                for pair, entry in first["pairs"].items()
            }
            found.append(
                {
                    "dataset": dataset,
                    "baseline": baseline.name,
                    "system": system.name,
                    "layers": first["layers"],
                    "pairs": changes,
                    "averages": averages(changes),
                }
            )
    return found


def mean(system: System, pair: str) -> np.ndarray:
    """Cosine per layer, mean over seeds."""
    return np.mean(system.values("pairs", pair, "cosine"), axis=0)


def other_text(entry: dict, other: dict) -> bool:
    known = [one.get("texts_sha256") for one in (entry, other)]
    return None not in known and known[0] != known[1]


def mismatch_of(first: dict, other: dict) -> str | None:
    """How two runs differ in layers, in the sentences of pairs of languages, or in what of these the means
    are of; None if they do not.
    """
    lines = [{pair: entry["lines"] for pair, entry in run["pairs"].items()} for run in (first, other)]
    others = [
        pair for pair, entry in first["pairs"].items() if other_text(entry, other["pairs"].get(pair, entry))
    ]
    for what, found, expected in (
        ("layers", other["layers"], first["layers"]),
        ("pairs of languages", sorted(lines[1]), sorted(lines[0])),
        ("numbers of sentences", list(lines[1].values()), list(lines[0].values())),
        ("other sentences of", others or ["none"], ["none"]),
        *((name, [other[name]], [first[name]]) for name in ("split", "only_words")),
    ):
        if found != expected:
            return (
                f"{other['states']}: {what} {', '.join(map(str, found))}, but {', '.join(map(str, expected))}"
                f" in {first['states']}; differences need the same"
            )
    return None


# --- the section of the report


def section(results: ResultSet) -> Section:
    systems = results.probed(KIND)
    exhibits = [
        curves(KIND, members, dataset, "cosine", "cosine", "Cosine between parallel sentences.")
        for dataset, members in by_dataset(systems).items()
    ]
    exhibits += map(change, differences(systems))  # also between runs of different files
    return Section("Parallel sentences in the encoder", exhibits, NOTES)


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
    rows = [[*cells(pair, kind), *(number_cell(v, "+.3f") for v in values)] for pair, kind, values in members]
    data = [
        [one["dataset"], one["baseline"], one["system"], entry["kind"], pair, layer, value]
        for pair, entry in one["pairs"].items()
        for layer, value in zip(one["layers"], entry["cosine"], strict=True)
    ]
    titles = ["dataset", "baseline", "system", "kind", "pair", "layer", "change"]
    table = Table(name, caption, [cells("Pair", "Kind", *one["layers"])], rows, data=tidy(titles, data))
    return Figure(name, caption, png, table)
