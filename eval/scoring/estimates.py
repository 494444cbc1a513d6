"""Effects over trainings with their uncertainty: differences of means over seeds, and correlations.

The unit is a training. Everything else (sentences, directions, layers) is averaged into one number per
training first, so that many sentences never stand in for few trainings.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST_UNITS = 4  # of a correlation, whose error is 1 / sqrt(n - 3)


@dataclass(frozen=True)
class Difference:
    """A linear combination of means over seeds.

    Attributes:
        error: standard error.
        freedom: degrees of freedom of its estimate.
    """

    effect: float
    error: float
    freedom: float

    def interval(self, level: float) -> tuple[float, float]:
        """Holds the true effect with probability 1 - level."""
        from scipy.special import stdtrit

        width = stdtrit(self.freedom, 1 - level / 2) * self.error if self.error else 0.0
        return self.effect - width, self.effect + width

    def p_above(self, value: float) -> float:
        """One-sided p-value of the hypothesis that the true effect is at most this value."""
        from scipy.special import stdtr

        if not self.error:
            return 0.0 if self.effect > value else 1.0
        return float(stdtr(self.freedom, (value - self.effect) / self.error))

    def p_below(self, value: float) -> float:
        """One-sided p-value of the hypothesis that the true effect is at least this value."""
        return Difference(-self.effect, self.error, self.freedom).p_above(-value)


@dataclass(frozen=True)
class Correlation:
    """Pearson's r of n units, by Fisher's transformation: atanh r has the error 1 / sqrt(n - 3); with the
    methods of `Difference`.
    """

    effect: float
    units: int

    def interval(self, level: float) -> tuple[float, float]:
        from scipy.special import ndtri

        width = ndtri(1 - level / 2) / math.sqrt(self.units - 3)
        middle = _atanh(self.effect)
        return math.tanh(middle - width), math.tanh(middle + width)

    def p_above(self, value: float) -> float:
        from scipy.special import ndtr

        return float(ndtr((_atanh(value) - _atanh(self.effect)) * math.sqrt(self.units - 3)))

    def p_below(self, value: float) -> float:
        return Correlation(-self.effect, self.units).p_above(-value)


Estimate = Difference | Correlation


def _atanh(r: float) -> float:
    return math.atanh(max(-1 + 1e-12, min(1 - 1e-12, r)))


def difference(terms: Sequence[tuple[float, np.ndarray]]) -> Difference:
    """The difference of independent trainings, with Welch's error and Satterthwaite's degrees of freedom: the
    variance is the sum of c^2 s^2 / n.

    Args:
        terms: coefficient c, and the numbers of n >= 2 trainings, of every system.
    """
    effect = sum(c * values.mean() for c, values in terms)
    parts = [(c * c * values.var(ddof=1) / len(values), len(values) - 1) for c, values in terms]
    variance = sum(part for part, _ in parts)
    spread = sum(part * part / freedom for part, freedom in parts)
    return Difference(
        float(effect), math.sqrt(variance), variance * variance / spread if spread else math.inf
    )


def paired_difference(terms: Sequence[tuple[float, np.ndarray]]) -> Difference:
    """The difference of trainings that share something per seed (a start, or the training itself): the t-test
    of the combination of every seed.

    Args:
        terms: coefficient, and the numbers of the same seeds in the same order, at least two.
    """
    combined = sum(c * values for c, values in terms)
    return Difference(
        float(combined.mean()), float(combined.std(ddof=1)) / math.sqrt(len(combined)), len(combined) - 1
    )


def correlation(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """The correlation of numbers of the same units, at least `FEWEST_UNITS`. Numbers that are all the same
    have r = 0.
    """
    columns = np.array([first, second], dtype=float)
    if not np.ptp(columns, axis=1).all():
        return Correlation(0.0, len(first))
    return Correlation(float(np.corrcoef(columns)[0, 1]), len(first))
