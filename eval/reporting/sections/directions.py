"""Tables E.3-E.8 of the thesis: scores of every direction, system and seed; a plot of BLEU."""

from eval.reporting.exhibits import (
    Figure,
    Section,
    Table,
    cell,
    cells,
    mean_and_std_cells,
    measure_cell,
    slug,
    tidy,
)
from eval.reporting.plots import dots
from eval.reporting.sections.off_target import ordered_directions
from eval.results.labels import UNKNOWN, columns_label, direction_order, layer_norm_row
from eval.results.measures import MEASURES
from eval.results.result_set import ResultSet
from eval.results.systems import System

NOTES = [
    "Rows: directions in blocks by the placement of normalization. Columns: the seeds of each system and"
    " their mean."
]


def section(results: ResultSet) -> Section:
    exhibits = []
    for dataset in results.datasets:
        exhibits.append(plot(results, dataset))
        for kind in ("zero-shot", "supervised"):
            systems = [system for system in results.on(dataset) if system.directions(kind)]
            for measure in ("bleu", "chrf", "comet"):
                if any(system.mean("averages", kind, measure) for system in systems):
                    exhibits.append(table(systems, dataset, kind, measure))
    return Section("Every direction and seed", exhibits, NOTES)


def table(systems: list[System], dataset: str, kind: str, measure: str) -> Table:
    """Blocks of rows by normalization, groups of columns by tags and residual, seeds and "avg." inside."""
    blocks = list(dict.fromkeys(map(layer_norm_row, systems)))
    # A pivot's block of rows comes first, but its columns are where the direct systems have them.
    groups = list(dict.fromkeys(map(columns_label, sorted(systems, key=lambda one: bool(one.pivot)))))
    at = {(layer_norm_row(system), columns_label(system)): system for system in systems}
    if len(at) < len(systems):  # the paper's labels do not tell these systems apart
        blocks, groups = [UNKNOWN], [system.name for system in systems]
        at = {(UNKNOWN, system.name): system for system in systems}
    widths = {group: max(len(one.runs) for (_, g), one in at.items() if g == group) for group in groups}
    header = [
        [*cells("Layer Norm", "Direction"), *(cell(group, width=widths[group] + 1) for group in groups)],
        [*cells("", ""), *(one for group in groups for one in seed_titles(at, group, widths[group]))],
    ]
    rows, rules = [], set()
    for block in blocks:
        if rows:
            rules.add(len(rows))
        members = {group: at[block, group] for group in groups if (block, group) in at}
        rows += rows_of_block(block, members, widths, kind, measure)
        rules.add(len(rows) - 1)
    caption = (
        f"{MEASURES[measure].title} of {dataset} in {kind} directions, in the layout of Tables E.3 to E.8."
    )
    return Table(
        slug(measure, dataset, kind),
        caption,
        header,
        rows,
        frozenset(rules),
        data(systems, dataset, kind, measure),
        folded=measure != "bleu",
    )


def rows_of_block(
    block: str, members: dict[str, System], widths: dict[str, int], kind: str, measure: str
) -> list[list]:
    """A row per direction of the systems of a block, by their groups of columns, and one of averages."""
    directions = direction_order(kind, list({d for one in members.values() for d in one.directions(kind)}))
    rows = []
    for direction in [*directions, None]:
        heading = [cell(block if direction in directions[:1] else ""), cell(direction or "avg.")]
        scores = [
            one
            for group, width in widths.items()
            for one in score_cells(members.get(group), direction, kind, measure, width)
        ]
        rows.append(heading + scores)
    return rows


def seed_titles(at: dict, group: str, width: int) -> list:
    """Seeds above the columns of a group; numbers of runs where the blocks of a group differ in seeds."""
    labels = {tuple(system.run_labels) for (_, g), system in at.items() if g == group}
    titles = labels.pop() if len(labels) == 1 else tuple(f"run {i}" for i in range(1, width + 1))
    return cells(*titles, "avg.")


def score_cells(system: System | None, direction: str | None, kind: str, measure: str, width: int) -> list:
    """A system's scores per seed and their mean, for a direction or (None) the average over directions."""
    if system is None:
        return cells(*[UNKNOWN] * (width + 1))
    where = ("averages", kind) if direction is None else ("directions", direction)
    values, mean = system.values(*where, measure), system.mean(*where, measure)
    padding = cells(*[UNKNOWN] * (width - len(values)))
    average = measure_cell(MEASURES[measure], mean and mean.mean, bold=direction is None)
    return [*(measure_cell(MEASURES[measure], value) for value in values), *padding, average]


def data(systems: list[System], dataset: str, kind: str, measure: str) -> list[list]:
    """One row per system, direction and seed."""
    rows = [
        [dataset, system.name, kind, direction, label, run.value("directions", direction, measure)]
        for system in systems
        for direction in direction_order(kind, system.directions(kind))
        for label, run in zip(system.run_labels, system.runs, strict=True)
    ]
    return tidy(["dataset", "system", "kind", "direction", "seed", measure], rows)


def plot(results: ResultSet, dataset: str) -> Figure:
    """BLEU of every direction and system, mean and standard deviation over seeds."""
    systems = results.on(dataset)
    directions, zero_shot = ordered_directions(systems)
    values = {system.name: [system.mean("directions", d, "bleu") for d in directions] for system in systems}
    rules = [zero_shot] if 0 < zero_shot < len(directions) else []
    header = [cells("Direction", *(f"{name} {part}" for name in values for part in ("mean", "std")))]
    rows = []
    for i, direction in enumerate(directions):
        numbers = [one for means in values.values() for one in mean_and_std_cells(means[i])]
        rows.append([cell(direction), *numbers])
    name = slug("bleu_directions", dataset)
    caption = f"BLEU per direction on {dataset}, mean over seeds; error bars: standard deviation over seeds."
    if rules:
        caption += " Zero-shot directions above the line, supervised ones below it."
    png = dots(directions, values, f"BLEU ({dataset})", rules)
    return Figure(name, caption, png, Table(name, caption, header, rows, frozenset(rules)))
