"""The best hypotheses of a sentence, as a search finds them."""

import bisect
import math

Hypothesis = tuple[list[int], float]  # token ids and score


class FinishedHypotheses:
    """The best finished hypotheses of a sentence, best first.

    Args:
        count: so many are kept.
    """

    def __init__(self, count: int):
        self.count = count
        self.best: list[Hypothesis] = []

    @property
    def last(self) -> float:
        """The score that another one must exceed."""
        return self.best[-1][1] if len(self.best) == self.count else -math.inf

    def add(self, tokens: list[int], score: float) -> None:
        place = bisect.bisect_right(self.best, -score, key=lambda hypothesis: -hypothesis[1])
        self.best.insert(place, (tokens, score))
        del self.best[self.count :]
