"""P@1 of encoders that read one layer: a grid of layers and similarities (Niu et al. 2022, Table 1), and
curves over layers (Tien and Steinert-Threlkeld 2022, Figure 2).
"""

import re
from collections.abc import Iterator

from eval.derived.retrieved import Means, Retrieved
from eval.reporting.exhibits import Cell, Figure, Table, cells, mean_cell, slug, table_of_means
from eval.reporting.plots import lines
from eval.results.systems import MeanStd

# An untrained encoder is called "NAME (layer 8)" or "NAME layer 8", one that a recipe trains "NAME-layer-8".
_ONE_LAYER = re.compile(r"(?P<encoder>.+?)[ (-]+layer[ -](?P<layer>\d+|average)\)?")
AVERAGE = "average"  # of all layers
FEWEST = 2  # layers of a curve

Layers = dict[str, dict[str, str]]  # encoder -> layer -> name of what reads it


def by_layer(retrieved: Retrieved) -> Iterator[Table | Figure]:
    """Of all pairs, and of every group of languages: a grid and curves of all encoders that are the same but
    for the layer; nothing where there are none.
    """
    encoders = layers_of(system.name for system in retrieved.systems)
    if not encoders:
        return
    names = {name for layers in encoders.values() for name in layers.values()}
    measured = retrieved.means(["part"])
    similarities = [one for one in retrieved.similarities if all((name, one) in measured for name in names)]
    for group in (None, *retrieved.groups):
        means = retrieved.means(["part"], group, retrieved.side)
        yield grid(retrieved, encoders, similarities, group, means)
        yield curves(retrieved, encoders, similarities, group, means)


def layers_of(names: Iterator[str]) -> Layers:
    """Encoders of which at least two layers are read, each of its layers in their order, the average last."""
    encoders: Layers = {}
    for name in names:
        if match := _ONE_LAYER.fullmatch(name):
            encoders.setdefault(match["encoder"], {})[match["layer"]] = name
    return {
        encoder: {layer: layers[layer] for layer in sorted(layers, key=_place)}
        for encoder, layers in encoders.items()
        if len(layers.keys() - {AVERAGE}) >= FEWEST
    }


def _place(layer: str) -> tuple[bool, int]:
    return (True, 0) if layer == AVERAGE else (False, int(layer))


def grid(
    retrieved: Retrieved, encoders: Layers, similarities: list[str], group: str | None, means: Means
) -> Table:
    """A row per encoder and layer; the best layer of every encoder by each similarity has a star."""
    rows, rules = [], set()
    for encoder, layers in encoders.items():
        best = [max(means[name, each].mean for name in layers.values()) for each in similarities]
        rules |= {len(rows)} if rows else set()
        rows += [
            [
                *cells(encoder, layer),
                *(_cell(means[name, each], most) for each, most in zip(similarities, best, strict=True)),
            ]
            for layer, name in layers.items()
        ]
    caption = f"P@1 by layer and similarity on {retrieved.label(group)}; *: the best layer."
    header = [cells("Encoder", "Layer", *similarities)]
    name = slug("retrieval_grid", retrieved.dataset, group or "all")
    return Table(name, caption, header, rows, frozenset(rules))


def _cell(mean: MeanStd, most: float) -> Cell:
    return mean_cell(mean, 1, "*" if mean.mean >= most else "")


def curves(
    retrieved: Retrieved, encoders: Layers, similarities: list[str], group: str | None, means: Means
) -> Figure:
    """A panel per similarity, a curve per encoder."""
    layers = sorted({layer for of in encoders.values() for layer in of if layer != AVERAGE}, key=_place)
    panels = {
        similarity: {
            encoder: [means.get((of.get(layer), similarity)) for layer in layers]
            for encoder, of in encoders.items()
        }
        for similarity in similarities
    }
    titles = [f"{encoder}, {similarity}" for similarity in similarities for encoder in encoders]
    series = [values for panel in panels.values() for values in panel.values()]
    rows = [([layer], [of[place] for of in series]) for place, layer in enumerate(layers)]
    name = slug("retrieval_layers", retrieved.dataset, group or "all")
    caption = f"P@1 of encoders that read one layer, {retrieved.label(group)}."
    numbers = table_of_means(name, caption, ["Layer", *titles], rows)
    return Figure(name, caption, lines(layers, panels, "P@1 (%)", x_title="layer"), numbers)
