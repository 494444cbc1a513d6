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
        on_one_axis = _on_one_axis(members)
        if not on_one_axis:
            names = ", ".join(repr(member.name) for member in members)
            print(
                f"compare: no two of {names} on {dataset} are known to differ on one axis only, so every pair"
                " is compared (--against-first, --baseline NAME, --pairs A:B: fewer)",
                file=sys.stderr,
            )
        pairs += on_one_axis or [Pair(*pair) for pair in combinations(members, 2)]
    return checked(pairs)


def _on_one_axis(systems: list[System]) -> list[Pair]:
    """Axis by axis."""
    pairs = [Pair(*pair, differing_axis(*pair)) for pair in combinations(systems, 2)]
    axes = list(dict.fromkeys(pair.axis for pair in pairs))
    return sorted((pair for pair in pairs if pair.axis), key=lambda pair: axes.index(pair.axis))


def pairs_known_to_differ(systems: list[System]) -> list[Pair]:
    """Pairs that differ on one axis only; none where no two do."""
    return checked([pair for members in by_dataset(systems).values() for pair in _on_one_axis(members)])


def with_pairs(pairs: Iterable[Pair], others: Iterable[Pair]) -> list[Pair]:
    """Both, each pair once, in whichever order its systems are."""
    once: dict[frozenset, Pair] = {}
    for pair in (*pairs, *others):
        sides = zip(pair[:2], pair.measures or (None, None), strict=True)
        once.setdefault(frozenset((id(system), measure) for system, measure in sides), pair)
    return list(once.values())


def all_pairs(systems: list[System]) -> list[Pair]:
    return checked([Pair(*pair) for _, members in _on_datasets(systems) for pair in combinations(members, 2)])


def pairs_of_measures(systems: list[System], measures: Collection[tuple[str, str]]) -> list[Pair]:
    """Every system with itself, by the first of two measures as the baseline and by the second."""
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
        asked = f"--pairs {':'.join(given)}"
        sides = [_name_and_measure(text, systems, measures) for text in given]
        of_both = _measures_of_pair(asked, *(measure for _, measure in sides))
        of_datasets = [
            [called(name, members) for name, _ in sides] for members in by_dataset(systems).values()
        ]
        chosen = [Pair(*both, None, of_both) for both in of_datasets if None not in both]
        if not chosen:
            expected = ", ".join(dict.fromkeys(repr(system.name) for system in systems))
            raise InputError(
                f"{asked}: no dataset has both; expected folders that are given, or names among {expected}"
            )
        pairs += chosen
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


def _measures_of_pair(asked: str, first: str | None, second: str | None) -> tuple[str, str] | None:
    if first is None and second is None:
        return None
    if first is None or second is None:
        raise InputError(f"{asked}: one side has a measure, expected one of each, or of neither")
    if first == second:
        raise InputError(f"{asked}: {first} on both sides, expected two measures, or --metric {first}")
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
        baseline = next((member for member in members if member.name == name), None)
        if baseline is None:
            expected = ", ".join(repr(member.name) for member in members)
            raise InputError(f"--baseline {name}: no such system on {dataset}, expected one of: {expected}")
        pairs += [Pair(baseline, other) for other in members if other is not baseline]
    return checked(pairs)


def _on_datasets(systems: list[System]) -> list[tuple[str, list[System]]]:
    """Datasets with their systems, at least two each; others are left out where there are such."""
    datasets = by_dataset(systems)
    of_several = [(dataset, members) for dataset, members in datasets.items() if len(members) > 1]
    if not of_several:
        dataset, members = next(iter(datasets.items()))
        raise InputError(
            f"{members[0].runs[0].path}: {members[0].name!r} is the only system on {dataset}, expected at"
            " least two (folders with the same system name are seeds of one system)"
        )
    return of_several


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
            for name in first.compared_alike:
                check_same(first, run, name)
    return pairs


def check_same(first: Run, run: Run, name: str) -> None:
    """A field of the directions that both runs have is the same; else an `InputError`."""
    for direction in first.directions:
        if direction in run.directions:
            values = [field(each.directions[direction], name, str, each.path) for each in (first, run)]
            check_equal(f"direction {direction}: {name}", first, run, *values)
