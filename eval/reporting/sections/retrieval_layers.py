"""P@1 of encoders that read one layer: a grid of layers and similarities (Niu et al. 2022, Table 1), and
curves over layers (Tien and Steinert-Threlkeld 2022, Figure 2).
"""

import re
from collections.abc import Iterator

from eval.reporting.exhibits import Figure, Table, cell, cells, mean_cell, slug
from eval.reporting.plots import lines
from eval.reporting.sections.retrieval_averages import direction_shown, mean_of
from eval.results.systems import System

# An untrained encoder is called "NAME (layer 8)" or "NAME layer 8", one that a recipe trains "NAME-layer-8".
_ONE_LAYER = re.compile(r"(?P<name>.+?)[ (-]+layer[ -](?P<layer>\d+|average)\)?")
AVERAGE = "average"  # of all layers
FEWEST = 2  # layers of a curve

Layers = dict[str, dict[str, System]]  # encoder -> layer -> what reads it


def by_layer(
    dataset: str, systems: list[System], groups: list[str], direction: str | None
) -> Iterator[Table | Figure]:
    """Of all pairs, and of every group of languages: a grid and curves of all encoders that are the same but
    for the layer; nothing where there are none.
    """
    found = layers_of(systems)
    if not found:
        return
    first, *others = [
        run.value("average") for of in found.values() for one in of.values() for run in one.runs
    ]
    similarities = [name for name in first if all(name in other for other in others)]
    for group in (None, *groups):
        yield grid(dataset, found, similarities, group, direction)
        yield curves(dataset, found, similarities, group, direction)


def layers_of(systems: list[System]) -> Layers:
    """Encoders of which at least two layers are read, each of its layers in their order, the average last."""
    found: Layers = {}
    for one in systems:
        if match := _ONE_LAYER.fullmatch(one.name):
            found.setdefault(match["name"], {})[match["layer"]] = one
    return {
        name: {layer: of[layer] for layer in sorted(of, key=_place)}
        for name, of in found.items()
        if len(of.keys() - {AVERAGE}) >= FEWEST
    }


def _place(layer: str) -> tuple[bool, int]:
    return (True, 0) if layer == AVERAGE else (False, int(layer))


def grid(
    dataset: str, found: Layers, similarities: list[str], group: str | None, direction: str | None
) -> Table:
    """A row per encoder and layer; the best layer of every encoder by each similarity is bold."""
    rows, rules = [], set()
    for name, layers in found.items():
        values = {
            layer: [mean_of(one, similarity, group, direction) for similarity in similarities]
            for layer, one in layers.items()
        }
        best = [
            max((of[place].mean for of in values.values() if of[place]), default=None)
            for place in range(len(similarities))
        ]
        rules |= {len(rows)} if rows else set()
        rows += [
            [*cells(name, layer), *(_cell(mean, most) for mean, most in zip(of, best, strict=True))]
            for layer, of in values.items()
        ]
    caption = (
        f"P@1 by layer and similarity on {_shown(dataset, found, group, direction)}; bold: the best layer."
    )
    header = [cells("Encoder", "Layer", *similarities)]
    return Table(slug("retrieval_grid", dataset, group or "all"), caption, header, rows, frozenset(rules))


def _cell(mean, most):
    found = mean_cell(mean, 1)
    return found if mean is None or mean.mean < most else cell(found.text, bold=True, value=found.value)


def curves(
    dataset: str, found: Layers, similarities: list[str], group: str | None, direction: str | None
) -> Figure:
    """A panel per similarity, a curve per encoder."""
    layers = sorted({layer for of in found.values() for layer in of if layer != AVERAGE}, key=_place)
    panels = {
        similarity: {
            name: [
                mean_of(of[layer], similarity, group, direction) if layer in of else None for layer in layers
            ]
            for name, of in found.items()
        }
        for similarity in similarities
    }
    titles = [f"{name}, {similarity}" for similarity in similarities for name in found]
    series = [values for panel in panels.values() for values in panel.values()]
    rows = [[cell(layer), *(mean_cell(of[place], 1) for of in series)] for place, layer in enumerate(layers)]
    name = slug("retrieval_layers", dataset, group or "all")
    caption = f"P@1 of encoders that read one layer, {_shown(dataset, found, group, direction)}."
    plot = lines(layers, panels, "P@1 (%)")
    return Figure(name, caption, plot, Table(name, caption, [cells("Layer", *titles)], rows))


def _shown(dataset: str, found: Layers, group: str | None, direction: str | None) -> str:
    one = next(iter(next(iter(found.values())).values()))
    return f"{dataset}, {group or 'all'}, {direction_shown(one, direction)}"
