"""Comparisons of pairs of systems, with the correction for how many of them there are.

A family, whose tests are corrected together, is what one table shows and one conclusion is drawn from: on one
dataset, by one measure, all pairs that differ on the same axis (or all pairs asked for), times all
directions, or times all groups of directions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from command_line.errors import InputError
from command_line.progress import progress
from eval.results.system_pairs import Pair
from eval.results.systems import System
from eval.scoring.compared import Compared
from eval.scoring.paired_test import RANDOMIZATION, PairedTest
from eval.scoring.significance import holm, is_significant, samples_needed

FEWEST_SAMPLES = 9999  # p-values near 0.05 are then right to 0.004
PARTS = ("overall", "directions")


@dataclass(frozen=True)
class Settings:
    """How to compare.

    Attributes:
        samples: of the test; None for as many as the correction needs.
        level: the largest significant p-value.
    """

    test: str = RANDOMIZATION
    correction: str = "holm"
    samples: int | None = None
    seed: int = 12345
    level: float = 0.05


def compare(
    of: Compared, pairs: Sequence[Pair], measures: Sequence[str], settings: Settings
) -> tuple[list[dict], int]:
    """The comparisons of all pairs, measure by measure, and the number of samples.

    Args:
        of: what is compared.

    Raises:
        InputError: systems were not scored alike, or not by a measure; or the samples asked for are too few.
    """
    todo = []
    for measure in measures:
        of.check(pairs, measure)
        todo += [(measure, pair, of.groups(pair)) for pair in pairs]
    comparisons = [_described(measure, pair) for measure, pair, _ in todo]
    families = _families(comparisons, [groups for _, _, groups in todo])
    samples = _samples(settings, max(families.values()))
    test = PairedTest(samples, settings.seed, settings.level, settings.test)
    for comparison, (measure, pair, groups) in progress(
        zip(comparisons, todo, strict=True), len(todo), "compare", "pair"
    ):
        tests = groups["overall"] | groups["directions"]
        directions = dict.fromkeys(direction for members in tests.values() for direction in members)
        found = test(measure, *_statistics(of, pair, measure, directions), tests)
        for part in PARTS:
            comparison["family"][part] = families[_family(comparison, part)]
            comparison[part] = {
                name: found[name].record()
                | {"agreement": of.agreement(measure, pair, found[name].difference)}
                for name in groups[part]
            }
    _correct(comparisons, settings)
    return comparisons, samples


def _described(measure: str, pair: Pair) -> dict:
    return {
        "dataset": pair.baseline.dataset,
        "measure": measure,
        "axis": pair.axis,
        "baseline": pair.baseline.name,
        "system": pair.system.name,
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
    needed = samples_needed(tests if settings.correction == "holm" else 1, settings.level)
    if settings.samples is None:
        return max(FEWEST_SAMPLES, needed)
    if settings.samples < needed:
        raise InputError(
            f"--samples {settings.samples}: the smallest possible p-value is 1/{settings.samples + 1}; Holm's"
            f" correction for {tests} tests at --level {settings.level} needs at least {needed} samples"
        )
    return settings.samples


def _statistics(of: Compared, pair: Pair, measure: str, directions: Iterable[str]) -> list[dict]:
    """Of both systems: direction -> one array per seed."""

    def by_direction(system: System) -> dict:
        seeds = [of.statistics(run, measure) for run in system.runs]
        return {one: [arrays[one] for arrays in seeds] for one in directions}

    return [by_direction(pair.baseline), by_direction(pair.system)]


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
            result["significant"] = is_significant(result["adjusted_p_value"], settings.level)
