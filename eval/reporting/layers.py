"""The views of what is measured in every layer of a network."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from eval.measurements import Measurements
from eval.reporting.exhibits import Table, cells, mean_cell, number_cell, rows_behind, slug
from eval.reporting.plots import lines, signed_heatmap
from eval.systems import MeanStd

KINDS = {"supervised": "Supervised pairs", "zero-shot": "Zero-shot pairs"}
NO_PARTS = {"": ""}
MEAN = "mean"  # of all pairs of a kind
Curves = dict[str, dict[str, list]]  # panel -> name of the system -> one value per layer


def layers_in_order(measured: Measurements, measure: str) -> list[str]:
    """The layers that any system has, from the bottom up: one that the deepest system lacks stands behind
    the one that is below it elsewhere.
    """
    rows = measured.rows[measured.rows.measure == measure]
    of_systems = [list(rows[rows.system == system.name].layer.unique()) for system in measured.systems]
    longest, *others = sorted(of_systems, key=len, reverse=True)
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
) -> list[Table]:
    """One curve per system over the layers, one panel per kind of directions and part, bands over seeds.

    Args:
        name: of the figure.
        kinds, parts: which, and what their panels are called.
        chance: the measure that is `measure` by chance, in repetitions; dashed lines, one per system.
        chance_title: what these lines are.
        levels: measures that no system beats by itself; black lines.
        beside: measures of no layer, and the titles of their columns in the table.
        drawn: a pattern of the layers that are drawn; the others are in the table.
    """
    layers = layers_in_order(measured, measure)
    panels = {
        ", ".join(filter(None, (of_kind, of_part))): (kind, part)
        for (kind, of_kind), (part, of_part) in product(kinds.items(), parts.items())
    }
    curves_of = partial(_curves, measured, panels, layers, scale)
    shown, heights = curves_of(measure), _heights({level: curves_of(level) for level in levels})
    by_chance = curves_of(chance, repeats=True) if chance else {}
    ends = [measured.means(each, ("kind", "part"), scale=scale) for each in beside]
    no_ends = [None] * len(ends)
    seeds = {system.name: len(system.runs) for system in measured.systems}
    if not shown:
        return []
    rows, rules = [], set()
    for panel, curves in shown.items():
        lines_of_panel = [
            (system, seeds[system], [*values, *(means.get((system, *panels[panel])) for means in ends)])
            for system, values in curves.items()
        ]
        lines_of_panel += [
            (f"{system}, by chance", seeds[system], [*values, *no_ends])
            for system, values in by_chance.get(panel, {}).items()
        ]
        lines_of_panel += [
            (level, "", [*(None if height is None else MeanStd(height, None) for height in line), *no_ends])
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

    images = lines(
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
    return [replace(table, images=images)]


def _curves(
    measured: Measurements,
    panels: Mapping[str, tuple[str, str]],
    layers: Sequence[str],
    scale: float,
    measure: str,
    repeats: bool = False,
) -> Curves:
    """The curves of a measure, without panels and systems that have none."""
    means = measured.means(measure, ("kind", "part", "layer"), repeats, scale)
    curves: Curves = {}
    for panel, place in panels.items():
        for system in measured.systems:
            values = [means.get((system.name, *place, layer)) for layer in layers]
            if any(values):
                curves.setdefault(panel, {})[system.name] = values
    return curves


def _each(function: Callable, curves: Curves) -> Curves:
    """What a function makes of every curve."""
    return {
        panel: {name: function(values) for name, values in named.items()} for panel, named in curves.items()
    }


def _heights(levels: Mapping[str, Curves]) -> dict[str, dict[str, list[tuple]]]:
    """Panel -> level -> one line per different one among the systems, of one height per layer."""
    heights: dict[str, dict[str, list[tuple]]] = {}
    for level, curves in levels.items():
        for panel, systems in curves.items():
            of_systems = (tuple(value and value.mean for value in values) for values in systems.values())
            heights.setdefault(panel, {})[level] = _without_repetitions(of_systems)
    return heights


def _without_repetitions(lines_of_level: Iterable[tuple]) -> list[tuple]:
    """Lines that are equal in all layers that both have become one."""
    different: list[tuple] = []
    for line in lines_of_level:
        for number, other in enumerate(different):
            if all(None in pair or pair[0] == pair[1] for pair in zip(line, other, strict=True)):
                different[number] = tuple(b if a is None else a for a, b in zip(line, other, strict=True))
                break
        else:
            different.append(line)
    return different


def _where_decoders_begin(measured: Measurements, layers: Sequence[str]) -> list[int]:
    """The first of some layers that is a decoder's; nothing where all are of one side."""
    of_decoders = {
        layer for system in measured.systems for layer in system.runs[0].value("layers", "decoder") or []
    }
    return [place for place, layer in enumerate(layers) if place and layer in of_decoders][:1]


def layer_changes(
    measured: Measurements, dataset: str, name: str, measure: str, title: str, caption: str
) -> list[Table]:
    """How a measure of pairs and layers changes from the first system to every other, and from every other to
    the next: pairs by layers, the averages of each kind last. Systems with other layers are left out.
    """
    of_pairs = measured.means(measure, ("kind", "direction", "layer"))
    of_kinds = measured.means(measure, ("kind", "layer"))
    every = of_pairs | {(system, kind, MEAN, layer): mean for (system, kind, layer), mean in of_kinds.items()}
    means: dict[str, dict[tuple, MeanStd]] = {system.name: {} for system in measured.systems}
    for (system, *place), mean in every.items():
        means[system][tuple(place)] = mean
    first, *others = means
    figures = []
    for baseline, system in [*((first, other) for other in others), *pairwise(others)]:
        if not means[system] or means[baseline].keys() != means[system].keys():
            continue
        layers = list(dict.fromkeys(layer for _, _, layer in means[baseline]))
        places = {(kind, pair) for kind, pair, _ in means[system]}
        pairs = sorted(places, key=lambda place: (place[1] == MEAN, list(KINDS).index(place[0]), place[1]))
        titles = [f"{MEAN} of {kind}" if pair == MEAN else pair for kind, pair in pairs]
        changes = [
            [means[system][*place, layer].mean - means[baseline][*place, layer].mean for layer in layers]
            for place in pairs
        ]
        rows = [
            [*cells(pair, kind), *(number_cell(value, "+.3f") for value in values)]
            for pair, (kind, _), values in zip(titles, pairs, changes, strict=True)
        ]
        text = f"{caption} From {baseline} to {system} on {dataset}, mean over seeds."
        header = [cells("Pair", "Kind", *layers)]
        table = Table(slug(f"{name}_change", dataset, baseline, system), text, header, rows)
        images = signed_heatmap(titles, layers, changes, title, "layer", "pair")
        figures.append(replace(table, images=images))
    return figures
