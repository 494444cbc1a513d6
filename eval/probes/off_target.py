"""Where off-target translations end: intended against identified languages, and the worst lines.

Reads folders of `python -m eval translate` and the raw test set beside the data (thesis 8.2.2, 8.2.3). The
same identifier on the references gives its own error: what it calls another language there is its mistake,
not the model's. The worst lines of a direction are those that it is surest about being in another language,
first of all those whose reference it identifies rightly.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from command_line import options as types
from command_line.option_classes import from_arguments
from command_line.progress import progress
from data_prep.language_identification import EMPTY, NO_LETTERS
from eval.probes.identified_languages import confusion_of
from eval.reporting.exhibits import Figure, Section, Table, cells, number_cell, slug, tidy
from eval.reporting.plots import heatmap
from eval.reporting.result_file import add_output_arguments, publish
from eval.reporting.sections.off_target import limits
from eval.results.files import split_direction
from eval.results.labels import direction_order
from eval.results.result_set import ResultSet
from eval.results.scores import Translation
from eval.results.systems import System
from eval.scoring.off_target import names_of_labels
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, add_folder_arguments, paths_of

KIND = "off-target"
OTHER = "other"
PLACES = {
    "source": "source language",
    "english": "English",
    "empty": "empty",
    "other": "other",
    "no_letters": "no letters",
}
NOTES = [
    "Columns: the direction, that is the intended language; rows: the language that fastText identifies, as a"
    " share of the lines. Columns in brackets are the references in that language: what the identifier finds"
    " there besides it is its own error.",
]


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        worst: lines to list per direction.
    """

    folders: TranslatedFolders
    worst: int = 5


def add_arguments(parser) -> None:
    add_folder_arguments(parser)
    parser.add_argument("--worst", type=types.natural, default=5, help="lines to list per direction; 0: none")
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    translated = options.folders.files()
    inputs = paths_of(translated)
    publish(KIND, options, inputs, lambda: measure(options, translated), args)


def measure(options: Options, translated: list[tuple[Translation, list[DirectionFiles]]]) -> dict:
    """One run per folder."""
    return {"runs": [run(*one, options.worst) for one in translated]}


def run(translation: Translation, files: list[DirectionFiles], worst: int) -> dict:
    """The run of one folder."""
    languages = {language for direction in translation.directions for language in split_direction(direction)}
    directions = {}
    for one in progress(files, len(files), "identify", "direction"):
        entry = {"kind": translation.directions[one.direction]["kind"]}
        directions[one.direction] = entry | confusion_of(one, languages, worst)
    return translation.described() | {"directions": directions}


# --- the section of the report


def section(results: ResultSet) -> Section:
    exhibits, systems = [], results.probed(KIND)
    for system in systems:
        exhibits.append(matrix(system))
        if any(entry["worst"] for run in system.runs for entry in run.directions.values()):
            exhibits.append(worst(system))
    return Section("Languages of the output", exhibits, [*NOTES, *limits(systems, "note")])


def matrix(system: System) -> Figure:
    """Confusion matrix as a heat map: identified languages by directions and references."""
    runs = system.records
    kinds = {d: entry["kind"] for run in runs for d, entry in run["directions"].items()}
    zero_shot, supervised = (
        direction_order(kind, [d for d in kinds if kinds[d] == kind]) for kind in ("zero-shot", "supervised")
    )
    directions = zero_shot + supervised
    names = names_in(directions)
    own = sorted(names, key=names.get)
    targets = sorted({direction.split("-")[1] for direction in directions})
    columns = [shares(total(runs, [d], "identified"), own) for d in directions]
    for target in targets:
        into = [d for d in directions if d.split("-")[1] == target]
        columns.append(shares(total(runs, into, "identified_references"), own))
    rows = [*own, OTHER, NO_LETTERS, EMPTY]
    grid = [[100 * column[row] for column in columns] for row in rows]
    rules = [rule for rule in (len(zero_shot), len(directions)) if 0 < rule < len(columns)]
    titles = [*directions, *(f"[{target}]" for target in targets)]
    caption = f"Identified languages of the output of {system.name} on {system.dataset}"
    caption += f" in percent of the lines{', all seeds together' if len(runs) > 1 else ''}."
    if zero_shot and supervised:
        caption += " Zero-shot directions left of the line, supervised ones right of it, then references."
    png = heatmap([names.get(row, row) for row in rows], titles, grid, "% of lines", rules)
    name = slug("confusion", system.dataset, system.name)
    return Figure(name, caption, png, numbers(name, caption, system, directions))


def names_in(directions: Iterable[str]) -> dict[str, str]:
    """The identifier's label -> what the directions call that language."""
    return names_of_labels(language for direction in directions for language in split_direction(direction))


def numbers(name: str, caption: str, system: System, directions: list[str]) -> Table:
    """Per direction: rate, identifier's error, where off-target lines are; all counts in the CSV file."""
    rows = []
    for direction in directions:
        entries = [run.directions[direction] for run in system.runs if direction in run.directions]
        lines = sum(entry["lines"] for entry in entries)
        places: Counter = Counter()
        for entry in entries:
            places.update(entry["off_target_as"] or {})
        known = all(entry["off_target"] is not None for entry in entries)
        rate = places.total() / lines if known else None
        error = sum(entry["identifier_error"] for entry in entries) / len(entries) if known else None
        values = [rate, error, *(places[place] / lines if known else None for place in PLACES)]
        rows.append(
            [
                *cells(direction, entries[0]["kind"], lines),
                *(number_cell(value, ".2f", 100, "%") for value in values),
            ]
        )
    header = ["Direction", "Kind", "Lines", "off-target", "identifier's error"]
    header += [f"as {title}" for title in PLACES.values()]
    data = [
        [system.dataset, system.name, seed, direction, entry["kind"], entry["intended"], text, language, n]
        for seed, run in system.labelled()
        for direction, entry in run["directions"].items()
        for text, key in (("hypotheses", "identified"), ("references", "identified_references"))
        for language, n in entry[key].items()
    ]
    titles = ["dataset", "system", "seed", "direction", "kind", "intended", "text", "identified", "lines"]
    return Table(name, caption, [cells(*header)], rows, data=tidy(titles, data))


def total(runs: list[dict], directions: list[str], key: str) -> Counter:
    """Lines per identified language, over runs and directions."""
    counts: Counter = Counter()
    for run in runs:
        for direction in directions:
            counts.update(run["directions"].get(direction, {}).get(key, {}))
    return counts


def shares(counts: Counter, own: list[str]) -> dict[str, float]:
    """Shares of the lines per language of the system, in other languages and without text."""
    found = {language: counts[language] / counts.total() for language in [*own, NO_LETTERS, EMPTY]}
    return found | {OTHER: max(0.0, 1 - sum(found.values()))}


def worst(system: System) -> Table:
    """The worst lines of every direction, zero-shot directions first: of all seeds as many as one has."""
    listed = worst_by_direction(system)
    names = names_in(direction for run in system.runs for direction in run.directions)
    rows, rules, previous = [], set(), None
    for direction, seed, one in listed:
        if previous not in (None, direction):
            rules.add(len(rows))
        previous = direction
        sure = number_cell(one["confidence"], ".2f")
        texts = cells(*(one[text] or EMPTY for text in ("source", "reference", "hypothesis")))
        identified = names.get(one["identified"], one["identified"])
        rows.append([*cells(direction, seed, one["line"], identified), sure, *texts])
    titles = ["Direction", "Seed", "Line", "Identified", "Confidence", "Source", "Reference", "Hypothesis"]
    caption = f"The worst off-target lines of {system.name} on {system.dataset}."
    name = slug("worst_lines", system.dataset, system.name)
    return Table(name, caption, [cells(*titles)], rows, frozenset(rules), folded=True)


def worst_by_direction(system: System) -> list[tuple[str, str, dict]]:
    """(direction, seed, line): the worst line of every seed, the surest first, then the second ones."""
    found: dict[tuple[bool, str], list[tuple[int, float, str, dict]]] = {}
    limits: Counter = Counter()
    for seed, run in system.labelled():
        for direction, entry in run["directions"].items():
            lines = found.setdefault((entry["kind"] != "zero-shot", direction), [])
            lines += [(rank, -one["confidence"], seed, one) for rank, one in enumerate(entry["worst"])]
            limits[direction] = max(limits[direction], len(entry["worst"]))
    return [
        (direction, seed, one)
        for (_, direction), lines in sorted(found.items(), key=lambda item: item[0])
        for _, _, seed, one in sorted(lines, key=lambda line: line[:2])[: limits[direction]]
    ]
