"""Bitext in two monolingual texts: pairs of sentences by their margin (Artetxe and Schwenk 2019)."""

from dataclasses import dataclass

import numpy as np

from embeddings.search.blocks import blocks
from embeddings.search.margin import margins, without_neighbourhood
from embeddings.search.neighbours import EXACTLY, Neighbours, Search
from embeddings.search.retrieval import Neighbourhoods

SELECTIONS = ("max", "intersection", "forward", "backward")


@dataclass(frozen=True)
class Mining:
    """How pairs are found.

    Attributes:
        margin: a key of `embeddings.search.margin.MARGINS`.
        neighbours: k.
        selection: "forward" gives every first sentence its best of the k nearest, "backward" every second
            sentence, "intersection" keeps what both agree on, "max" takes the best pairs of both, no
            sentence twice (3.3 of the paper).
        search: how neighbours are found.
    """

    margin: str = "ratio"
    neighbours: int = 4
    selection: str = "max"
    search: Search = EXACTLY


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


def mine(first, second, mining: Mining) -> MinedPairs:
    """Find pairs.

    Args:
        first, second: vectors, n x C and m x C, as of `nearest`.
    """
    near = Neighbourhoods.of(first, second, mining.neighbours, mining.search)
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


def score_pairs(first, second, mining: Mining) -> np.ndarray:
    """The margin of line i with line i, n: neighbourhoods are those among all lines of the other side."""
    near = Neighbourhoods.of(first, second, mining.neighbours, mining.search)
    return margins(own_cosines(first, second), near.there.means, near.back.means, mining.margin)


def own_cosines(first, second, rows: int = 65_536) -> np.ndarray:
    """The cosine of line i with line i."""
    pairs = zip(blocks(first, rows), blocks(second, rows), strict=True)
    return np.concatenate([np.einsum("nc,nc->n", one, other) for (_, one), (_, other) in pairs])


def _best(there: Neighbours, back: Neighbours, mining: Mining) -> tuple[tuple[np.ndarray, ...], int]:
    """Score, own row and other row of each query's best candidate; and how many were held at the floor."""
    densities, others = there.means[:, None], back.means[there.rows]
    scores = margins(there.cosines, densities, others, mining.margin)
    best = scores.argmax(axis=1)[:, None]
    found = np.take_along_axis(there.rows, best, axis=1)[:, 0]
    held = without_neighbourhood(densities, others) if mining.margin == "ratio" else 0
    return (np.take_along_axis(scores, best, axis=1)[:, 0], np.arange(len(best)), found), held


def _no_row_twice(pairs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The best pairs, greedily, so that no row of either side is in two."""
    scores, first, second = pairs
    seen: tuple[set, set] = (set(), set())
    keep = []
    for place in np.lexsort((second, first, -scores)):
        one, other = int(first[place]), int(second[place])
        if one not in seen[0] and other not in seen[1]:
            seen[0].add(one)
            seen[1].add(other)
            keep.append(place)
    return tuple(each[keep] for each in pairs)
