"""What parts of dual-pivot transfer and more pairs of languages bring (Tien and Steinert-Threlkeld 2022,
Tables 4 and 5), of systems with the names that the recipe gives them.
"""

import re

from eval.reporting.exhibits import Section, Table, cell, cells, mean_cell, slug
from eval.reporting.sections.retrieval_averages import direction_shown, mean_of
from eval.reporting.sections.sentence_retrieval import KIND, groups_of, similarity_of
from eval.results.labels import UNKNOWN
from eval.results.result_set import ResultSet
from eval.results.systems import System, by_dataset

LOSSES, PARTS = ("adversarial", "cycle", "unpaired", "paired"), ("mixture", "map", "both")
_PART = re.compile(rf"({'|'.join(LOSSES)})-({'|'.join(PARTS)})")
_SEVERAL = re.compile(r"(unpaired|paired)-(\d+)-pairs")
_ONE_PAIR = re.compile(r"(unpaired|paired)-([a-z]+-[a-z]+)")
NOTES = [
    "mixture: of all layers, without the linear map; map: the linear map above their average; both: the"
    " module of one pair of languages, the first that is reported. adversarial and cycle: one of the two"
    " losses of unpaired alone."
]

Cells = dict[tuple[str, str], System]  # row, column


def section(results: ResultSet) -> Section:
    tables = []
    for dataset, systems in by_dataset(results.probed(KIND)).items():
        similarity = similarity_of(systems, results.similarity)
        for group in (None, *groups_of(systems, similarity)):
            for kind, title, found in (
                ("parts", "Losses", parts(systems)),
                ("pairs", "Trained", several(systems)),
            ):
                if found:
                    shown = f"{dataset}, {group or 'all'}, {direction_shown(systems[0], results.direction)}"
                    name = slug(f"dual_pivot_{kind}", dataset, group or "all")
                    caption = f"P@1 ({similarity}) by {TITLES[kind]}, {shown}."
                    tables.append(_table(name, caption, title, found, similarity, group, results.direction))
    return Section("Parts of dual-pivot transfer", tables, NOTES)


TITLES = {"parts": "losses and parts of the module", "pairs": "number of pairs of languages"}


def parts(systems: list[System]) -> Cells:
    """Losses by parts of the module; empty where no part is left out."""
    found = {match.groups(): one for one in systems if (match := _PART.fullmatch(one.name))}
    if found:
        found |= {(losses, "both"): one for losses, one in _of_first_pair(systems).items()}
    return {
        (losses, part): found[losses, part] for losses in LOSSES for part in PARTS if (losses, part) in found
    }


def several(systems: list[System]) -> Cells:
    """Paired and unpaired by the number of pairs; empty where none has more than one."""
    matches = [(match, one) for one in systems if (match := _SEVERAL.fullmatch(one.name))]
    found = {(match[1], int(match[2])): one for match, one in matches}
    if found:
        found |= {(losses, 1): one for losses, one in _of_first_pair(systems).items()}
    return {(losses, str(count)): found[losses, count] for losses, count in sorted(found)}


def _of_first_pair(systems: list[System]) -> dict[str, System]:
    """Of either kind of training, the first system that is of one pair."""
    found: dict[str, System] = {}
    for one in systems:
        if (match := _ONE_PAIR.fullmatch(one.name)) and not _PART.fullmatch(one.name):
            found.setdefault(match[1], one)
    return found


def _order(column: str) -> int:
    return PARTS.index(column) if column in PARTS else int(column)


def _table(
    name: str,
    caption: str,
    title: str,
    found: Cells,
    similarity: str,
    group: str | None,
    direction: str | None,
) -> Table:
    columns = sorted({column for _, column in found}, key=_order)
    rows = [
        [
            cell(row),
            *(
                mean_cell(mean_of(found[row, column], similarity, group, direction), 1)
                if (row, column) in found
                else cell(UNKNOWN)
                for column in columns
            ),
        ]
        for row in dict.fromkeys(row for row, _ in found)
    ]
    return Table(name, caption, [cells(title, *columns)], rows)
