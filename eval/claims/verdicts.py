"""Verdicts on claims: expectations, their p-values, and Holm's correction within families.

A claim with several parts (`every one of these systems is better`) holds if all parts do: the largest of
their p-values counts, which needs no correction (intersection-union test). It is contradicted by any of them,
so that the smallest p-value of those against it counts, times the number of parts (Bonferroni).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from eval.scoring.estimates import Estimate
from eval.scoring.significance import holm, is_significant

AGREES, CONTRADICTS, CANNOT_TELL = "agrees", "contradicts", "cannot tell"


@dataclass(frozen=True)
class Expectation:
    """What a claim says of an effect.

    Attributes:
        way: "above" or "below" a value, or "alike": not further than a margin from 0.
        than: the value, or the margin.
    """

    way: str
    than: float = 0.0

    def interval(self, estimate: Estimate, level: float) -> tuple[float, float]:
        """The one that the test agrees with: of two one-sided tests at `level` it is that of twice the
        level.
        """
        return estimate.interval(2 * level if self.way == "alike" else level)


class Finding(NamedTuple):
    """Which way the numbers point, and the p-value of the hypothesis that they do not."""

    agrees: bool
    p_value: float


def finding(expectation: Expectation, estimate: Estimate) -> Finding:
    """Two-sided; of `alike`, two one-sided tests (Schuirmann, 1987), and the same the other way round.

    That systems are not alike is said of either side of the margin, so that its p-value is doubled.
    """
    if expectation.way == "alike":
        margin = expectation.than
        inside = max(estimate.p_above(-margin), estimate.p_below(margin))
        outside = min(1.0, 2 * min(estimate.p_above(margin), estimate.p_below(-margin)))
        return Finding(inside <= outside, min(inside, outside))
    above, below = estimate.p_above(expectation.than), estimate.p_below(expectation.than)
    p_for, p_against = (above, below) if expectation.way == "above" else (below, above)
    return Finding(p_for <= p_against, min(1.0, 2 * min(p_for, p_against)))


def together(findings: Sequence[Finding]) -> Finding:
    """Of a claim with several parts."""
    against = [one.p_value for one in findings if not one.agrees]
    if not against:
        return Finding(True, max(one.p_value for one in findings))
    return Finding(False, min(1.0, len(findings) * min(against)))


def corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's procedure in a family that was fixed before: a claim that waits counts as p = 1."""
    adjusted = holm([1.0 if p_value is None else p_value for p_value in p_values])
    return [None if p is None else one for p, one in zip(p_values, adjusted, strict=True)]


def verdict(found: Finding, adjusted: float, level: float) -> str:
    if not is_significant(adjusted, level):
        return CANNOT_TELL
    return AGREES if found.agrees else CONTRADICTS
