"""What a kind of results gives to comparisons of systems: measures, groups of directions, lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eval.scoring.system_pairs import Pair
from eval.systems import Run

Groups = dict[str, list[str]]  # name -> directions


@dataclass(frozen=True)
class Compared:
    """How systems are compared by one kind of result files.

    Attributes:
        kind: of the files.
        measures: the first one is compared where none is asked for.
        load: the runs of a file.
        groups: for "overall" and "directions", the name and the directions of every test of a pair.
        statistics: of a run, by a measure: direction -> lines x columns, for `FORMULAS`.
        check: refuses pairs that were not measured alike by a measure.
        agreement: of people with a difference by a measure; None where that is not known.
        neither_translates: whether the scores of both systems in some directions say nothing.
        of_one_unit: measures that are compared with each other.
        test: the only one that suits the measures; None if any does.
    """

    kind: str
    measures: tuple[str, ...]
    load: Callable[[Path], list[Run]]
    groups: Callable[[Pair], dict[str, Groups]]
    statistics: Callable[[Run, str], dict[str, np.ndarray]]
    check: Callable[[Sequence[Pair], str], None]
    agreement: Callable[[str, Pair, float], float | None]
    neither_translates: Callable[[Pair, Sequence[str]], bool]
    of_one_unit: tuple[str, ...] = ()
    test: str | None = None


def named_once(groups: Groups) -> Groups:
    """Groups with members; the first of several with the same ones."""
    found: Groups = {}
    for name, members in groups.items():
        if members and members not in found.values():
            found[name] = members
    return found


def common_directions(pair: Pair) -> list[str]:
    """Those that both systems have."""
    return [one for one in pair.baseline.directions() if one in pair.system.directions()]
