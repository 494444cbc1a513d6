"""Precision at 1 of the probes: within batches, with several right answers; equally near ones share the hit.

Test sets of sentence retrieval are counted as their authors do (`embeddings/search/retrieval.py`): one of the
equally near ones is found. Without equal vectors both are one number.
"""

from collections.abc import Iterable

import numpy as np

ROWS = 2048  # queries at a time: a block of similarities takes ROWS x n x 4 bytes


def hits(queries: np.ndarray, keys: np.ndarray, gold: np.ndarray | None = None) -> np.ndarray:
    """Whether the nearest key of each query is a right one.

    Keys that are equally near share the hit: a query whose nearest keys are k equal ones, r of them right,
    counts r/k. So a model that maps everything to one point is at chance, and not at 0 or 1 by the order of
    the lines.

    Args:
        queries, keys: n x C and m x C, rows of length 1.
        gold: n x m, whether a key is a right answer; by default row i belongs to row i.

    Returns:
        n numbers from 0 to 1; their mean is P@1.
    """
    shares = np.empty(len(queries))
    for start in range(0, len(queries), ROWS):
        cosines = queries[start : start + ROWS] @ keys.T
        numbers = np.arange(start, start + len(cosines))
        right = np.arange(len(keys)) == numbers[:, None] if gold is None else gold[numbers]
        # Equal vectors have equal products only up to rounding, which depends on the place in the block.
        nearest = cosines >= cosines.max(axis=1, keepdims=True) - 1e-6
        shares[numbers] = (nearest & right).sum(axis=1) / nearest.sum(axis=1)
    return shares


def both_ways(batches: Iterable[tuple[np.ndarray, ...]]) -> float:
    """P@1 within batches from the first to the second side and back, averaged (thesis C.2).

    Args:
        batches: `hits`' arguments: normalized vectors of both sides and, if not row by row, what belongs to
            what. Every vector counts the same, whatever the size of its batch.
    """
    there, back = [], []
    for first, second, *gold in batches:
        there.append(hits(first, second, *gold))
        back.append(hits(second, first, *(side.T for side in gold)))
    return float(np.concatenate(there).mean() + np.concatenate(back).mean()) / 2
