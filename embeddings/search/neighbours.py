"""The k nearest neighbours of vectors by cosine, exactly, in bounded memory; faiss does the products."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from command_line.errors import InputError
from data_prep.formats.vectors import VectorsFile, normalized

MEMORY = 2.0  # GiB
_COPIES = 3  # a block as it is read, in float32, and of length 1


@dataclass(frozen=True)
class Neighbours:
    """The k nearest candidates of n queries, the nearest first; among equals, the first line.

    Attributes:
        cosines: n x k, float32.
        rows: of the candidates, n x k, int64.
    """

    cosines: np.ndarray
    rows: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """Mean cosine of each query with its neighbours, n: how dense its neighbourhood is."""
        return self.cosines.mean(axis=1)


def nearest(queries, candidates, k: int, memory: float = MEMORY) -> Neighbours:
    """Compare every query with every candidate.

    Args:
        queries, candidates: `VectorsFile` (read block by block) or arrays, n x C and m x C; of any length,
            and left as they are. A vector of zeros has cosine 0 with all.
        k: no more than there are candidates.
        memory: GiB for blocks of vectors; the result, n x k x 12 bytes, comes on top.

    Raises:
        InputError: another number of columns, or fewer candidates than k.
    """
    if width_of(queries) != width_of(candidates):
        raise InputError(
            f"{_name(candidates)}: vectors of {width_of(candidates)} numbers, but those of {_name(queries)}"
            f" have {width_of(queries)}; expected vectors of one encoder"
        )
    if not 1 <= k <= len(candidates):
        raise InputError(
            f"{_name(candidates)}: {len(candidates)} vectors, expected at least as many as neighbours: {k}"
        )
    rows = max(1, int(memory * 2**30 / (4 * width_of(queries) * 2 * _COPIES)))
    found = [_nearest_of_block(block, candidates, k, rows) for _, block in blocks(queries, rows)]
    return Neighbours(
        np.concatenate([one.cosines for one in found]), np.concatenate([one.rows for one in found])
    )


def blocks(vectors, rows: int) -> Iterator[tuple[int, np.ndarray]]:
    """Number of the first row, and rows of length 1 in memory, so many at a time."""
    if isinstance(vectors, VectorsFile):
        parts = vectors.blocks(rows)
    else:
        parts = ((start, vectors[start : start + rows]) for start in range(0, len(vectors), rows))
    for start, block in parts:
        yield start, normalized(block)


def width_of(vectors) -> int:
    return vectors.width if isinstance(vectors, VectorsFile) else vectors.shape[1]


def _name(vectors) -> str:
    return str(vectors.path) if isinstance(vectors, VectorsFile) else "an array"


def _nearest_of_block(queries: np.ndarray, candidates, k: int, rows: int) -> Neighbours:
    import faiss

    best = None
    for start, block in blocks(candidates, rows):
        cosines, found = faiss.knn(queries, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
        new = Neighbours(cosines, found.astype(np.int64) + start)
        best = (
            new
            if best is None
            else Neighbours(*map(np.hstack, zip(_fields(best), _fields(new), strict=True)))
        )
        order = np.lexsort((best.rows, -best.cosines))[:, :k]
        best = Neighbours(*(np.take_along_axis(each, order, axis=1) for each in _fields(best)))
    return best


def _fields(one: Neighbours) -> tuple[np.ndarray, np.ndarray]:
    return one.cosines, one.rows
