"""The best hypotheses of a sentence, as a search finds them."""

import bisect
import math

Found = tuple[list[int], float]  # token ids and score


class FinishedHypotheses:
    """The best finished hypotheses of a sentence, best first.

    Args:
        count: so many are kept.
    """

    def __init__(self, count: int):
        self.count = count
        self.found: list[Found] = []

    @property
    def last(self) -> float:
        """The score that another one must exceed."""
        return self.found[-1][1] if len(self.found) == self.count else -math.inf

    def add(self, tokens: list[int], score: float) -> None:
        place = bisect.bisect_right(self.found, -score, key=lambda one: -one[1])
        self.found.insert(place, (tokens, score))
        del self.found[self.count :]
