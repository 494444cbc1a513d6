"""Table 8.2 of the thesis: zero-shot BLEU with off-target rates and supervised BLEU of every system, and its
plots.
"""

from eval.reporting.exhibits import (
    Cell,
    Figure,
    Section,
    Span,
    Table,
    cell,
    cells,
    mean_and_std_cells,
    number_cell,
    slug,
    tidy,
)
from eval.reporting.plots import clouds, horizontal_bars
from eval.results.labels import PLACEMENT, UNKNOWN, language_tag, layer_norm, residual
from eval.results.measures import MEASURES
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System

GROUPS = {"zero-shot": "Zero-shot", "supervised": "Supervised"}
PLOTTED = ("bleu", "chrf", "comet")


def section(results: ResultSet) -> Section:
    exhibits = [summary_table(results)]
    for measure in PLOTTED:
        exhibits += [figure for dataset in results.datasets if (figure := bars(results, dataset, measure))]
    exhibits += [figure for dataset in results.datasets if (figure := both_kinds(results, dataset))]
    return Section("Zero-shot and supervised translation", exhibits, notes(results))


def notes(results: ResultSet) -> list[str]:
    found = [
        "BLEU (off-target rate in brackets), mean over directions, then mean ± standard deviation over seeds."
    ]
    found.append(
        "Bold: the lower off-target rate of PreNorm and PostNorm that differ in nothing else (without them,"
        " the lowest among systems that differ in the placement of normalization only)."
    )
    marking = {dataset: results.marking(dataset) for dataset in results.datasets}
    found += [
        f"Bold BLEU on {dataset}: the mean that is shown is significantly higher than that of"
        f" {' and of '.join(compared_with(results, comparisons))}; see Significance."
        for dataset, comparisons in marking.items()
        if comparisons
    ]
    if not any(marking.values()):
        found.append("No comparison file was given, so no BLEU score is marked as significantly higher.")
    for dataset in results.datasets:
        for kind in GROUPS:
            different = {frozenset(names) for one in results.on(dataset) if (names := one.directions(kind))}
            if len(different) > 1:
                found.append(f"Not comparable: the systems on {dataset} have different {kind} directions.")
    return found


def compared_with(results: ResultSet, comparisons: list[dict]) -> list[str]:
    """What marks compare with, one text for every family of tests."""
    found = []
    for axis, one in {one["axis"]: one for one in comparisons}.items():
        rivals = f"the systems that differ in one thing only, the {axis}"
        if axis is None:
            rivals = "the systems compared with by name"
        elif axis == PLACEMENT and results.is_of_pre_and_post(one):
            rivals = "the other one of PreNorm and PostNorm that differ in nothing else"
        found.append(f"{rivals} (one family of {one['family']['overall']} tests)")
    return found


def summary_table(results: ResultSet) -> Table:
    """One row per system name, one column per dataset; the name too where Table 8.2's columns do not tell."""
    rows_of = {}
    for system in results.systems:
        rows_of.setdefault(system.name, {})[system.dataset] = system
    first = [next(iter(systems.values())) for systems in rows_of.values()]
    with_name = needs_names(first)
    number_of_datasets = len(results.datasets)
    names = ["#", *(["System"] if with_name else []), "Layer Norm", "Language Tag", "Res."]
    header = [
        [*cells(*names), *(cell(title, width=number_of_datasets) for title in GROUPS.values())],
        [*cells(*[""] * len(names)), *cells(*results.datasets * 2)],
    ]
    rows, rules, number, previous = [], set(), 0, None
    for system, systems in zip(first, rows_of.values(), strict=True):
        number += not system.pivot
        heading = [
            "0" if system.pivot else str(number),
            *([system.name] if with_name else []),
            *columns(system),
        ]
        scores = [score_cell(results, systems.get(d), group) for group in GROUPS for d in results.datasets]
        this = (system.pivot, language_tag(system), residual(system))
        if previous not in (None, this):
            rules.add(len(rows))
        previous = this
        rows.append([*cells(*heading), *scores])
    caption = "BLEU scores and off-target rates (in brackets), in the layout of Table 8.2."
    return Table("summary", caption, header, rows, frozenset(rules), data=summary_data(results))


def needs_names(systems: list[System]) -> bool:
    labels = [(one.pivot, columns(one)) for one in systems]
    return len(set(labels)) < len(labels) or any(UNKNOWN in label for _, label in labels)


def columns(system: System) -> tuple[str, str, str]:
    placement = f"Pivot ({system.pivot}), {layer_norm(system)}" if system.pivot else layer_norm(system)
    return placement, language_tag(system), residual(system)


def score_cell(results: ResultSet, system: System | None, group: str) -> Cell:
    """As in `16.8 ± 0.6 (8.59%)` for zero-shot, `33.9 ± 0.1` for supervised directions."""
    bleu = system and system.mean("averages", group, "bleu")
    if not bleu:
        return cell(UNKNOWN)
    spans = [Span(MEASURES["bleu"].show(bleu), bold=results.is_significantly_better(system, group))]
    off_target = system.mean("averages", group, "off_target")
    if group == "zero-shot" and off_target:
        spans += [
            Span(" ("),
            Span(MEASURES["off_target"].show(off_target.mean), bold=is_lowest(results, system, off_target)),
            Span(")"),
        ]
    return Cell(tuple(spans), value=bleu.mean)


def is_lowest(results: ResultSet, system: System, rate: MeanStd) -> bool:
    """Whether the zero-shot off-target rate is lower than that of every system it differs from in placement
    only.
    """
    others = [rival.mean("averages", "zero-shot", "off_target") for rival in results.rivals(system)]
    return bool(others) and all(other is not None and rate.mean < other.mean for other in others)


def summary_data(results: ResultSet) -> list[list]:
    """Every average of every system, unrounded: one row per system, dataset and group."""
    groups = ("zero-shot", "supervised", "from-en", "to-en", "all")
    rows = []
    for system in results.systems:
        for group in groups:
            row = [system.name, *columns(system), system.dataset, group, len(system.runs)]
            for measure in MEASURES:
                value = system.mean("averages", group, measure)
                row += [value.mean, value.std] if value else [None, None]
            if any(number is not None for number in row[7:]):
                rows.append(row)
    measures = [f"{measure}_{part}" for measure in MEASURES for part in ("mean", "std")]
    return tidy(
        ["system", "layer_norm", "language_tag", "residual", "dataset", "group", "seeds", *measures], rows
    )


def means_of(systems: list[System], group: str, measure: str) -> list[MeanStd | None]:
    return [system.mean("averages", group, measure) for system in systems]


def bars(results: ResultSet, dataset: str, measure: str) -> Figure | None:
    """Zero-shot beside supervised scores of one dataset; None if the measure was not computed."""
    systems, scale = results.on(dataset), MEASURES[measure].scale
    values = {
        title: [mean and mean.scaled(scale) for mean in means_of(systems, group, measure)]
        for group, title in GROUPS.items()
    }
    if not any(value for column in values.values() for value in column):
        return None
    title = MEASURES[measure].title
    header = [cells("System", *(f"{group} {part}" for group in values for part in ("mean", "std")), "seeds")]
    rows = []
    for i, system in enumerate(systems):
        shown = [one for column in values.values() for one in mean_and_std_cells(column[i])]
        rows.append([cell(system.name), *shown, cell(", ".join(system.run_labels))])
    caption = (
        f"{title} on {dataset}: means over directions and seeds; error bars: standard deviation over seeds."
    )
    name = slug(measure, dataset)
    png = horizontal_bars([system.name for system in systems], values, f"{title} ({dataset})")
    return Figure(name, caption, png, Table(name, caption, header, rows))


def both_kinds(results: ResultSet, dataset: str) -> Figure | None:
    """Zero-shot against supervised BLEU, a point for every training: which systems pay for one with the
    other, and which differ in zero-shot directions where they are equal in supervised ones. None for fewer
    than two systems.
    """
    titles = [f"{title} BLEU" for title in GROUPS.values()]
    series, rows = {}, []
    for system in results.on(dataset):
        scores = (system.values("averages", group, "bleu") for group in GROUPS)
        for label, *pair in zip(system.run_labels, *scores, strict=True):
            if None not in pair:
                zero_shot, supervised = pair
                series.setdefault(system.name, []).append((supervised, zero_shot))
                rows.append([*cells(system.name, label), *(number_cell(score, ".1f") for score in pair)])
    if len(series) < 2:
        return None
    caption = (
        f"Zero-shot against supervised BLEU on {dataset}, means over directions: every training is a point."
    )
    name = slug("zero-shot-supervised", dataset)
    png = clouds(series, *reversed(titles))
    header = [cells("System", "seed", *titles)]
    return Figure(name, caption, png, Table(name, caption, header, rows))
