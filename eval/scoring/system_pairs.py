"""Which systems are compared with which."""

import sys
from collections.abc import Collection, Iterable
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from command_line.errors import InputError
from command_line.records import field
from eval.checks import check_equal
from eval.labels import differing_axis
from eval.systems import Run, System, by_dataset


class Pair(NamedTuple):
    """`axis`: the only one on which they differ, for pairs that were chosen for that. `measures`: of the
    baseline and of the system, where each has its own; None until a common one is chosen.
    """

    baseline: System
    system: System
    axis: str | None = None
    measures: tuple[str, str] | None = None


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


def pairs_known_to_differ(systems: list[System]) -> list[Pair]:
    """Pairs that differ on one axis only; none where no two do."""
    return checked([pair for members in by_dataset(systems).values() for pair in _on_one_axis(members)])


def with_pairs(pairs: Iterable[Pair], others: Iterable[Pair]) -> list[Pair]:
    """Both, each pair once, in whichever order its systems are."""

    def key(pair: Pair) -> frozenset:
        measures = pair.measures or (None, None)
        return frozenset((id(system), measure) for system, measure in zip(pair[:2], measures, strict=True))

    found: dict[frozenset, Pair] = {}
    for pair in (*pairs, *others):
        found.setdefault(key(pair), pair)
    return list(found.values())


def all_pairs(systems: list[System]) -> list[Pair]:
    return checked([Pair(*pair) for _, members in _on_datasets(systems) for pair in combinations(members, 2)])


def pairs_of_measures(systems: list[System], measures: Iterable[tuple[str, str]]) -> list[Pair]:
    """Every system with itself, by the first of two measures as the baseline and by the second."""
    measures = list(measures)
    return checked([Pair(system, system, None, of_both) for system in systems for of_both in measures])


def pairs_named(
    systems: list[System], names: Iterable[tuple[str, str]], measures: Collection[str] = ()
) -> list[Pair]:
    """The pairs of these names, baseline first, on every dataset that has both, whatever they differ in.

    Args:
        names: each the name of a system, or one of its folders or result files; or that, "@" and a measure.
        measures: that may stand there: those of one unit.

    Raises:
        InputError: no dataset has both systems of a pair, or a measure is not known.
    """
    pairs = []
    for given in names:
        sides = [_name_and_measure(one, systems, measures) for one in given]
        of_both = _measures_of_pair(":".join(given), [measure for _, measure in sides])
        found = [
            Pair(*chosen, None, of_both)
            for members in by_dataset(systems).values()
            if None not in (chosen := [called(name, members) for name, _ in sides])
        ]
        if not found:
            known = ", ".join(dict.fromkeys(repr(one.name) for one in systems))
            raise InputError(
                f"--pairs {':'.join(given)}: no dataset has both; expected folders that are given, or names"
                f" among {known}"
            )
        pairs += found
    if same := next((pair for pair in pairs if pair.baseline is pair.system and not pair.measures), None):
        raise InputError(f"--pairs: found {same.system.name!r} twice in a pair, expected two systems")
    return checked(pairs)


def _name_and_measure(text: str, systems: list[System], measures: Collection[str]) -> tuple[str, str | None]:
    """What stands before "@", and behind it; a system whose own name has an "@" keeps it."""
    name, _, measure = text.rpartition("@")
    if not name or called(text, systems):
        return text, None
    if measure in measures:
        return name, measure
    if measures and called(name, systems):
        raise InputError(
            f"--pairs {text}: found {measure!r} as the measure of {name!r}, expected one of"
            f" {', '.join(measures)}"
        )
    return text, None


def _measures_of_pair(pair: str, measures: list[str | None]) -> tuple[str, str] | None:
    first, second = measures
    if first is None and second is None:
        return None
    if first is None or second is None:
        raise InputError(f"--pairs {pair}: one side has a measure, expected one of each, or of neither")
    if first == second:
        raise InputError(f"--pairs {pair}: {first} on both sides, expected two measures, or --metric {first}")
    return first, second


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
    for pair in pairs:
        first, others = pair.baseline.runs[0], (*pair.baseline.runs[1:], *pair.system.runs)
        if not set(pair.baseline.directions()) & set(pair.system.directions()):
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
