"""The k nearest neighbours of vectors by cosine, in bounded memory; faiss or a GPU does the products."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import option
from embeddings.search.blocks import blocks, name_of, width_of
from embeddings.search.inverted import inverted_lists
from embeddings.search.on_gpu import all_candidates_on, check_gpu

MEMORY = 2.0  # GiB
EXACT, INVERTED, GPU = INDEXES = ("exact", "ivf", "gpu")
_COPIES = 3  # a block as it is read, in float32, and of length 1


@dataclass(frozen=True)
class Search:
    """How neighbours are looked for."""

    index: str = option(
        "exact: all candidates; gpu: all of them, on a GPU; ivf: those of a few inverted lists on disk, "
        "below TMPDIR, for millions without a GPU",
        EXACT,
        choices=INDEXES,
    )
    lists: int | None = option("inverted lists of ivf (default: 4 times the root of the candidates)")
    probes: int = option("inverted lists that a query searches", 32)
    memory: float = option(
        "GiB for blocks of vectors", MEMORY, compare=False, type=types.number(0, 10_000, above=True)
    )

    def __post_init__(self):
        if self.index == GPU:
            check_gpu()

    def rows(self, width: int) -> int:
        """Vectors of so many numbers that a block of queries and one of candidates may have."""
        return max(1, int(self.memory * 2**30 / (4 * width * 2 * _COPIES)))


EXACTLY = Search()


@dataclass(frozen=True)
class Neighbours:
    """The k nearest candidates of n queries, the nearest first; among equals, the first line.

    Where more candidates are equal than there is room for among the k, which of them are left out depends on
    the index, and on how many are compared at once.

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


def nearest(queries, candidates, k: int, search: Search = EXACTLY) -> Neighbours:
    """The nearest candidates of every query.

    Args:
        queries, candidates: `VectorsFile` (read block by block) or arrays, n x C and m x C; of any length,
            and left as they are. A vector of zeros has cosine 0 with all.
        k: no more than there are candidates.
        search: the result, n x k x 12 bytes, comes on top of its memory.

    Raises:
        InputError: another number of columns, or fewer candidates than k.
    """
    if width_of(queries) != width_of(candidates):
        raise InputError(
            f"{name_of(candidates)}: vectors of {width_of(candidates)} numbers, but those of"
            f" {name_of(queries)} have {width_of(queries)}; expected vectors of one encoder"
        )
    if not 1 <= k <= len(candidates):
        raise InputError(
            f"{name_of(candidates)}: {len(candidates)} vectors, expected at least as many as neighbours: {k}"
        )
    rows = search.rows(width_of(queries))
    with _opened(candidates, search, rows) as find:
        parts = [in_order(*find(block, k)) for _, block in blocks(queries, rows)]
    return Neighbours(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _opened(candidates, search: Search, rows: int) -> AbstractContextManager:
    """A function from queries and k to cosines and rows of their neighbours."""
    if search.index == INVERTED:
        return inverted_lists(candidates, search.lists, search.probes, rows)
    if search.index == GPU:
        return all_candidates_on("cuda", candidates, rows)
    return _all_candidates(candidates, rows)


@contextmanager
def _all_candidates(candidates, rows: int) -> Iterator:
    """Among all candidates."""
    import faiss

    def find(queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        best = None
        for start, block in blocks(candidates, rows):
            cosines, places = faiss.knn(queries, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
            new = cosines, places.astype(np.int64) + start
            both = new if best is None else tuple(map(np.hstack, zip(best, new, strict=True)))
            best = tuple(each[:, :k] for each in in_order(*both))
        return best

    yield find


def in_order(cosines: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest first; among equals, the first line."""
    order = np.lexsort((rows, -cosines))
    return np.take_along_axis(cosines, order, axis=1), np.take_along_axis(rows, order, axis=1)
