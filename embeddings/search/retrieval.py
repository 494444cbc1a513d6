"""Retrieval among line-parallel sentences: P@1 and error rate of both directions, and what was hit.

Two counts. By number, line i of the one side must find line i of the other, as `mteb`'s bitext mining has
it; by text, any line that reads the same is right, too, as LASER's evaluation has it: a sentence that occurs
twice is no error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embeddings.search.margin import MARGINS, margins
from embeddings.search.neighbours import EXACTLY, Neighbours, Search, nearest
from embeddings.search.texts import identities_of

COSINE = "cosine"
SIMILARITIES = (COSINE, *MARGINS)


@dataclass(frozen=True)
class Precision:
    """Which queries of one direction found their lines.

    Attributes:
        hits: n, whether a query found its own line.
        hits_by_text: n, whether it found a line of the same text.
    """

    hits: np.ndarray
    hits_by_text: np.ndarray

    @property
    def lines(self) -> int:
        return len(self.hits)

    @property
    def by_number(self) -> float:
        """Share of the queries, P@1."""
        return float(self.hits.mean())

    @property
    def by_text(self) -> float:
        return float(self.hits_by_text.mean())

    @property
    def error(self) -> float:
        """Share of the queries, by text; with the margin `ratio` and k = 4 it is LASER's xsim with the texts
        (`eval_text`). Without them xsim is 1 - `by_number`.
        """
        return 1 - self.by_text


@dataclass(frozen=True)
class Neighbourhoods:
    """The k nearest neighbours of either side in the other."""

    there: Neighbours
    back: Neighbours

    @classmethod
    def of(cls, first, second, k: int, search: Search = EXACTLY) -> "Neighbourhoods":
        """The nearest neighbours of every vector on the other side, in both directions.

        Args:
            first, second: vectors, n x C and m x C, as of `nearest`.
            k: neighbours; fewer where a side has fewer lines.
        """
        k = min(k, len(first), len(second))
        return cls(nearest(first, second, k, search), nearest(second, first, k, search))

    def reversed(self) -> "Neighbourhoods":
        return Neighbourhoods(self.back, self.there)

    def retrieve(self, similarity: str) -> np.ndarray:
        """The row of the second side that each row of the first finds.

        Args:
            similarity: "cosine", or a kind of margin, by which the best of the k nearest is chosen.
        """
        if similarity == COSINE:
            return self.there.rows[:, 0]
        densities, others = self.there.means[:, None], self.back.means[self.there.rows]
        scores = margins(self.there.cosines, densities, others, similarity)
        return np.take_along_axis(self.there.rows, scores.argmax(axis=1)[:, None], axis=1)[:, 0]


def precision(retrieved: np.ndarray, texts: Sequence[str], gold: np.ndarray | None = None) -> Precision:
    """How often the row that was retrieved is the right one.

    Args:
        retrieved: rows of the candidates, one per query.
        texts: of the candidates.
        gold: the right rows; by default query i belongs to row i.
    """
    gold = np.arange(len(retrieved)) if gold is None else gold
    same = identities_of(texts)
    return Precision(retrieved == gold, same[retrieved] == same[gold])
