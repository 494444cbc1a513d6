"""P@1 of encoders that read one layer, against the layer (Tien and Steinert-Threlkeld 2022, Figure 2)."""

import re

from eval.reporting.exhibits import Figure, Table, cell, cells, mean_cell, slug
from eval.reporting.plots import lines
from eval.results.systems import MeanStd, System

# An untrained encoder is called "NAME (layer 8)" or "NAME layer 8", one that a recipe trains "NAME-layer-8".
_ONE_LAYER = re.compile(r"(?P<name>.+?)[ (-]+layer[ -](?P<layer>\d+)\)?")
FEWEST = 2  # layers of a curve


def by_layer(dataset: str, systems: list[System], groups: list[str], similarity: str) -> list[Figure]:
    """Figures with a curve for all encoders that are the same but for the layer: of all pairs, and of every
    group of languages; none where there is no such curve.
    """
    curves: dict[str, dict[int, System]] = {}
    for one in systems:
        if found := _ONE_LAYER.fullmatch(one.name):
            curves.setdefault(found["name"], {})[int(found["layer"])] = one
    curves = {name: each for name, each in curves.items() if len(each) >= FEWEST}
    if not curves:
        return []
    everywhere = {"all": ("average", similarity)}
    of_groups = {group: ("groups", group, similarity, "mean") for group in groups}
    return [
        _figure(dataset, where, path, curves, similarity) for where, path in (everywhere | of_groups).items()
    ]


def _figure(dataset: str, where: str, path: tuple, curves: dict, similarity: str) -> Figure:
    layers = list(range(max(layer for each in curves.values() for layer in each) + 1))
    layers = [layer for layer in layers if any(layer in each for each in curves.values())]
    values: dict[str, list[MeanStd | None]] = {
        name: [each[layer].mean(*path, scale=100) if layer in each else None for layer in layers]
        for name, each in curves.items()
    }
    rows = [
        [cell(layer), *(mean_cell(of[place], 1) for of in values.values())]
        for place, layer in enumerate(layers)
    ]
    name = slug("retrieval_layers", dataset, where)
    caption = f"P@1 ({similarity}) of encoders that read one layer, {dataset}, {where}."
    plot = lines([str(layer) for layer in layers], {where: values}, "P@1 (%)")
    return Figure(name, caption, plot, Table(name, caption, [cells("Layer", *values)], rows))
