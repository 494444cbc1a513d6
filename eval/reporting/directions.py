"""The views of numbers by direction: tables, dots, colours, and what is most frequent in each."""

from collections.abc import Iterable, Mapping
from itertools import groupby

from eval.labels import column_titles, direction_order
from eval.measurements import Measurements
from eval.reporting.exhibits import Cell, Table, cell, cells, mean_cell, rows_behind, slug
from eval.reporting.plots import dots, heatmap
from eval.systems import UNKNOWN

KINDS = ("zero-shot", "supervised", "")  # without a kind: pairs and directions of retrieval
MOST_COLUMNS = 8  # systems that a table has beside each other
FOLDED = 150  # rows: all pairs of many languages are shown after a click


def in_order(measured: Measurements) -> list[tuple[str, str]]:
    """(kind, direction) of all directions or pairs of languages, zero-shot ones first."""
    return [
        (kind, direction)
        for kind in KINDS
        for direction in direction_order(kind, measured.where(kind=kind).values("direction"))
    ]


def _rules(places: Iterable[tuple[str, str]]) -> list[int]:
    """Where the supervised directions begin, if there are zero-shot ones before."""
    kinds = [kind for kind, _ in places]
    zero_shot = kinds.count(KINDS[0])
    return [zero_shot] if 0 < zero_shot < len(kinds) else []


def direction_table(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    caption: str,
    digits: int = 1,
    scale: float = 1.0,
    folded: bool = False,
) -> list[Table]:
    """Directions by systems, and the averages over directions. Systems that differ in the placement of
    normalization only stand beside each other; of many systems there are several tables.
    """
    measured = measured.where(measure=measure)
    means = measured.means(measure, ("direction",), scale=scale)
    averages = measured.means(measure, scale=scale)
    directions = [direction for _, direction in in_order(measured)]
    titles = column_titles(measured.systems)
    groups = list(dict.fromkeys(group for group, _ in titles.values()))
    in_groups = sorted(measured.systems, key=lambda system: groups.index(titles[system.name][0]))
    tables = []
    for start in range(0, len(in_groups), MOST_COLUMNS):
        systems = in_groups[start : start + MOST_COLUMNS]
        rows = [
            [cell(direction), *(mean_cell(means.get((system.name, direction)), digits) for system in systems)]
            for direction in directions
        ]
        rows.append(
            [cell("Average"), *(mean_cell(averages.get((system.name,)), digits) for system in systems)]
        )
        part = [] if len(in_groups) <= MOST_COLUMNS else [str(1 + start // MOST_COLUMNS)]
        tables.append(
            Table(
                slug(name, dataset, *part),
                f"{caption} on {dataset}; mean ± deviation over seeds.",
                _header([titles[system.name] for system in systems]),
                rows,
                frozenset({len(rows) - 1}),
                rows_behind(measured.where(system=[system.name for system in systems]), [measure]),
                folded or len(rows) > FOLDED,
            )
        )
    return tables


def _header(titles: list[tuple[str, str]]) -> list[list[Cell]]:
    """Groups of systems above the systems, if any group has a name."""
    groups = [(group, len(list(members))) for group, members in groupby(group for group, _ in titles)]
    of_groups = [cell(""), *(cell(group, width=width) for group, width in groups)]
    systems = cells("Direction", *(title for _, title in titles))
    return [of_groups, systems] if any(group for group, _ in groups) else [systems]


def directions(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    title: str,
    caption: str,
    layer: str = "",
    digits: int = 1,
    scale: float = 1.0,
) -> list[Table]:
    """Dots of every system per pair of languages or direction, and the averages of each kind in the table.

    Args:
        layer: the one that is shown.
    """
    measured = measured.where(measure=measure, layer=layer)
    if not measured.systems:
        return []
    means = measured.means(measure, ("kind", "direction"), scale=scale)
    of_kinds = measured.means(measure, ("kind",), scale=scale)
    places, names = in_order(measured), [system.name for system in measured.systems]
    values = {name: [means.get((name, *place)) for place in places] for name in names}
    rows = [
        [*cells(direction, kind), *(mean_cell(of_system[place], digits) for of_system in values.values())]
        for place, (kind, direction) in enumerate(places)
    ]
    for kind in dict.fromkeys(kind for kind, _ in places):
        rows.append(
            [*cells("Average", kind), *(mean_cell(of_kinds.get((system, kind)), digits) for system in names)]
        )
    text = f"{caption} on {dataset}; mean over seeds, error bars: standard deviation over seeds."
    rules = _rules(places)
    text += " Zero-shot directions above the line, supervised ones below it." if rules else ""
    header = [cells("Direction", "Kind", *names)]
    data = rows_behind(measured, [measure])
    images = dots([direction for _, direction in places], values, title, rules)
    all_rules = frozenset({*rules, len(places)})
    return [Table(slug(name, dataset), text, header, rows, all_rules, data, images=images)]


def direction_heat_map(
    measured: Measurements,
    dataset: str,
    name: str,
    measure: str,
    title: str,
    caption: str,
    digits: int = 1,
    shared: Mapping[str, str] = {},
) -> list[Table]:
    """Systems by directions, shares as colours.

    Args:
        shared: measures that are the same for all systems, and what their rows below the systems are called.
    """
    measured = measured.where(measure=[measure, *shared])
    if not measured.systems:
        return []
    places = in_order(measured)
    means = measured.means(measure, ("direction",), scale=100)
    values = {
        system.name: [means.get((system.name, direction)) for _, direction in places]
        for system in measured.systems
    }
    for measure_of_all, line in shared.items():
        of_any = {
            direction: mean
            for (_, direction), mean in measured.means(measure_of_all, ("direction",), scale=100).items()
        }
        values[line] = [of_any.get(direction) for _, direction in places]
    rows = [
        [cell(direction), *(mean_cell(of_system[place], digits) for of_system in values.values())]
        for place, (_, direction) in enumerate(places)
    ]
    text, rules = f"{caption} on {dataset} in percent, mean over seeds.", _rules(places)
    text += " Zero-shot directions left of the line, supervised ones right of it." if rules else ""
    percent = [[value and value.mean for value in of_system] for of_system in values.values()]
    names = [direction for _, direction in places]
    images = heatmap(list(values), names, percent, title, rules, "direction", "system")
    header, data = [cells("Direction", *values)], rows_behind(measured, [measure, *shared])
    return [Table(slug(name, dataset), text, header, rows, frozenset(rules), data, images=images)]


def largest(
    measured: Measurements, dataset: str, name: str, measure: str, caption: str, most: int = 3
) -> list[Table]:
    """Directions by systems: the parts with the largest shares, means over seeds.

    Args:
        most: parts in a cell.
    """
    measured = measured.where(measure=measure)
    runs = {system.name: len(system.runs) for system in measured.systems}
    shares = measured.rows.groupby(["system", "direction", "part"]).value.sum()  # a seed may lack a part
    shown: dict[tuple[str, str], list[str]] = {}
    for (system, direction, part), share in shares.sort_values(ascending=False, kind="stable").items():
        parts = shown.setdefault((system, direction), [])
        if len(parts) < most:
            parts.append(f"{part} {share / runs[system]:.1%}")
    places = in_order(measured)
    rows = [
        cells(direction, *(", ".join(shown.get((name, direction), [])) or UNKNOWN for name in runs))
        for _, direction in places
    ]
    header, data = [cells("Direction", *runs)], rows_behind(measured, [measure])
    text = f"{caption} on {dataset}: the {most} most frequent, in % of all lines."
    return [Table(slug(name, dataset), text, header, rows, frozenset(_rules(places)), data, folded=True)]
