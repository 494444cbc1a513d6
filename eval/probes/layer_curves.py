"""Figures of what probes measure in every encoder layer, on average over pairs of languages."""

from collections.abc import Iterable
from functools import partial

from eval.probes.parallel import OUTPUT
from eval.reporting.exhibits import Figure, Table, cells, mean_cell, slug, tidy
from eval.reporting.plots import lines
from eval.results.systems import MeanStd, System

KINDS = {"supervised": "Supervised pairs", "zero-shot": "Zero-shot pairs"}


def layers_of(runs: Iterable[dict]) -> list[str]:
    """All layers of the runs, from the bottom up, the encoder's output last."""
    found = {layer for run in runs for layer in run["layers"]} - {OUTPUT}
    return [*sorted(found, key=lambda layer: int(layer.removeprefix("L"))), OUTPUT]


def curves(
    kind: str,
    systems: list[System],
    dataset: str,
    measure: str,
    title: str,
    caption: str,
    chance: str | None = None,
) -> Figure:
    """One curve per system over the layers, one panel per kind of pairs.

    Args:
        kind: of the result files; begins the name of the figure.
        systems: whose records have "layers", "averages" and "pairs".
        measure: of "averages".
        title: of the y axis.
        caption: without the dataset and what the curves are.
        chance: the measure that is `measure` by chance, one number per permutation; drawn as dashed lines.
    """
    cell_of = partial(mean_cell, digits=3)
    layers = layers_of(run for system in systems for run in system.records)
    panels, baselines, rows, rules = {}, {}, [], set()
    for group, panel in KINDS.items():
        series, lower = {}, {}
        for system in systems:
            name, runs = system.name, system.records
            if all(group in run["averages"] for run in runs):
                series[name] = [seeds_of(runs, group, measure, layer) for layer in layers]
                rows.append([*cells(panel, name, len(runs)), *map(cell_of, series[name])])
                if chance:
                    lower[name] = [permutations_of(runs, group, chance, layer) for layer in layers]
                    rows.append([*cells(panel, f"{name}, by chance", len(runs)), *map(cell_of, lower[name])])
        if series:
            panels[panel], baselines[panel] = series, lower
            rules.add(len(rows))
    caption = f"{caption} On {dataset}, mean over pairs of languages; bands: standard deviation over seeds."
    if chance:
        caption += " Dashed: by chance, for sentences in another order; bands: over such orders."
    name = slug(*dict.fromkeys((kind, measure)), "layers", dataset)
    header = [cells("Pairs", "System", "Seeds", *layers)]
    table = Table(
        name, caption, header, rows, frozenset(rules - {len(rows)}), data(systems, dataset, measure, chance)
    )
    return Figure(name, caption, lines(layers, panels, title, baselines=baselines), table)


def seeds_of(runs: list[dict], kind: str, measure: str, layer: str) -> MeanStd | None:
    """Mean over the runs of one system; None where a run does not have the layer."""
    if not all(layer in run["layers"] for run in runs):
        return None
    return MeanStd.of(run["averages"][kind][measure][run["layers"].index(layer)] for run in runs)


def permutations_of(runs: list[dict], kind: str, measure: str, layer: str) -> MeanStd | None:
    """Mean and deviation over the permutations of all runs; None where a run lacks the layer."""
    found = []
    for run in runs:
        if layer not in run["layers"]:
            return None
        found += run["averages"][kind][measure][run["layers"].index(layer)]
    return MeanStd.of(found)


def data(systems: list[System], dataset: str, measure: str, chance: str | None) -> list[list]:
    """One row per system, seed, pair and layer; with what is chance, its deviation and the permutations."""
    rows = []
    for system in systems:
        for seed, run in system.labelled():
            for pair, entry in run["pairs"].items():
                start = [dataset, system.name, seed, entry["kind"], pair, entry["lines"]]
                for number, (layer, value) in enumerate(zip(run["layers"], entry[measure], strict=True)):
                    rows.append([*start, layer, value])
                    if chance:
                        level = MeanStd.of(entry[chance][number])
                        rows[-1] += [level.mean, level.std, len(entry[chance][number])]
    titles = ["dataset", "system", "seed", "kind", "pair", "lines", "layer", measure]
    if chance:
        titles += [chance, f"{chance}_deviation", "permutations"]
    return tidy(titles, rows)
