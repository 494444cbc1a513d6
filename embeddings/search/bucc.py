"""Scores of mined pairs against gold pairs, as the BUCC shared task has it (Zweigenbaum et al. 2017).

The threshold is the one that is best on the training part; F1 is taken over all gold pairs of the test part.
Both sides are compared as texts: a sentence that occurs twice has two identifiers and is one sentence.
"""

from collections.abc import Collection, Mapping, Sequence
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
    """Precision, recall and F1 of pairs, each once, against gold pairs; a sentence may have several gold
    pairs.
    """
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
    thresholds = np.unique(np.concatenate([np.asarray(ranking.scores, dtype=float) for ranking in rankings]))[
        ::-1
    ]
    f1 = np.mean([ranking.f1_at(thresholds) for ranking in rankings], axis=0)
    if not f1.any():
        return float("inf")
    best = int(f1.argmax())
    return float(thresholds[best : best + 2].mean())


@dataclass(frozen=True)
class Scheme:
    """Whose threshold a pair of languages has.

    Attributes:
        tuned_on: pairs of languages whose highest mean F1 it gives; none for the pair itself.
        origin: what results call them; None for the pair's own name.
        is_further: names of test sets and files say so, as they are also scored with thresholds of their own.
    """

    tuned_on: tuple[str, ...] = ()
    origin: str | None = None
    is_further: bool = False

    def threshold(self, rankings: Mapping[str, Ranking], pair: str) -> float:
        """That of a pair; see `best_threshold`."""
        return best_threshold(*(rankings[tuned] for tuned in self.tuned_on or (pair,)))

    def title(self, pair: str, part: str) -> str:
        return f"{pair}, {part}" + (f", threshold of {self.origin}" if self.is_further else "")

    def file_name(self, pair: str, part: str) -> str:
        return f"{pair}.{part}" + (f".threshold-of-{self.origin}.tsv" if self.is_further else ".tsv")
