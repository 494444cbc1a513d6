"""Comparisons of pairs of systems, with the correction for how many of them there are.

A family, whose tests are corrected together, is what one table shows and one conclusion is drawn from: on one
dataset, by one measure, all pairs that differ on the same axis (or all pairs asked for), times all
directions, or times all groups of directions. Pairs with a measure of each side are one family of a dataset.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from command_line import options as types
from command_line.option_classes import option
from command_line.progress import progress
from eval.scoring.compared import Compared
from eval.scoring.paired_test import RANDOMIZATION, SACREBLEU_BOOTSTRAP, PairedTest
from eval.scoring.significance import check_samples, holm, is_significant, samples_needed
from eval.scoring.system_pairs import Pair
from eval.systems import System

FEWEST_SAMPLES = 9999  # p-values near 0.05 are then right to 0.004
PARTS = ("overall", "directions")


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
        of: what is compared.
        measures: of pairs that have none of their own.

    Raises:
        InputError: systems were not scored alike, or not by a measure; or the samples asked for are too few.
    """
    todo = [(pair, of.groups(pair)) for pair in _with_measures(of, pairs, measures)]
    comparisons = [_described(pair) for pair, _ in todo]
    families = _families(comparisons, [groups for _, groups in todo])
    samples = _samples(settings, max(families.values()))
    test = PairedTest(samples, settings.seed, settings.level, settings.test)
    for comparison, (pair, groups) in progress(
        zip(comparisons, todo, strict=True), len(todo), "compare", "pair"
    ):
        found = _tested(of, test, pair, groups)
        for part in PARTS:
            comparison["family"][part] = families[_family(comparison, part)]
            comparison[part] = {name: found[name] for name in groups[part]}
    _correct(comparisons, settings)
    return comparisons, samples


def _with_measures(of: Compared, pairs: Sequence[Pair], measures: Sequence[str]) -> list[Pair]:
    """Pairs with the measures of both sides, as many times as there are measures that they are compared by.

    Raises:
        InputError: systems were not scored alike, or not by a measure.
    """
    found, by_one = [], [pair for pair in pairs if not pair.measures]
    for measure in measures if by_one else ():
        of.check(by_one, measure)
        found += [pair._replace(measures=(measure, measure)) for pair in by_one]
    for pair in (one for one in pairs if one.measures):
        for system, measure in zip(pair[:2], pair.measures, strict=True):
            of.check([Pair(system, system)], measure)
        found.append(pair)
    return found


def _tested(of: Compared, test: PairedTest, pair: Pair, groups: dict) -> dict[str, dict]:
    """The results of all groups of directions of a pair, as files have them.

    Seeds say nothing of other trainings where a system is compared with itself: the test is of independent
    ones, and here both sides are the same.
    """
    tests = groups["overall"] | groups["directions"]
    directions = dict.fromkeys(direction for members in tests.values() for direction in members)
    measure = pair.measures[1]  # of the same formula as the other one
    found = {
        name: {
            **result.record(),
            "agreement": of.agreement(measure, pair, result.difference),
            "neither_translates": of.neither_translates(pair, tests[name]),
        }
        for name, result in test(measure, *_statistics(of, pair, directions), tests).items()
    }
    if pair.baseline is pair.system:
        found = {name: result | {"p_value_with_seeds": None} for name, result in found.items()}
    return found


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


def _families(comparisons: Iterable[dict], groups: Iterable[dict]) -> dict[tuple, int]:
    """The number of tests in every family."""
    sizes: dict[tuple, int] = {}
    for comparison, tests in zip(comparisons, groups, strict=True):
        for part in PARTS:
            key = _family(comparison, part)
            sizes[key] = sizes.get(key, 0) + len(tests[part])
    return sizes


def _samples(settings: Settings, tests: int) -> int:
    corrected = tests if settings.correction == "holm" else 1
    if settings.samples is None:
        return max(FEWEST_SAMPLES, samples_needed(corrected, settings.level))
    check_samples(settings.samples, corrected, settings.level)
    return settings.samples


def _statistics(of: Compared, pair: Pair, directions: Iterable[str]) -> list[dict]:
    """Of both systems: direction -> one array per seed."""

    def by_direction(system: System, measure: str) -> dict:
        seeds = [of.statistics(run, measure) for run in system.runs]
        return {one: [arrays[one] for arrays in seeds] for one in directions}

    return [by_direction(system, measure) for system, measure in zip(pair[:2], pair.measures, strict=True)]


def _correct(comparisons: Sequence[dict], settings: Settings) -> None:
    """Add the adjusted p-values, and whether a difference is significant, family by family."""
    families: dict[tuple, list[dict]] = {}
    for comparison in comparisons:
        for part in PARTS:
            families.setdefault(_family(comparison, part), []).extend(comparison[part].values())
    adjust = holm if settings.correction == "holm" else list
    for results in families.values():
        for name in ("p_value", "p_value_with_seeds"):
            known = [result for result in results if result[name] is not None]
            for result in results:
                result[f"adjusted_{name}"] = None
            for result, adjusted in zip(known, adjust([one[name] for one in known]), strict=True):
                result[f"adjusted_{name}"] = adjusted
        for result in results:
            is_small = is_significant(result["adjusted_p_value"], settings.level)
            result["significant"] = is_small and not result["neither_translates"]
