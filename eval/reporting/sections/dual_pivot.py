"""What parts of dual-pivot transfer and more pairs of languages bring (Tien and Steinert-Threlkeld 2022,
Tables 4 and 5), of systems with the names that the recipe gives them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from eval.derived.retrieved import Retrieved
from eval.reporting.exhibits import Section, Table, slug, table_of_means
from eval.results.result_set import ResultSet
from eval.results.systems import System

LOSSES, PARTS = ("adversarial", "cycle", "unpaired", "paired"), ("mixture", "map", "both")
_PART = re.compile(rf"({'|'.join(LOSSES)})-({'|'.join(PARTS)})")
_SEVERAL = re.compile(r"(unpaired|paired)-(\d+)-pairs")
_ONE_PAIR = re.compile(r"(unpaired|paired)-([a-z]+-[a-z]+)")
NOTES = [
    "mixture: of all layers, without the linear map; map: the linear map above their average; both: the"
    " whole module; all of one pair of languages. adversarial and cycle: one of the two losses of unpaired"
    " alone."
]

Places = dict[tuple[str, str], System]  # row, column


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
    places: Places

    def table(self, retrieved: Retrieved, group: str | None) -> Table:
        means = retrieved.shown(group=group)
        by_place = {place: means.get((system.name,)) for place, system in self.places.items()}
        rows = [([row], [by_place.get((row, column)) for column in self.columns]) for row in self.rows]
        caption = f"P@1 ({retrieved.similarity}) by {self.what}, {retrieved.label(group)}."
        name = slug(f"dual_pivot_{self.kind}", retrieved.dataset, group or "all")
        return table_of_means(name, caption, [self.corner, *self.columns], rows)


def section(results: ResultSet) -> Section:
    tables = []
    for retrieved in Retrieved.of(results):
        pivots = [pivot for pivot in (parts(retrieved.systems), several(retrieved.systems)) if pivot.places]
        for group in (None, *retrieved.groups) if pivots else ():
            tables += [pivot.table(retrieved, group) for pivot in pivots]
    return Section("Parts of dual-pivot transfer", tables, NOTES)


def parts(systems: list[System]) -> Pivot:
    """Losses by parts of the module; empty where no part is left out."""
    places = {match.groups(): system for system in systems if (match := _PART.fullmatch(system.name))}
    places |= _of_one_pair(systems, "both", _trained_on(places)) if places else {}
    rows, columns = ({place[axis] for place in places} for axis in (0, 1))
    return Pivot(
        "parts", "losses and parts of the module", "Losses",
        [loss for loss in LOSSES if loss in rows], [part for part in PARTS if part in columns], places,
    )  # fmt: skip


def several(systems: list[System]) -> Pivot:
    """Paired and unpaired by the number of pairs; empty where none has more than one."""
    places = {match.groups(): system for system in systems if (match := _SEVERAL.fullmatch(system.name))}
    places |= _of_one_pair(systems, "1", _trained_on(places)) if places else {}
    rows, columns = ({place[axis] for place in places} for axis in (0, 1))
    return Pivot(
        "pairs", "number of pairs of languages", "Trained", sorted(rows), sorted(columns, key=int), places
    )


def _trained_on(places: Places) -> str | None:
    """The pair of languages of the first of these systems, or their first pair; None if it is not known."""
    encoder = next(iter(places.values())).runs[0].file.get("encoder") or {}
    return next(iter(encoder.get("pairs") or []), None)


def _of_one_pair(systems: list[System], column: str, pair: str | None) -> Places:
    """Of either kind of training, the system of one pair; the first one where the pair is not known."""
    places: Places = {}
    for system in systems:
        match = _ONE_PAIR.fullmatch(system.name)
        if match and not _PART.fullmatch(system.name) and pair in (None, match[2]):
            places.setdefault((match[1], column), system)
    return places
