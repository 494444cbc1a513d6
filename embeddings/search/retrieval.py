"""Retrieval among line-parallel sentences: P@1 and error rate of both directions.

Two counts. By number, line i of the one side must find line i of the other, as `mteb`'s bitext mining has
it; by text, any line that reads the same is right, too, as LASER's evaluation has it: a sentence that occurs
twice is no error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embeddings.search.margin import margins
from embeddings.search.neighbours import MEMORY, Neighbours, nearest

COSINE = "cosine"


@dataclass(frozen=True)
class Searching:
    """How a sentence's translation is chosen.

    Attributes:
        similarity: "cosine", or a kind of margin.
        neighbours: k of the margin.
        memory: GiB for blocks of vectors.
    """

    similarity: str = COSINE
    neighbours: int = 4
    memory: float = MEMORY


@dataclass(frozen=True)
class Precision:
    """Of the queries of one direction.

    Attributes:
        lines: queries.
        by_number: share that found its own line, P@1.
        by_text: share that found a line of the same text.
    """

    lines: int
    by_number: float
    by_text: float

    @property
    def error(self) -> float:
        """Share of the queries, by text; with the margin `ratio` and k = 4 it is LASER's xsim."""
        return 1 - self.by_text


def retrieve(first, second, searching: Searching) -> tuple[np.ndarray, np.ndarray]:
    """The row of the other side that each row is paired with: first -> second, second -> first.

    Args:
        first, second: vectors, n x C and m x C, as of `nearest`.
    """
    there = _neighbours(first, second, searching)
    back = _neighbours(second, first, searching)
    return _chosen(there, back, searching), _chosen(back, there, searching)


def precision(found: np.ndarray, texts: Sequence[str], gold: np.ndarray | None = None) -> Precision:
    """How often the row that was found is the right one.

    Args:
        found: rows of the candidates, one per query.
        texts: of the candidates.
        gold: the right rows; by default query i belongs to row i.
    """
    gold = np.arange(len(found)) if gold is None else gold
    number = {text: place for place, text in reversed(list(enumerate(texts)))}
    same = np.array([number[text] for text in texts])
    return Precision(len(found), float((found == gold).mean()), float((same[found] == same[gold]).mean()))


def _neighbours(queries, candidates, searching: Searching) -> Neighbours:
    k = 1 if searching.similarity == COSINE else min(searching.neighbours, len(candidates))
    return nearest(queries, candidates, k, searching.memory)


def _chosen(there: Neighbours, back: Neighbours, searching: Searching) -> np.ndarray:
    """The best of each query's neighbours."""
    if searching.similarity == COSINE:
        return there.rows[:, 0]
    scores = margins(there.cosines, there.means[:, None], back.means[there.rows], searching.similarity)
    return np.take_along_axis(there.rows, scores.argmax(axis=1)[:, None], axis=1)[:, 0]
