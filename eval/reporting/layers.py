"""The views of what is measured in every layer of a network."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise, product

from eval.measurements import Measurements
from eval.reporting.exhibits import Figure, Table, cells, mean_cell, number_cell, rows_behind, slug
from eval.reporting.plots import lines, signed_heatmap
from eval.systems import MeanStd, System

KINDS = {"supervised": "Supervised pairs", "zero-shot": "Zero-shot pairs"}
NO_PARTS = {"": ""}
MEAN = "mean"  # of all pairs of a kind
Curves = dict[str, dict[str, list]]  # panel -> name of the system -> one value per layer


def layers_in_order(measured: Measurements, measure: str) -> list[str]:
    """The layers that any system has, from the bottom up: one that the deepest system lacks stands behind
    the one that is below it elsewhere.
    """
    members = [list(dict.fromkeys(measured.of_system(one, measure).layer)) for one in measured.systems]
    longest, *others = sorted(members, key=len, reverse=True)
    layers = [layer for layer in longest if layer]
    for other in others:
        for below, layer in pairwise(["", *other]):
            if layer and layer not in layers:
                layers.insert(layers.index(below) + 1 if below else 0, layer)
    return layers


def layer_curves(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    title: str,
    caption: str,
    kinds: Mapping[str, str] = KINDS,
    parts: Mapping[str, str] = NO_PARTS,
    chance: str | None = None,
    chance_title: str = "by chance, for sentences in another order; bands: over such orders",
    levels: Sequence[str] = (),
    beside: Mapping[str, str] = {},
    drawn: str = ".*",
    digits: int = 3,
    scale: float = 1.0,
) -> list[Figure]:
    """One curve per system over the layers, one panel per kind of directions and part, bands over seeds.

    Args:
        name: of the figure.
        title: of the y axis.
        caption: without the dataset and what the curves are.
        kinds, parts: which, and what their panels are called.
        chance: the measure that is `measure` by chance, in repetitions; dashed lines, one per system.
        chance_title: what these lines are.
        levels: measures that no system beats by itself; black lines.
        beside: measures of no layer, and the titles of their columns in the table.
        drawn: a pattern of the layers that are drawn; the others are in the table.
        digits, scale: as for `table`.
    """
    layers = layers_in_order(measured, measure)
    panels = {
        ", ".join(filter(None, (of_kind, of_part))): (kind, part)
        for (kind, of_kind), (part, of_part) in product(kinds.items(), parts.items())
    }
    find = partial(_curves, measured, panels, layers, scale)
    shown, heights = find(measure), _heights({level: find(level) for level in levels})
    by_chance = find(chance, repeats=True) if chance else {}
    ends = [measured.means(one, ("kind", "part"), scale=scale) for one in beside]
    seeds = {system.name: len(system.runs) for system in measured.systems}
    if not shown:
        return []
    rows, rules = [], set()
    for panel, curves in shown.items():
        lines_of_panel = [
            (name, seeds[name], [*values, *(means.get((name, *panels[panel])) for means in ends)])
            for name, values in curves.items()
        ]
        lines_of_panel += [
            (f"{name}, by chance", seeds[name], [*values, *(None for _ in ends)])
            for name, values in by_chance.get(panel, {}).items()
        ]
        lines_of_panel += [
            (level, "", [*map(_constant, line), *(None for _ in ends)])
            for level, level_lines in heights.get(panel, {}).items()
            for line in level_lines
        ]
        rows += [
            [*cells(panel, title, count), *(mean_cell(value, digits) for value in values)]
            for title, count, values in lines_of_panel
        ]
        rules.add(len(rows))
    caption = f"{caption} On {dataset}, mean over directions; bands: standard deviation over seeds."
    if by_chance:
        caption += f" Dashed: {chance_title}."
    header = [cells("Directions", "System", "Seeds", *layers, *beside.values())]
    data = rows_behind(measured, [measure, *filter(None, [chance]), *levels, *beside])
    table = Table(slug(name, dataset), caption, header, rows, frozenset(rules - {len(rows)}), data)

    ticks = [layer for layer in layers if re.fullmatch(drawn, layer)] or layers

    def drawn_values(values: Sequence) -> tuple:
        return tuple(values[layers.index(layer)] for layer in ticks)

    png = lines(
        ticks,
        _each(drawn_values, shown),
        title,
        columns=len(parts) if len(parts) > 1 else None,
        rules=_where_decoders_begin(measured, ticks),
        levels=_each(lambda level_lines: list(map(drawn_values, level_lines)), heights),
        baselines=_each(drawn_values, by_chance),
        x_title="layer",
        baseline_title=chance_title.partition(",")[0],
        broken=True,
    )
    return [Figure(table.name, caption, png, table)]


def _curves(
    measured: Measurements,
    panels: Mapping[str, tuple[str, str]],
    layers: Sequence[str],
    scale: float,
    measure: str,
    repeats: bool = False,
) -> Curves:
    """The curves of a measure, without panels and systems that have none.

    Args:
        panels: title -> kind of directions, and part.
    """
    means = measured.means(measure, ("kind", "part", "layer"), repeats, scale)
    found: Curves = {}
    for panel, place in panels.items():
        for system in measured.systems:
            values = [means.get((system.name, *place, layer)) for layer in layers]
            if any(values):
                found.setdefault(panel, {})[system.name] = values
    return found


def _each(function: Callable, curves: Curves) -> Curves:
    """What a function makes of every curve."""
    return {
        panel: {name: function(values) for name, values in named.items()} for panel, named in curves.items()
    }


def _constant(value: float | None) -> MeanStd | None:
    return None if value is None else MeanStd(value, None)


def _heights(levels: Mapping[str, Curves]) -> dict[str, dict[str, list[tuple]]]:
    """Panel -> level -> one line per different one among the systems, of one height per layer."""
    found: dict[str, dict[str, list[tuple]]] = {}
    for level, curves in levels.items():
        for panel, systems in curves.items():
            heights = (tuple(value and value.mean for value in values) for values in systems.values())
            found.setdefault(panel, {})[level] = _without_repetitions(heights)
    return found


def _without_repetitions(lines_of_level: Iterable[tuple]) -> list[tuple]:
    """Lines that are equal in all layers that both have become one."""
    found: list[tuple] = []
    for line in lines_of_level:
        for number, other in enumerate(found):
            if all(None in pair or pair[0] == pair[1] for pair in zip(line, other, strict=True)):
                found[number] = tuple(b if a is None else a for a, b in zip(line, other, strict=True))
                break
        else:
            found.append(line)
    return found


def _where_decoders_begin(measured: Measurements, layers: Sequence[str]) -> list[int]:
    """The first of some layers that is a decoder's; nothing where all are of one side."""
    of_decoders = {
        layer for system in measured.systems for layer in system.runs[0].value("layers", "decoder") or []
    }
    return [place for place, layer in enumerate(layers) if place and layer in of_decoders][:1]


def layer_changes(
    measured: Measurements, dataset: str, name: str, measure: str, title: str, caption: str
) -> list[Figure]:
    """How a measure of pairs and layers changes from the first system to every other, and from every other to
    the next: pairs by layers, the averages of each kind last. Systems with other layers are left out.
    """
    first, *others = measured.systems
    compared = [*((first, system) for system in others), *pairwise(others)]
    return [
        _change(measured, dataset, name, measure, title, caption, *pair)
        for pair in compared
        if measured.have_same_layers(measure, *pair)
    ]


def _change(measured, dataset, name, measure, title, caption, baseline: System, system: System) -> Figure:
    layers = list(measured.of_system(baseline, measure).layer.unique())
    of_pairs = measured.means(measure, ("kind", "direction", "layer"))
    of_kinds = measured.means(measure, ("kind", "layer"))
    means = of_pairs | {(one, kind, MEAN, layer): value for (one, kind, layer), value in of_kinds.items()}
    pairs = sorted(
        {
            (pair == MEAN, list(KINDS).index(kind), pair, kind)
            for one, kind, pair, _ in means
            if one == system.name
        }
    )

    def change(kind: str, pair: str, layer: str) -> float:
        return means[system.name, kind, pair, layer].mean - means[baseline.name, kind, pair, layer].mean

    titles = [f"{MEAN} of {kind}" if pair == MEAN else pair for _, _, pair, kind in pairs]
    changes = [[change(kind, pair, layer) for layer in layers] for _, _, pair, kind in pairs]
    rows = [
        [*cells(shown, kind), *(number_cell(value, "+.3f") for value in values)]
        for shown, (*_, kind), values in zip(titles, pairs, changes, strict=True)
    ]
    caption = f"{caption} From {baseline.name} to {system.name} on {dataset}, mean over seeds."
    table = Table(
        slug(f"{name}_change", dataset, baseline.name, system.name),
        caption,
        [cells("Pair", "Kind", *layers)],
        rows,
    )
    return Figure(table.name, caption, signed_heatmap(titles, layers, changes, title, "layer", "pair"), table)
