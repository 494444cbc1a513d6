"""Vectors of fewer numbers and of fewer bits, and the nearest neighbour among them.

| kind | a number (`data_prep/formats/vector_numbers.py`) | compared by |
|---|---|---|
| `float32` | 32 bits | cosine |
| `int8` | 8 bits | product of integers |
| `binary` | 1 bit: its sign | Hamming distance |

With rescoring, the nearest few by the compressed vectors of both sides are compared again, the query's
float32 vector with the compressed candidates (Yamada et al. 2021, "Efficient Passage Retrieval with Hashing
for Open-domain Question Answering", 3.2).
"""

from dataclasses import dataclass

import numpy as np

from data_prep.formats.vector_numbers import BINARY, INT8, Numbers
from data_prep.formats.vectors import VectorsFile, normalized
from embeddings.search.blocks import blocks, in_memory
from embeddings.search.neighbours import in_order

FLOAT32 = "float32"
RESCORED = "+rescored"
KINDS = (FLOAT32, INT8, f"{INT8}{RESCORED}", BINARY, f"{BINARY}{RESCORED}")
FEW = 10  # candidates that are compared again
RESCORED_ROWS = 1_024  # queries that are compared again at a time: 40 MB of candidates a 1,000 numbers


@dataclass(frozen=True)
class Compression:
    """How vectors are made smaller.

    Attributes:
        width: the first so many numbers.
    """

    kind: str
    width: int

    @property
    def numbers(self) -> Numbers:
        """The kind of numbers of a candidate."""
        return Numbers(self.kind.removesuffix(RESCORED), self.width)

    @property
    def is_rescored(self) -> bool:
        return self.kind.endswith(RESCORED)


def nearest_compressed(queries, candidates, how: Compression) -> np.ndarray:
    """The row of the nearest candidate of every query; among equals the first.

    Args:
        queries, candidates: files, or arrays of float32, n x C and m x C, of any length; C at least
            `how.width`. Of a file that is stored as is asked for, the numbers are taken as they are.
    """
    import faiss

    few = min(FEW, len(candidates)) if how.is_rescored else 1
    asked, stored = _compressed(queries, how), _compressed(candidates, how)
    if how.numbers.dtype == BINARY:
        distances, rows = faiss.knn_hamming(asked, stored, _all_of_few(candidates, few))
        order = np.lexsort((rows, distances))[:, :few]
        rows = np.take_along_axis(rows, order, axis=1)
    else:
        exact = (side.astype(np.float32) for side in (asked, stored))  # integers of 8 bits are, too
        _, rows = in_order(*faiss.knn(*exact, few, metric=faiss.METRIC_INNER_PRODUCT))
    if few == 1:
        return rows[:, 0]
    best = [
        _best_of_few(block[:, : how.width], how.numbers.read(stored[rows[start : start + len(block)]]))
        for start, block in blocks(queries, RESCORED_ROWS)
    ]
    return np.take_along_axis(rows, np.concatenate(best)[:, None], axis=1)[:, 0]


def _best_of_few(queries: np.ndarray, few: np.ndarray) -> np.ndarray:
    """The place among its own few candidates, n x k x C, of every query's nearest one."""
    return np.einsum("nc,nkc->nk", normalized(queries), few).argmax(axis=1)


def _compressed(vectors, how: Compression) -> np.ndarray:
    """The numbers of one side, as they are compared."""
    if isinstance(vectors, VectorsFile) and vectors.numbers == how.numbers and how.numbers.dtype != FLOAT32:
        return np.ascontiguousarray(vectors.as_stored())
    return how.numbers.stored(normalized(in_memory(vectors)[:, : how.width]))


def _all_of_few(candidates, few: int) -> int:
    """Candidates that are asked for by Hamming distance, of which many are equally far: enough to put them in
    the order of their lines.
    """
    return min(len(candidates), 10 * few)
