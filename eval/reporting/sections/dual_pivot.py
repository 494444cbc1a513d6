"""What parts of dual-pivot transfer and more pairs of languages bring (Tien and Steinert-Threlkeld 2022,
Tables 4 and 5), of systems with the names that the recipe gives them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from eval.reporting.exhibits import Cell, Section, Table, cell, cells, mean_cell, slug
from eval.reporting.sections.retrieval_averages import direction_shown, mean_of
from eval.reporting.sections.sentence_retrieval import KIND, groups_of, similarity_of
from eval.results.result_set import ResultSet
from eval.results.systems import System, by_dataset

LOSSES, PARTS = ("adversarial", "cycle", "unpaired", "paired"), ("mixture", "map", "both")
_PART = re.compile(rf"({'|'.join(LOSSES)})-({'|'.join(PARTS)})")
_SEVERAL = re.compile(r"(unpaired|paired)-(\d+)-pairs")
_ONE_PAIR = re.compile(r"(unpaired|paired)-([a-z]+-[a-z]+)")
NOTES = [
    "mixture: of all layers, without the linear map; map: the linear map above their average; both: the"
    " whole module; all of one pair of languages. adversarial and cycle: one of the two losses of unpaired"
    " alone."
]

Found = dict[tuple[str, str], System]  # row, column


@dataclass(frozen=True)
class Pivot:
    """Systems as the cells of a table.

    Attributes:
        kind: of the table, in its name.
        what: is compared, in the caption.
        corner: title of the rows.
    """

    kind: str
    what: str
    corner: str
    rows: Sequence[str]
    columns: Sequence[str]
    found: Found

    def table(self, dataset: str, similarity: str, group: str | None, direction: str | None) -> Table:
        rows = [
            [cell(row), *(self._cell(row, column, similarity, group, direction) for column in self.columns)]
            for row in self.rows
        ]
        one = next(iter(self.found.values()))
        shown = f"{dataset}, {group or 'all'}, {direction_shown(one, direction)}"
        caption = f"P@1 ({similarity}) by {self.what}, {shown}."
        name = slug(f"dual_pivot_{self.kind}", dataset, group or "all")
        return Table(name, caption, [cells(self.corner, *self.columns)], rows)

    def _cell(self, row: str, column: str, *how: str | None) -> Cell:
        one = self.found.get((row, column))
        return mean_cell(one and mean_of(one, *how), 1)


def section(results: ResultSet) -> Section:
    tables = []
    for dataset, systems in by_dataset(results.probed(KIND)).items():
        similarity = similarity_of(systems, results.similarity)
        pivots = [one for one in (parts(systems), several(systems)) if one.found]
        for group in (None, *groups_of(systems, similarity)):
            tables += [one.table(dataset, similarity, group, results.direction) for one in pivots]
    return Section("Parts of dual-pivot transfer", tables, NOTES)


def parts(systems: list[System]) -> Pivot:
    """Losses by parts of the module; empty where no part is left out."""
    found = {match.groups(): one for one in systems if (match := _PART.fullmatch(one.name))}
    found |= _of_one_pair(systems, "both", _trained_on(found)) if found else {}
    rows, columns = ({place[axis] for place in found} for axis in (0, 1))
    return Pivot(
        "parts", "losses and parts of the module", "Losses",
        [one for one in LOSSES if one in rows], [one for one in PARTS if one in columns], found,
    )  # fmt: skip


def several(systems: list[System]) -> Pivot:
    """Paired and unpaired by the number of pairs; empty where none has more than one."""
    found = {match.groups(): one for one in systems if (match := _SEVERAL.fullmatch(one.name))}
    found |= _of_one_pair(systems, "1", _trained_on(found)) if found else {}
    rows, columns = ({place[axis] for place in found} for axis in (0, 1))
    return Pivot(
        "pairs", "number of pairs of languages", "Trained", sorted(rows), sorted(columns, key=int), found
    )


def _trained_on(found: Found) -> str | None:
    """The pair of languages of the first of these systems, or their first pair; None if it is not known."""
    encoder = next(iter(found.values())).runs[0].file.get("encoder") or {}
    return next(iter(encoder.get("pairs") or []), None)


def _of_one_pair(systems: list[System], column: str, pair: str | None) -> Found:
    """Of either kind of training, the system of one pair; the first one where the pair is not known."""
    found: Found = {}
    for one in systems:
        match = _ONE_PAIR.fullmatch(one.name)
        if match and not _PART.fullmatch(one.name) and pair in (None, match[2]):
            found.setdefault((match[1], column), one)
    return found
