"""Bitext in two monolingual texts: pairs of sentences by their margin (Artetxe and Schwenk 2019)."""

from dataclasses import dataclass

import numpy as np

from command_line.option_classes import option
from data_prep.formats.vectors import normalized
from embeddings.search.blocks import in_memory, some_of, width_of
from embeddings.search.margin import MARGINS, margins, without_neighbourhood
from embeddings.search.neighbours import EXACTLY, Neighbours, Search
from embeddings.search.rescoring import BY_VECTORS, Rescoring, Sides, rescored
from embeddings.search.retrieval import Neighbourhoods

SELECTIONS = ("max", "intersection", "forward", "backward")


@dataclass(frozen=True)
class Mining:
    """How pairs are found."""

    margin: str = option("of the paper's equations", "ratio", choices=list(MARGINS))
    neighbours: int = option("k of the paper", 4)
    selection: str = option(
        "the best pair of every sentence of the first text (forward) or the second (backward), those"
        " that are both (intersection), or the best of both, no sentence twice (max)",
        "max",
        choices=SELECTIONS,
    )
    search: Search = EXACTLY
    rescoring: Rescoring = BY_VECTORS


@dataclass(frozen=True)
class MinedPairs:
    """Pairs, the best first.

    Attributes:
        scores: n, float32.
        first, second: rows of the two sides, n.
        without_neighbourhood: candidates whose ratio is held at the floor.
    """

    scores: np.ndarray
    first: np.ndarray
    second: np.ndarray
    without_neighbourhood: int

    def pairs(self, count: int | None = None) -> list[tuple[int, int]]:
        """The best ones as numbers, to be compared with gold pairs; None for all."""
        return list(zip(self.first[:count].tolist(), self.second[:count].tolist(), strict=True))

    def reaching(self, threshold: float | None) -> int:
        """How many have a score of at least this; None for all."""
        return int(reached(self.scores, threshold).sum())


def reached(scores: np.ndarray, threshold: float | None) -> np.ndarray:
    """Which scores are at least this, n; None for all. A threshold may lie between two of 32 bits."""
    if threshold is None:
        return np.ones(len(scores), dtype=bool)
    return scores.astype(np.float64) >= threshold


def mine(first, second, mining: Mining, states: Sides | None = None) -> MinedPairs:
    """Find pairs.

    Args:
        first, second: vectors, n x C and m x C, as of `nearest`.
        states: of the tokens of both sides, by which neighbours are compared again; None for not at all.
    """
    near = Neighbourhoods.of(first, second, mining.neighbours, mining.search)
    if states is not None:
        near = rescored(near, states, mining.rescoring)
    forward, held = _best(near.there, near.back, mining)
    backward, held_back = _best(near.back, near.there, mining)
    backward = (backward[0], backward[2], backward[1])
    held = held + held_back
    if mining.selection in ("forward", "backward"):
        chosen = forward if mining.selection == "forward" else backward
    elif mining.selection == "intersection":
        agreed = backward[1][forward[2]] == forward[1]
        chosen = tuple(each[agreed] for each in forward)
    else:
        chosen = _no_row_twice(tuple(map(np.concatenate, zip(forward, backward, strict=True))))
    order = np.lexsort((chosen[2], chosen[1], -chosen[0]))
    return MinedPairs(*(each[order] for each in chosen), without_neighbourhood=held)


def score_pairs(first, second, mining: Mining, pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The margins of given pairs, n.

    Args:
        first, second: vectors of different sentences, as of `nearest`: among equal ones a right pair would
            be no nearer to each other than to its neighbours.
        pairs: rows of the first and of the second side, n each.
    """
    near = Neighbourhoods.of(first, second, mining.neighbours, mining.search)
    cosines = cosines_of_pairs(first, second, pairs, mining.search)
    return margins(cosines, near.there.means[pairs[0]], near.back.means[pairs[1]], mining.margin)


def cosines_of_pairs(first, second, pairs: tuple[np.ndarray, np.ndarray], search: Search) -> np.ndarray:
    """The cosines of given pairs of rows, n, in bounded memory."""
    cosines, step = np.empty(len(pairs[0]), dtype=np.float32), search.rows(width_of(first))
    for start in range(0, len(cosines), step):
        rows = slice(start, start + step)
        sides = zip((first, second), pairs, strict=True)
        left, right = (normalized(in_memory(some_of(vectors, which[rows]))) for vectors, which in sides)
        cosines[rows] = np.einsum("nc,nc->n", left, right)
    return cosines


def _best(there: Neighbours, back: Neighbours, mining: Mining) -> tuple[tuple[np.ndarray, ...], int]:
    """Score, own row and other row of each query's best candidate; and how many were held at the floor."""
    densities, others = there.means[:, None], back.means[there.rows]
    scores = margins(there.cosines, densities, others, mining.margin)
    best = scores.argmax(axis=1)[:, None]
    rows = np.take_along_axis(there.rows, best, axis=1)[:, 0]
    held = without_neighbourhood(densities, others) if mining.margin == "ratio" else 0
    return (np.take_along_axis(scores, best, axis=1)[:, 0], np.arange(len(best)), rows), held


def _no_row_twice(pairs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The best pairs, greedily, so that no row of either side is in two."""
    scores, first, second = pairs
    free = [np.ones(side.max() + 1, dtype=bool) for side in (first, second)]
    keep = np.zeros(len(scores), dtype=bool)
    for place in np.lexsort((second, first, -scores)):
        left, right = first[place], second[place]
        if free[0][left] and free[1][right]:
            free[0][left] = free[1][right] = False
            keep[place] = True
    return tuple(each[keep] for each in pairs)
