"""Paired tests of the difference between two systems, on the score that tables show.

That score is the mean over directions and seeds of the corpus score of each (BLEU, chrF++, or the mean of
scores of lines). The concatenation of all lines is another number, in which a direction with long lines or
many n-grams outweighs the others.

The unit that is exchanged or drawn is the line number: the outputs of all seeds for a line, and the i-th
lines of all directions with equally many lines, go together. Drawing them one by one would treat three seeds
as three times as many test sentences, and a multi-parallel test set as that many independent ones, and find
significance where there is none. Where directions with equally many lines have other sentences, it does no
harm that they go together: independent units may be exchanged in groups. Directions with another number of
lines cannot be parallel line by line, and have draws of their own; if they share sentences under other
numbers, that is not seen, and p-values over such directions are too small.

Approximate randomization (Riezler and Maxwell, 2005) exchanges the outputs of both systems for half of the
units; the p-value is the share of differences at least as large as the observed one. It holds for these
trained models: whether other trainings would differ, too, is `p_value_with_seeds`.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from command_line.errors import InputError

CHUNK = 320  # samples at a time; a multiple of 32, for which numpy draws the same bits as all at once
DRAWN_AT_ONCE = 4_000_000
NUMBERS_AT_ONCE = 10_000_000  # of an array of all lines or samples: 80 MB
PAIRS = 16  # of seeds, or a multiple: on one thread, products of so many columns have the bits of all at once
FEWEST_SEEDS = 3
Score = Callable[[np.ndarray], np.ndarray]


def exchanged_differences(
    baseline: np.ndarray, system: np.ndarray, score: Score, samples: int, seed: int
) -> np.ndarray:
    """Differences (system minus baseline) after the outputs for random lines changed sides.

    With different numbers of seeds, outputs are repeated until the numbers agree, which leaves the means as
    they are; of so many pairs, some at a time are looked at.

    Args:
        baseline, system: statistics, N lines x D directions x S seeds x C columns.
        score: from sums (… x C) to scores (…).

    Returns:
        samples x D, means over seeds.
    """
    lines, rng = len(baseline), np.random.default_rng(seed)
    pairs = math.lcm(baseline.shape[2], system.shape[2])
    room = NUMBERS_AT_ONCE // (max(lines, CHUNK) * baseline.shape[1] * baseline.shape[3])
    at_once = max(1, room // PAIRS) * PAIRS

    @functools.lru_cache(maxsize=1)  # all pairs are prepared once, if they are looked at together
    def changes(start: int) -> _Changes:
        return _Changes.of(baseline, system, np.arange(start, min(start + at_once, pairs)))

    differences_of_chunks = []
    for count in _chunks(samples):
        exchange = rng.integers(2, size=(count, lines), dtype=bool)
        differences = [changes(start).differences(exchange, score) for start in range(0, pairs, at_once)]
        differences_of_chunks.append(np.concatenate(differences, axis=-1).mean(axis=-1))
    return np.concatenate(differences_of_chunks)


@dataclass(frozen=True)
class _Changes:
    """What it changes that P pairs of seeds exchange their outputs for a line.

    Attributes:
        totals: of the system, D x P x C.
        both: totals of both together.
        changes: N x D x P x C.
    """

    totals: np.ndarray
    both: np.ndarray
    changes: np.ndarray

    @classmethod
    def of(cls, baseline: np.ndarray, system: np.ndarray, pairs: np.ndarray) -> "_Changes":
        first, second = (side[:, :, pairs % side.shape[2]] for side in (baseline, system))
        totals = second.sum(axis=0, dtype=np.float64)
        return cls(totals, totals + first.sum(axis=0, dtype=np.float64), _as_float(first - second))

    def differences(self, exchange: np.ndarray, score: Score) -> np.ndarray:
        """Samples x D x P, where `exchange` (samples x N) says which lines change sides."""
        changed = exchange.astype(self.changes.dtype) @ self.changes.reshape(len(self.changes), -1)
        exchanged = self.totals + changed.reshape(-1, *self.totals.shape)
        return score(exchanged) - score(self.both - exchanged)


def resampled_scores(
    baseline: np.ndarray, system: np.ndarray, score: Score, samples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap (Koehn, 2004): scores of both systems on the same lines, drawn with replacement.

    Args:
        baseline, system: statistics, N lines x D directions x S seeds x C columns; S may differ.

    Returns:
        samples x D x S for each.
    """
    lines = len(baseline)
    arrays = [_as_float(side) for side in (baseline, system)]
    resampled = ([], [])
    for times in times_drawn(lines, samples, seed):
        for array, scores in zip(arrays, resampled, strict=True):
            sums = times.astype(array.dtype) @ array.reshape(lines, -1)
            scores.append(score(sums.reshape(-1, *array.shape[1:]).astype(np.float64)))
    return tuple(np.concatenate(scores) for scores in resampled)


def times_drawn(lines: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """How often a bootstrap sample has each line, samples x N, some samples at a time."""
    rng = np.random.default_rng(seed)
    for count in _chunks(samples):
        drawn = rng.choice(lines, size=(count, lines)) + lines * np.arange(count)[:, None]
        yield np.bincount(drawn.ravel(), minlength=count * lines).reshape(count, lines)


def _chunks(samples: int) -> Iterator[int]:
    for start in range(0, samples, CHUNK):
        yield min(CHUNK, samples - start)


def _as_float(statistics: np.ndarray) -> np.ndarray:
    """Single precision, which is twice as fast, where it holds every sum of the counts exactly."""
    exact = np.issubdtype(statistics.dtype, np.integer)
    exact = exact and 4 * np.abs(statistics, dtype=np.float64).sum(axis=0).max() < 2**24
    return statistics.astype(np.float32 if exact else np.float64)


def randomization_p(observed: float, exchanged: np.ndarray) -> float:
    """Two-sided p-value of approximate randomization.

    The observed order is one of the possible ones: p is at least 1 / (samples + 1), and never too small.
    """
    return _share(np.abs(exchanged) >= abs(observed) - 1e-9)  # rounding must not tell equal scores apart


def sacrebleu_bootstrap_p(observed: float, resampled: np.ndarray) -> float:
    """The p-value of sacreBLEU's paired bootstrap, for comparison with published numbers.

    It centres the absolute differences, and so compares with half of a distribution: where there is no
    difference, it finds one at 0.05 in about 11% of all cases.
    """
    absolute = np.abs(resampled)
    if not absolute.any():
        return 1.0  # equal outputs, to which sacreBLEU gives the smallest p-value there is
    return _share(absolute - absolute.mean() > abs(observed))


def bootstrap_p(observed: float, resampled: np.ndarray) -> float:
    """Two-sided p-value of the bootstrap (Efron and Tibshirani, 1993, 16.4): how often a difference is as far
    from the observed one as that is from 0.
    """
    return _share(np.abs(resampled - observed) >= abs(observed) - 1e-9)


def _share(flags: np.ndarray) -> float:
    return float((flags.sum() + 1) / (len(flags) + 1))


def interval(resampled: np.ndarray, level: float) -> tuple[float, float]:
    """Percentile bootstrap interval that holds the true difference with probability 1 - level."""
    low, high = np.quantile(resampled, [level / 2, 1 - level / 2])
    return float(low), float(high)


def interval_of_mean(
    hits: Mapping[str, Sequence[np.ndarray]], level: float, samples: int, seed: int
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean over directions, lines and seeds, of these seeds.

    As everywhere, the i-th lines of all directions with equally many lines are drawn together.

    Args:
        hits: direction -> one array of numbers per line, N, per seed.
    """
    rng, drawn = np.random.default_rng(seed), np.zeros(samples)
    blocks: dict[int, list[np.ndarray]] = {}
    for seeds in hits.values():
        blocks.setdefault(len(seeds[0]), []).append(np.mean(seeds, axis=0))
    for lines, directions in blocks.items():
        of_line = np.mean(directions, axis=0)
        at_once = max(1, DRAWN_AT_ONCE // lines)
        means = [
            of_line[rng.integers(lines, size=(min(at_once, samples - start), lines))].mean(axis=1)
            for start in range(0, samples, at_once)
        ]
        drawn += len(directions) / len(hits) * np.concatenate(means)
    return interval(drawn, level)


def p_value_with_seeds(
    scores: Sequence[np.ndarray], resampled: Sequence[np.ndarray], fewest: int = FEWEST_SEEDS
) -> float | None:
    """Whether other trainings on other test sentences would differ, too: Welch's t-test over seeds, to whose
    variance that of the test sentences is added.

    Three seeds a side can be divided in ten ways only, so that exchanging seeds never gives p < 0.1. Here the
    difference of means has the variance s_A^2 / n_A + s_B^2 / n_B + v. s^2 is the variance of the scores of n
    seeds. v is the bootstrap variance of the difference over test sentences, less what the sentences
    contribute to differences among the seeds of a system, which is in s^2 already. Degrees of freedom are
    Satterthwaite's, with as many as there can be for v.

    Args:
        scores: of baseline and system, S each.
        resampled: the same on bootstrap samples, samples x S each.

    Returns:
        None for fewer than `fewest` seeds of either.
    """
    from scipy.stats import t

    if min(map(len, scores)) < fewest:
        return None
    seeds = [of_seeds.var(ddof=1) / len(of_seeds) for of_seeds in scores]
    sentences = (resampled[1].mean(axis=1) - resampled[0].mean(axis=1)).var(ddof=1)
    for of_seeds in resampled:
        apart = of_seeds - of_seeds.mean(axis=1, keepdims=True)
        sentences -= apart.var(axis=0, ddof=1).sum() / (of_seeds.shape[1] - 1) / of_seeds.shape[1]
    variance = max(sentences, 0.0) + sum(seeds)
    difference = abs(scores[1].mean() - scores[0].mean())
    if variance == 0:
        return 0.0 if difference else 1.0
    if not any(seeds):
        freedom = math.inf
    else:
        freedom = variance**2 / sum(
            variance_of_system**2 / (len(s) - 1) for variance_of_system, s in zip(seeds, scores, strict=True)
        )
    return float(2 * t.sf(difference / math.sqrt(variance), freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values: with them at most `level`, the probability of any false one among all
    tests is at most `level`, however they depend on each other.
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def samples_needed(tests: int, level: float) -> int:
    """The smallest number of samples whose smallest p-value, 1 / (samples + 1), survives the correction."""
    return math.ceil(tests / Fraction(str(level))) - 1


def check_samples(samples: int, tests: int, level: float) -> None:
    """Refuse samples with which no test could be significant.

    Raises:
        InputError: `tests` corrected together by Holm need more.
    """
    needed = samples_needed(tests, level)
    if samples < needed:
        raise InputError(
            f"--samples {samples}: the smallest possible p-value is 1/{samples + 1}; Holm's correction for"
            f" {tests} tests at level {level} needs at least {needed} samples"
        )


def is_significant(p_value: float, level: float) -> bool:
    return p_value <= level * (1 + 1e-9)  # 90 * (1 / 1800) is 0.05 up to rounding
