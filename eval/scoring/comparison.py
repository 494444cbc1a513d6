"""Comparisons of pairs of systems, with the correction for how many of them there are.

A family, whose tests are corrected together, is what one table shows and one conclusion is drawn from: on one
dataset, by one measure, all pairs that differ on the same axis (or all pairs asked for), times all
directions, or times all groups of directions. Pairs with a measure of each side are one family of a dataset.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.option_classes import option
from command_line.progress import progress
from eval.scoring.paired_test import RANDOMIZATION, SACREBLEU_BOOTSTRAP, PairedTest
from eval.scoring.significance import check_samples, holm, is_significant, samples_needed
from eval.scoring.system_pairs import Pair
from eval.systems import Run, System

FEWEST_SAMPLES = 9999  # p-values near 0.05 are then right to 0.004
PARTS = ("overall", "directions")
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
    once: Groups = {}
    for name, members in groups.items():
        if members and members not in once.values():
            once[name] = members
    return once


def common_directions(pair: Pair) -> list[str]:
    """Those that both systems have."""
    return [name for name in pair.baseline.directions() if name in pair.system.directions()]


@dataclass(frozen=True)
class Settings:
    """How to compare."""

    test: str = option(
        "sacreBLEU's bootstrap finds 11%% of true nulls significant at 0.05: for published numbers",
        RANDOMIZATION,
        choices=(RANDOMIZATION, SACREBLEU_BOOTSTRAP),
    )
    correction: str = option("for the number of tests", "holm", choices=("holm", "none"))
    samples: int | None = option(f"of the test (none: {FEWEST_SAMPLES}, or what the correction needs)")
    seed: int = option("of the samples", 12345)
    level: float = option(
        "the largest significant p-value", 0.05, type=types.number(0, 1, above=True, below=True)
    )


def compare(
    of: Compared, pairs: Sequence[Pair], measures: Sequence[str], settings: Settings
) -> tuple[list[dict], int]:
    """The comparisons of all pairs, measure by measure, and the number of samples.

    Args:
        measures: of pairs that have none of their own.

    Raises:
        InputError: systems were not scored alike, or not by a measure; or the samples asked for are too few.
    """
    todo = [(pair, of.groups(pair)) for pair in _with_measures(of, pairs, measures)]
    comparisons = [_described(pair) for pair, _ in todo]
    families: Counter[tuple] = Counter()  # the number of tests in each
    for comparison, (_, groups) in zip(comparisons, todo, strict=True):
        families.update({_family(comparison, part): len(groups[part]) for part in PARTS})
    samples = _samples(settings, max(families.values()))
    test = PairedTest(samples, settings.seed, settings.level, settings.test)
    for comparison, (pair, groups) in progress(
        zip(comparisons, todo, strict=True), len(todo), "compare", "pair"
    ):
        results = _tested(of, test, pair, groups["overall"] | groups["directions"])
        for part in PARTS:
            comparison["family"][part] = families[_family(comparison, part)]
            comparison[part] = {name: results[name] for name in groups[part]}
    _correct(comparisons, settings)
    return comparisons, samples


def _with_measures(of: Compared, pairs: Sequence[Pair], measures: Sequence[str]) -> list[Pair]:
    """Pairs with the measures of both sides, once for every measure that they are compared by."""
    by_one, by_two = ([pair for pair in pairs if bool(pair.measures) == own] for own in (False, True))
    for measure in measures if by_one else ():
        of.check(by_one, measure)
    for pair in by_two:
        for system, measure in zip(pair[:2], pair.measures, strict=True):
            of.check([Pair(system, system)], measure)
    return [pair._replace(measures=(measure, measure)) for measure in measures for pair in by_one] + by_two


def _tested(of: Compared, test: PairedTest, pair: Pair, tests: Groups) -> dict[str, dict]:
    """The results of all groups of directions of a pair, as files have them.

    Seeds say nothing of other trainings where a system is compared with itself: the test is of independent
    ones, and here both sides are the same.
    """
    directions = dict.fromkeys(direction for members in tests.values() for direction in members)
    measure = pair.measures[1]  # of the same formula as the other one
    sides = zip(pair[:2], pair.measures, strict=True)
    statistics = [_statistics(of, system, by, directions) for system, by in sides]
    results = {
        name: {
            **asdict(result),
            "agreement": of.agreement(measure, pair, result.difference),
            "neither_translates": of.neither_translates(pair, tests[name]),
        }
        for name, result in test(measure, *statistics, tests).items()
    }
    if pair.baseline is pair.system:
        results = {name: result | {"p_value_with_seeds": None} for name, result in results.items()}
    return results


def _statistics(of: Compared, system: System, measure: str, directions: Iterable[str]) -> dict:
    """Direction -> one array per seed."""
    seeds = [of.statistics(run, measure) for run in system.runs]
    return {direction: [arrays[direction] for arrays in seeds] for direction in directions}


def _described(pair: Pair) -> dict:
    first, second = pair.measures
    return {
        "dataset": pair.baseline.dataset,
        "measure": first if first == second else None,
        "measures": {"baseline": first, "compared": second},
        "axis": pair.axis,
        "baseline": pair.baseline.name,
        "compared": pair.system.name,
        "seeds": {"baseline": pair.baseline.seeds, "system": pair.system.seeds},
        "family": {},
    }


def _family(comparison: dict, part: str) -> tuple:
    return comparison["dataset"], comparison["measure"], comparison["axis"], part


def _samples(settings: Settings, tests: int) -> int:
    corrected = tests if settings.correction == "holm" else 1
    if settings.samples is None:
        return max(FEWEST_SAMPLES, samples_needed(corrected, settings.level))
    check_samples(settings.samples, corrected, settings.level)
    return settings.samples


def _correct(comparisons: Sequence[dict], settings: Settings) -> None:
    """Add the adjusted p-values, and whether a difference is significant, family by family."""
    families: dict[tuple, list[dict]] = defaultdict(list)
    for comparison in comparisons:
        for part in PARTS:
            families[_family(comparison, part)] += comparison[part].values()
    adjust = holm if settings.correction == "holm" else list
    for results in families.values():
        for name in ("p_value", "p_value_with_seeds"):
            p_values = [result[name] for result in results if result[name] is not None]
            adjusted = iter(adjust(p_values))
            for result in results:
                result[f"adjusted_{name}"] = None if result[name] is None else next(adjusted)
        for result in results:
            is_small = is_significant(result["adjusted_p_value"], settings.level)
            result["significant"] = is_small and not result["neither_translates"]
