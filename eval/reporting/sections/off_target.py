"""Off-target rates: how often each direction ends in another language, and in which."""

from collections import Counter
from collections.abc import Iterable, Mapping

from eval.reporting.exhibits import Figure, Section, Table, cell, cells, measure_cell, slug, tidy
from eval.reporting.plots import heatmap
from eval.results.files import split_direction
from eval.results.labels import UNKNOWN, direction_order
from eval.results.measures import MEASURES
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System

MOST_COMMON = 3
NOTES = [
    "Share of output lines that fastText identifies as another language than the target. Empty lines and"
    " lines without any letter count as off-target, the latter unless the reference has none either. The same"
    " identifier on the reference lines shows its own error, below which a rate says nothing.",
]


def section(results: ResultSet) -> Section:
    exhibits = []
    for dataset in results.datasets:
        exhibits += [rates(results, dataset), languages(results, dataset)]
    return Section("Off-target translations", exhibits, [*NOTES, *limits(results.systems, "off_target_note")])


def limits(systems: Iterable[System], note: str) -> list[str]:
    """What the identifier cannot tell, per target language: directions without a rate, labels of several.

    Args:
        note: the field of a direction's entry that says it.
    """
    found = {
        f"Into {split_direction(direction)[1]}: {entry[note]}."
        for system in systems
        for run in system.runs
        for direction, entry in run.directions.items()
        if entry.get(note)
    }
    return sorted(found)


def ordered_directions(systems: list[System]) -> tuple[list[str], int]:
    """All directions, zero-shot ones first, and how many those are."""
    found = {
        kind: {d for system in systems for d in system.directions(kind)}
        for kind in ("zero-shot", "supervised")
    }
    zero_shot = direction_order("zero-shot", list(found["zero-shot"]))
    supervised = direction_order("supervised", list(found["supervised"] - found["zero-shot"]))
    return zero_shot + supervised, len(zero_shot)


def rates(results: ResultSet, dataset: str) -> Figure:
    """Heat map of systems by directions, with the identifier's own error as the last row."""
    systems = results.on(dataset)
    directions, zero_shot = ordered_directions(systems)
    names = [system.name for system in systems]
    grid = [[system.mean("directions", d, "off_target") for d in directions] for system in systems]
    names.append("identifier's error")
    grid.append([_first(systems, d, "identifier_error") for d in directions])
    measure = MEASURES["off_target"]
    rows = [
        [cell(d), *(measure_cell(measure, row[i] and row[i].mean) for row in grid)]
        for i, d in enumerate(directions)
    ]
    name = slug("off_target", dataset)
    caption = f"Off-target rates on {dataset} in percent, mean over seeds."
    if 0 < zero_shot < len(directions):
        caption += " Zero-shot directions left of the line, supervised ones right of it."
    rule = [zero_shot] if 0 < zero_shot < len(directions) else []
    percent = [[None if value is None else 100 * value.mean for value in row] for row in grid]
    png = heatmap(names, directions, percent, "off-target %", rule, "direction", "system")
    return Figure(
        name, caption, png, Table(name, caption, [cells("Direction", *names)], rows, frozenset(rule))
    )


def _first(systems: list[System], direction: str, measure: str) -> MeanStd | None:
    """The value of any run: references are the same for all systems."""
    values = (value for system in systems for value in system.values("directions", direction, measure))
    value = next((value for value in values if value is not None), None)
    return None if value is None else MeanStd(value, None)


def languages(results: ResultSet, dataset: str) -> Table:
    """The most frequent languages that are not the target's, over all seeds; all of them in the CSV file."""
    from eval.scoring.off_target import names_of_labels

    systems = results.on(dataset)
    directions, zero_shot = ordered_directions(systems)
    runs = [run for system in systems for run in system.runs]
    labels = {
        code: label for run in runs for code, label in run.record["scoring"]["identifier_labels"].items()
    }
    names = names_of_labels(labels)
    rows, data = [], []
    for direction in directions:
        row = [cell(direction)]
        for system in systems:
            runs = [run.directions[direction] for run in system.runs if direction in run.directions]
            counts = counted(runs)
            total = counts.total()
            data += [
                [dataset, system.name, direction, code, n, n / total] for code, n in counts.most_common()
            ]
            wrong = off_target_lines(runs, labels[split_direction(direction)[1]])
            shown = [f"{names.get(code, code)} {n / total:.1%}" for code, n in wrong.most_common(MOST_COMMON)]
            row.append(cell(", ".join(shown) or UNKNOWN))
        rows.append(row)
    caption = (
        f"Languages of off-target lines on {dataset}: the {MOST_COMMON} most frequent, in % of all lines."
    )
    return Table(
        slug("languages", dataset),
        caption,
        [cells("Direction", *(system.name for system in systems))],
        rows,
        frozenset([zero_shot] if 0 < zero_shot < len(directions) else []),
        tidy(["dataset", "system", "direction", "identified_language", "lines", "share"], data),
        folded=True,
    )


def counted(entries: Iterable[Mapping]) -> Counter:
    """Lines per identified language, over runs of a direction."""
    counts: Counter = Counter()
    for entry in entries:
        counts.update(entry["identified_languages"])
    return counts


def off_target_lines(entries: Iterable[Mapping], target: str | None) -> Counter:
    """Those of the lines that are off target; none where there is no rate.

    Lines without letters are as many as the rate has beside those of other languages: the others are right,
    since their references have none either.

    Args:
        target: the identifier's label for the target language.
    """
    from data_prep.language_identification import NO_LETTERS

    wrong: Counter = Counter()
    for entry in entries:
        if (rate := entry.get("off_target")) is not None:
            counts = counted([entry])
            others = Counter({code: n for code, n in counts.items() if code not in (target, NO_LETTERS)})
            without = min(counts[NO_LETTERS], round(rate * counts.total()) - others.total())
            wrong += others + Counter({NO_LETTERS: without})
    return wrong
