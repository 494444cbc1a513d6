"""Scores of mined pairs against gold pairs, as the BUCC shared task has it (Zweigenbaum et al. 2017).

The threshold is the one that is best on the training part; F1 is taken over all gold pairs of the test part.
Both sides are compared as texts: a sentence that occurs twice has two identifiers and is one sentence.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

Pair = tuple[int, int]


@dataclass(frozen=True)
class Found:
    """How well the pairs that were found are those of the gold standard, at one threshold.

    Attributes:
        precision, recall, f1: from 0 to 1; 0 where nothing was found.
        pairs: that were found, with the threshold.
    """

    precision: float
    recall: float
    f1: float
    pairs: int


def f1_score(pairs: Collection[Pair], gold: Collection[Pair]) -> Found:
    """Of pairs, each once, against gold pairs, of which a sentence may have several."""
    pairs, gold = set(pairs), set(gold)
    right = len(pairs & gold)
    precision = right / len(pairs) if pairs else 0.0
    recall = right / len(gold) if gold else 0.0
    return Found(precision, recall, 2 * right / (len(pairs) + len(gold)) if right else 0.0, len(pairs))


@dataclass(frozen=True)
class Ranking:
    """What was mined from two texts, and what should have been.

    Attributes:
        scores: n, in descending order.
        pairs: n.
        gold: right pairs, of which a sentence may have several.
    """

    scores: np.ndarray
    pairs: Sequence[Pair]
    gold: Collection[Pair]

    def f1_at(self, thresholds: np.ndarray) -> np.ndarray:
        """F1 of the pairs that reach each threshold."""
        gold = set(self.gold)
        right = np.cumsum([0, *(pair in gold for pair in self.pairs)])
        kept = np.searchsorted(-np.asarray(self.scores), -thresholds, side="right")
        return 2 * right[kept] / (kept + len(gold))


def best_threshold(*rankings: Ranking) -> float:
    """The score from which pairs are kept so that F1 is highest: half way to the next worse pair.

    Args:
        rankings: of one pair of languages; of several, it is the one threshold with the highest mean F1.

    Returns:
        Infinity if no pair is right.
    """
    thresholds = np.unique(np.concatenate([np.asarray(one.scores, dtype=float) for one in rankings]))[::-1]
    f1 = np.mean([one.f1_at(thresholds) for one in rankings], axis=0)
    if not f1.any():
        return float("inf")
    best = int(f1.argmax())
    return float(thresholds[best : best + 2].mean())
