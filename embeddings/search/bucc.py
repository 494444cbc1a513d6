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


def best_threshold(scores: np.ndarray, pairs: Sequence[Pair], gold: Collection[Pair]) -> float:
    """The score from which pairs are kept so that F1 is highest: half way to the next worse pair.

    Args:
        scores: n, in descending order.
        pairs: n.

    Returns:
        Infinity if no pair is right. Pairs of equal scores stay together.
    """
    gold = set(gold)
    right = np.cumsum([pair in gold for pair in pairs])
    if not len(right) or not right[-1]:
        return float("inf")
    found = np.arange(1, len(right) + 1)
    f1 = 2 * right / (found + len(gold))
    last_of_equals = np.append(scores[:-1] != scores[1:], True)
    best = int(np.where(last_of_equals, f1, -1).argmax())
    if best + 1 == len(scores):
        return float(scores[best])
    return float(scores[best] + scores[best + 1]) / 2
