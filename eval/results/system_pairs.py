"""Which systems are compared with which."""

import sys
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from command_line.errors import InputError
from command_line.records import field
from eval.results.labels import differing_axis
from eval.results.systems import Run, System, by_dataset


class Pair(NamedTuple):
    """`axis`: the only one on which they differ, for pairs that were chosen for that."""

    baseline: System
    system: System
    axis: str | None = None


def pairs_on_one_axis(systems: list[System]) -> list[Pair]:
    """Pairs that differ on one axis only, as every PreNorm/PostNorm pair of Table 8.2 does, axis by axis.

    Where no two are known to (translations made elsewhere, trainings with other losses), every pair; says so.
    """
    pairs = []
    for dataset, members in _on_datasets(systems):
        found = _on_one_axis(members)
        if not found:
            names = ", ".join(repr(one.name) for one in members)
            print(
                f"compare: no two of {names} on {dataset} are known to differ on one axis only, so every pair"
                " is compared (--against-first, --baseline NAME, --pairs A:B: fewer)",
                file=sys.stderr,
            )
            found = [Pair(*pair) for pair in combinations(members, 2)]
        pairs += found
    return checked(pairs)


def _on_one_axis(systems: list[System]) -> list[Pair]:
    """Axis by axis."""
    pairs = [Pair(*pair, differing_axis(*pair)) for pair in combinations(systems, 2)]
    axes = dict.fromkeys(pair.axis for pair in pairs if pair.axis is not None)
    return [pair for axis in axes for pair in pairs if pair.axis == axis]


def with_pairs_named(systems: list[System], names: Iterable[tuple[str, str]]) -> list[Pair]:
    """The pairs that differ on one axis only, and those named, whatever these differ in."""
    pairs = [pair for _, members in _on_datasets(systems) for pair in _on_one_axis(members)]
    known = {frozenset(map(id, pair[:2])) for pair in pairs}
    others = pairs_named(systems, names)
    return checked(pairs) + [pair for pair in others if frozenset(map(id, pair[:2])) not in known]


def all_pairs(systems: list[System]) -> list[Pair]:
    return checked([Pair(*pair) for _, members in _on_datasets(systems) for pair in combinations(members, 2)])


def pairs_named(systems: list[System], names: Iterable[tuple[str, str]]) -> list[Pair]:
    """The pairs of these names, baseline first, on every dataset that has both, whatever they differ in.

    Args:
        names: each the name of a system, or one of its folders or result files.

    Raises:
        InputError: no dataset has both systems of a pair.
    """
    pairs = []
    for baseline, other in names:
        found = [
            Pair(*chosen)
            for _, members in _on_datasets(systems)
            if None not in (chosen := [called(name, members) for name in (baseline, other)])
        ]
        if not found:
            known = ", ".join(dict.fromkeys(repr(one.name) for one in systems))
            raise InputError(
                f"--pairs {baseline}:{other}: no dataset has both; expected folders that are given, or names"
                f" among {known}"
            )
        pairs += found
    if same := next((pair for pair in pairs if pair.baseline is pair.system), None):
        raise InputError(f"--pairs: found {same.system.name!r} twice in a pair, expected two systems")
    return checked(pairs)


def called(name: str, systems: list[System]) -> System | None:
    """The system with this name, or with a run in this folder."""
    for system in systems:
        paths = [path.resolve() for run in system.runs for path in (run.path, run.path.parent)]
        if system.name == name or Path(name).resolve() in paths:
            return system
    return None


def pairs_with_first(systems: list[System]) -> list[Pair]:
    """The first system on each dataset with every other."""
    return checked([Pair(members[0], other) for _, members in _on_datasets(systems) for other in members[1:]])


def pairs_with(systems: list[System], name: str) -> list[Pair]:
    """The system of this name with every other, on each dataset.

    Raises:
        InputError: a dataset has no such system.
    """
    pairs = []
    for dataset, members in _on_datasets(systems):
        baseline = next((one for one in members if one.name == name), None)
        if baseline is None:
            known = ", ".join(repr(one.name) for one in members)
            raise InputError(f"--baseline {name}: no such system on {dataset}, expected one of: {known}")
        pairs += [Pair(baseline, other) for other in members if other is not baseline]
    return checked(pairs)


def _on_datasets(systems: list[System]) -> list[tuple[str, list[System]]]:
    """Datasets with their systems, at least two each; others are left out where there are such.

    Raises:
        InputError: there are none.
    """
    datasets = by_dataset(systems)
    found = [(dataset, members) for dataset, members in datasets.items() if len(members) > 1]
    if not found:
        dataset, members = next(iter(datasets.items()))
        raise InputError(
            f"{members[0].runs[0].path}: {members[0].name!r} is the only system on {dataset}, expected at"
            " least two (folders with the same system name are seeds of one system)"
        )
    return found


def checked(pairs: list[Pair]) -> list[Pair]:
    """Pairs whose systems were given the same lines and were measured in the same way: of translations, also
    with the same directions as zero-shot ones.

    Raises:
        InputError: one does not; names both files.
    """
    for baseline, system, _ in pairs:
        first, others = baseline.runs[0], (*baseline.runs[1:], *system.runs)
        if not set(baseline.directions()) & set(system.directions()):
            raise InputError(f"{first.path} and {others[-1].path}: no direction in common")
        for run in others:
            _check_same(first, run)
    return pairs


def _check_same(first: Run, run: Run) -> None:
    for direction in first.directions:
        for name in first.compared_alike:
            if direction in run.directions:
                values = [field(one.directions[direction], name, str, one.path) for one in (first, run)]
                check_equal(f"direction {direction}: {name}", first, run, *values)


def check_equal(what: str, first: Run, run: Run, expected, found) -> None:
    """Refuse to compare runs that differ in something else than the system; names both files."""
    if expected != found:
        raise InputError(f"{run.path}: {what} is {found}, but {expected} in {first.path}")
