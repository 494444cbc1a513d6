"""How much nearer two sentences are to each other than to their other neighbours (Artetxe and Schwenk 2019).

With a = cos(x, y) and b the mean of the mean cosines of x with its k nearest neighbours in the other language
and of y with its own ("Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings", equations
2 to 4):

    absolute: a        distance: a - b        ratio: a / b
"""

from collections.abc import Callable

import numpy as np

FLOOR = 0.01  # of b in the ratio: below it, neighbours are no neighbourhood, and a / b grows without bound

MARGINS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ratio": lambda cosines, density: cosines / np.maximum(density, FLOOR),
    "distance": lambda cosines, density: cosines - density,
    "absolute": lambda cosines, density: cosines,
}


def margins(cosines: np.ndarray, densities: np.ndarray, others: np.ndarray, kind: str) -> np.ndarray:
    """Scores of pairs.

    Args:
        cosines: of the pairs, any shape.
        densities: mean cosine of the one sentence with its neighbours, to be broadcast with `cosines`.
        others: of the other sentence.
    """
    return MARGINS[kind](cosines, (densities + others) / 2)


def without_neighbourhood(densities: np.ndarray, others: np.ndarray) -> int:
    """Pairs whose ratio is held at the floor: neighbours that are as good as orthogonal, or opposite."""
    return int(((densities + others) / 2 < FLOOR).sum())
