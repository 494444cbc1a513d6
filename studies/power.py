"""What an experiment can see, computed before it runs: with the tests of its verdicts and a power of 80%."""

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

POWER = 0.8
DRAWS, SEED = 20_000, 12345  # of estimated variances; a power is exact to 0.2 points by that

Terms = Sequence[tuple[float, int]]  # coefficient and number of seeds of every system


def smallest_difference(terms: Terms, level: float, paired: bool) -> float:
    """In standard deviations, of trainings, taken to be equal, or, of pairs, of the combination: what a
    two-sided test finds with probability `POWER`. The test is Welch's, whose degrees of freedom depend on the
    deviations that it finds; of pairs, Student's of their combination.
    """
    from scipy.special import ndtr

    error, bounds = _bounds(_combined(terms, paired), level / 2)
    return error * _solved(lambda shift: ndtr(shift - bounds / error).mean())


def largest_deviation(terms: Terms, level: float, paired: bool) -> float:
    """As a share of the margin: with it, two one-sided tests find systems alike that are the same, with
    probability `POWER`.
    """
    from scipy.special import ndtr

    error, bounds = _bounds(_combined(terms, paired), level)
    return 1 / (error * _solved(lambda margin: np.maximum(2 * ndtr(margin - bounds / error) - 1, 0).mean()))


def _combined(terms: Terms, paired: bool) -> tuple[tuple[float, int], ...]:
    return ((1.0, terms[0][1]),) if paired else tuple(terms)


@functools.cache
def _bounds(terms: tuple[tuple[float, int], ...], level: float) -> tuple[float, np.ndarray]:
    """The standard error for a deviation of 1, and, in draws of the deviations that seeds will show, how far
    from 0 an estimate has to be for a one-sided test at the level.
    """
    from scipy.stats import t

    rng = np.random.default_rng(SEED)
    shares = np.array([c * c / seeds for c, seeds in terms])
    freedoms = np.array([seeds - 1 for _, seeds in terms])
    squares = shares * rng.chisquare(freedoms, size=(DRAWS, len(terms))) / freedoms
    welch = squares.sum(axis=1) ** 2 / (squares**2 / freedoms).sum(axis=1)
    return math.sqrt(shares.sum()), t.isf(level, welch) * np.sqrt(squares.sum(axis=1))


def _solved(power: Callable[[float], float]) -> float:
    """At how many standard errors a power is `POWER`."""
    from scipy.optimize import brentq

    highest = 1.0
    while power(highest) < POWER:
        highest *= 2
    return brentq(lambda shift: power(shift) - POWER, 0, highest)


def smallest_correlation(units: int, level: float) -> float:
    """That a two-sided test finds with probability `POWER`, by Fisher's transformation."""
    from scipy.special import ndtri

    return math.tanh((ndtri(1 - level / 2) + ndtri(POWER)) / math.sqrt(units - 3))
