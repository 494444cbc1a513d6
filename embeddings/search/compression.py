"""Vectors of fewer numbers and of fewer bits, and the nearest neighbour among them.

| kind | a number | compared by |
|---|---|---|
| `float32` | 32 bits | cosine |
| `int8` | 8 bits: steps of 4 / (127 sqrt C) of a vector of length 1, larger ones cut | product of integers |
| `binary` | 1 bit: its sign | Hamming distance |

A step of int8 depends on the width alone, as numbers of vectors of length 1 have a deviation of 1 / sqrt C or
less. With rescoring, the nearest few by the compressed vectors of both sides are compared again, the query's
float32 vector with the compressed candidates (Yamada et al. 2021, "Efficient Passage Retrieval with Hashing
for Open-domain Question Answering", 3.2).
"""

from dataclasses import dataclass

import numpy as np

from data_prep.formats.vectors import normalized

FLOAT32, INT8, BINARY = "float32", "int8", "binary"
RESCORED = "+rescored"
KINDS = (FLOAT32, INT8, f"{INT8}{RESCORED}", BINARY, f"{BINARY}{RESCORED}")
FEW = 10  # candidates that are compared again
DEVIATIONS = 4  # 1 / sqrt C times as many fit into int8


@dataclass(frozen=True)
class Compression:
    """How vectors are made smaller.

    Attributes:
        kind: one of KINDS.
        width: the first so many numbers.
    """

    kind: str
    width: int

    @property
    def numbers(self) -> str:
        """FLOAT32, INT8 or BINARY."""
        return self.kind.removesuffix(RESCORED)

    @property
    def bytes(self) -> int:
        """Of a stored vector."""
        return {FLOAT32: 4 * self.width, INT8: self.width, BINARY: (self.width + 7) // 8}[self.numbers]


def quantized(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1, n x C, as int8."""
    steps = 127 * vectors.shape[1] ** 0.5 / DEVIATIONS
    return np.clip(np.rint(vectors * steps), -127, 127).astype(np.int8)


def signs(vectors: np.ndarray) -> np.ndarray:
    """n x C as bits, n x C/8 uint8: a bit is 1 where the number is above 0."""
    return np.packbits(vectors > 0, axis=1)


def nearest_compressed(queries: np.ndarray, candidates: np.ndarray, how: Compression) -> np.ndarray:
    """The row of the nearest candidate of every query; among equals the first.

    Args:
        queries, candidates: n x C and m x C, float32, of any length; C at least `how.width`.
    """
    import faiss

    queries, candidates = (normalized(side[:, : how.width]) for side in (queries, candidates))
    few = min(FEW, len(candidates)) if how.kind.endswith(RESCORED) else 1
    if how.numbers == BINARY:
        compared = np.where(candidates > 0, np.float32(1), np.float32(-1))
        distances, rows = faiss.knn_hamming(signs(queries), signs(candidates), _all_of_few(candidates, few))
        order = np.lexsort((rows, distances))[:, :few]
        rows = np.take_along_axis(rows, order, axis=1)
    else:
        exact = how.numbers == FLOAT32
        compared = candidates if exact else quantized(candidates).astype(np.float32)
        asked = queries if exact else quantized(queries).astype(np.float32)
        _, rows = faiss.knn(asked, compared, few, metric=faiss.METRIC_INNER_PRODUCT)
    scores = np.einsum("nc,nkc->nk", queries, compared[rows])
    best = scores.argmax(axis=1) if few > 1 else np.zeros(len(rows), dtype=int)
    return np.take_along_axis(rows, best[:, None], axis=1)[:, 0]


def _all_of_few(candidates: np.ndarray, few: int) -> int:
    """Candidates that are asked for by Hamming distance, of which many are equally far: enough to put them in
    the order of their lines.
    """
    return min(len(candidates), 10 * few)
