"""Vectors in a file or in memory, of which a part at a time is looked at."""

from collections.abc import Iterator

import numpy as np

from data_prep.formats.vectors import VectorsFile, normalized


def blocks(vectors, rows: int) -> Iterator[tuple[int, np.ndarray]]:
    """Number of the first row, and rows of length 1 in memory, so many at a time."""
    if isinstance(vectors, VectorsFile):
        parts = vectors.blocks(rows)
    else:
        parts = ((start, vectors[start : start + rows]) for start in range(0, len(vectors), rows))
    for start, block in parts:
        yield start, normalized(block)


def some_of(vectors, rows: np.ndarray):
    """These rows; of a file they are read when they are looked at."""
    return vectors.only(rows) if isinstance(vectors, VectorsFile) else vectors[rows]


def in_memory(vectors) -> np.ndarray:
    """All rows, n x C."""
    return vectors.read() if isinstance(vectors, VectorsFile) else vectors


def width_of(vectors) -> int:
    return vectors.width if isinstance(vectors, VectorsFile) else vectors.shape[1]


def name_of(vectors) -> str:
    return str(vectors.path) if isinstance(vectors, VectorsFile) else "an array"
