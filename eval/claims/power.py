"""What an experiment can see, computed before it runs: with t distributions and a power of 80%."""

import math
from collections.abc import Sequence

POWER = 0.8


def noncentrality(freedom: float, level: float) -> float:
    """How many standard errors a difference has that a two-sided t-test finds with probability `POWER`."""
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    critical = t.isf(level / 2, freedom)
    return brentq(lambda shift: nct.sf(critical, freedom, shift) - POWER, 0, 10 * critical + 10)


def smallest_difference(terms: Sequence[tuple[float, int]], level: float, paired: bool) -> float:
    """In standard deviations: of trainings, taken to be equal, or, of pairs, of the combination.

    Args:
        terms: coefficient and number of seeds of every system.
    """
    if paired:
        seeds = terms[0][1]
        return noncentrality(seeds - 1, level) / math.sqrt(seeds)
    error = math.sqrt(sum(c * c / seeds for c, seeds in terms))
    return noncentrality(sum(seeds - 1 for _, seeds in terms), level) * error


def largest_deviation(terms: Sequence[tuple[float, int]], level: float, paired: bool) -> float:
    """As a share of the margin: with it, two one-sided tests find systems alike that are the same, with
    probability `POWER`.
    """
    from scipy.stats import t

    if paired:
        seeds = terms[0][1]
        freedom, error = seeds - 1, math.sqrt(1 / seeds)
    else:
        freedom = sum(seeds - 1 for _, seeds in terms)
        error = math.sqrt(sum(c * c / seeds for c, seeds in terms))
    return 1 / (error * (t.isf(level, freedom) + t.isf((1 - POWER) / 2, freedom)))


def smallest_correlation(units: int, level: float) -> float:
    """That a two-sided test finds with probability `POWER`, by Fisher's transformation."""
    from scipy.special import ndtri

    return math.tanh((ndtri(1 - level / 2) + ndtri(POWER)) / math.sqrt(units - 3))
