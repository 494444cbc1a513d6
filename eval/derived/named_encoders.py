"""Rows for tables of encoders with the names that recipes give them.

Parts of dual-pivot transfer (Tien and Steinert-Threlkeld 2022, Tables 4 and 5), losses of distillation and
fewer numbers of a vector (thesis, Tables 3.4, A.1, A.4 and Figure 3.1). What stands in a column is the
`group` of the rows.
"""

import re
from collections.abc import Sequence

import pandas as pd

from eval.derived.benchmarks import REACHED, by_cosine, mined_shown, published
from eval.derived.retrieval import SMALLER
from eval.derived.retrieved import Retrieved
from eval.measurements import Cells, Measurements, as_cells, joined
from eval.result_set import ResultSet
from eval.systems import System

PIVOT_LOSSES, PARTS = ("adversarial", "cycle", "unpaired", "paired"), ("mixture", "map", "both")
_PART = re.compile(rf"({'|'.join(PIVOT_LOSSES)})-({'|'.join(PARTS)})")
_SEVERAL = re.compile(r"(unpaired|paired)-(\d+)-pairs")
_ONE_PAIR = re.compile(r"(unpaired|paired)-([a-z]+-[a-z]+)")
LOSSES = ("ams", "fd", "ld", "ams-fd", "ams-ld", "fd-ld", "all", "ams-df", "ams-syn")
_STUDENT = re.compile(rf"(?P<student>.+?)-(?P<losses>{'|'.join(LOSSES)})")
_REDUCED = re.compile(r"reduced-(?P<width>\d+)")
_CUT = re.compile(r"^float32, (?P<width>\d+) numbers$")


def parts_of_dual_pivot(results: ResultSet) -> Measurements:
    """Losses by parts of the module, where a part is left out somewhere."""
    return _dual_pivot(results, _PART, "both")


def pairs_of_dual_pivot(results: ResultSet) -> Measurements:
    """Paired and unpaired by the number of pairs of languages, where one has several."""
    return _dual_pivot(results, _SEVERAL, "1")


def _dual_pivot(results: ResultSet, pattern: re.Pattern, of_one_pair: str) -> Measurements:
    """The rows of what is shown, over all pairs and for every group of languages."""
    tables = []
    for retrieved in Retrieved.of(results):
        places = {match.groups(): system for match, system in _matching(pattern, retrieved.systems)}
        if not places:
            continue
        places |= _of_one_pair(retrieved.systems, of_one_pair, _trained_on(next(iter(places.values()))))
        cells = [(system, {"system": row, "group": column}) for (row, column), system in places.items()]
        for group in (None, *retrieved.groups):
            rows = retrieved.shown_rows(group).assign(part=f"{group or 'all'}, {retrieved.label}")
            tables.append(as_cells(Measurements(retrieved.systems, rows), cells))
    return joined(tables)


def _trained_on(system: System) -> str | None:
    """Its pair of languages, or the first one; None if it is not known."""
    encoder = system.runs[0].file.get("encoder") or {}
    return next(iter(encoder.get("pairs") or []), None)


def _of_one_pair(systems: list[System], column: str, pair: str | None) -> dict[tuple[str, str], System]:
    """The system of one pair for either kind of training; the first one if the pair is not known."""
    places: dict[tuple[str, str], System] = {}
    for system in systems:
        match = _ONE_PAIR.fullmatch(system.name)
        if match and not _PART.fullmatch(system.name) and pair in (None, match[2]):
            places.setdefault((match[1], column), system)
    return places


def losses_of_distillation(results: ResultSet) -> Measurements:
    """Students by losses on every benchmark, beside what is published of these students; nothing where all
    have the same losses.
    """
    tables, theirs = [], published(results).by_dataset()
    retrieval = joined(by_cosine(retrieved) for retrieved in Retrieved.of(results))
    ours = retrieval.by_dataset() | mined_shown(results).by_dataset()
    for dataset, measured in ours.items():
        cells = _students(measured)
        students, losses = ({names[axis] for _, names in cells} for axis in ("system", "group"))
        if len(losses) < 2:
            continue
        tables.append(as_cells(measured, cells))
        if published_students := theirs.get(dataset.partition(",")[0]):
            others = [
                (system, names | {"system": f"{names['system']}, published", "dataset": dataset})
                for system, names in _students(published_students)
                if names["system"] in students and names["group"] in losses
            ]
            tables.append(as_cells(published_students, others))
    return joined(tables)


def _students(measured: Measurements) -> Cells:
    return [
        (system, {"system": match["student"], "group": match["losses"]})
        for match, system in _matching(_STUDENT, measured.systems)
    ]


def _matching(pattern: re.Pattern, systems: Sequence[System]) -> list[tuple[re.Match, System]]:
    """The systems whose whole name is as a pattern says."""
    return [(match, system) for system in systems if (match := pattern.fullmatch(system.name))]


def numbers_of_a_vector(results: ResultSet) -> Measurements:
    """P@1, or F1 of mining, by the numbers of a vector, which are the `part`: of a layer for each
    (reduced-N), and of the first numbers of vectors, where several were measured.
    """
    mining = [_by_width(_reduced(measured), "f1") for measured in mined_shown(results).by_dataset().values()]
    return joined([*map(_widths, Retrieved.of(results)), *mining])


def _reduced(measured: Measurements) -> Measurements:
    """The encoders with a layer for each number of their vectors."""
    cells = [
        (system, {"system": "a layer for each", "part": match["width"]})
        for match, system in _matching(_REDUCED, measured.systems)
    ]
    return as_cells(measured, cells)


def _widths(retrieved: Retrieved) -> Measurements:
    rows = retrieved.measured.rows
    rows = rows[rows.measure == SMALLER]
    rows = rows.assign(part=rows.part.str.extract(_CUT, expand=False), measure=REACHED).dropna(subset="part")
    counts = rows.groupby("system").part.nunique()
    systems = [system for system in retrieved.systems if counts.get(system.name, 0) > 1]
    cut = [(system, {"system": f"{system.name}, first numbers"}) for system in systems]
    both = joined([_reduced(by_cosine(retrieved)), as_cells(Measurements(systems, rows), cut)])
    return _by_width(both, REACHED)


def _by_width(measured: Measurements, measure: str) -> Measurements:
    """The numbers in the order of the widths; nothing if all have one width."""
    if measured.rows.part.nunique() < 2:
        return joined([])
    order = pd.to_numeric(measured.rows.part).argsort(kind="stable")
    return Measurements(measured.systems, measured.rows.iloc[order].assign(measure=measure))
