"""Temperature sampling over directions (Arivazhagan et al. 2019): p_i proportional to n_i^(1/T).

`T = 1` is proportional to the data; `T = 5` is the usual choice for unbalanced data; without a temperature
every sentence pair is seen exactly once per epoch (thesis 8.2.1: no oversampling).
"""

import numpy as np

LARGEST_URN = 10**9  # numpy draws numbers of items by set from less than this


def epoch_sizes(sizes: np.ndarray, temperature: float) -> np.ndarray:
    """How many sentence pairs of each direction an epoch holds; the sum stays that of the data.

    Args:
        sizes: number of sentence pairs per direction, all positive.
        temperature: T >= 1.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    weights = sizes.astype(np.float64) ** (1.0 / temperature)
    exact = weights / weights.sum() * sizes.sum()
    rounded = np.floor(exact).astype(np.int64)
    largest_remainders = np.argsort(rounded - exact, kind="stable")[: sizes.sum() - rounded.sum()]
    rounded[largest_remainders] += 1
    return np.maximum(rounded, 1)


def spread(sizes: np.ndarray, budget: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The numbers of `budget` items, drawn without repetition out of all items of several sets: for every set
    those that are drawn of it, ascending. All items, if there are no more than `budget`.

    Args:
        sizes: number of items of every set.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    if budget >= sizes.sum():
        return [np.arange(size) for size in sizes]
    if sizes.sum() >= LARGEST_URN:
        ends = sizes.cumsum()
        drawn = np.sort(rng.choice(ends[-1], budget, replace=False, shuffle=False))
        parts = np.split(drawn, np.searchsorted(drawn, ends[:-1]))
        return [part - first for part, first in zip(parts, ends - sizes, strict=True)]
    counts = rng.multivariate_hypergeometric(sizes, budget)
    return [
        np.sort(rng.choice(size, count, replace=False)) for size, count in zip(sizes, counts, strict=True)
    ]


def draw(size: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` item numbers out of `size`: whole passes over the items, then a random subset without
    repetition.

    An item is thus seen either floor(count / size) or ceil(count / size) times in an epoch.
    """
    passes = np.tile(np.arange(size, dtype=np.int64), count // size)
    return np.concatenate([passes, rng.choice(size, count % size, replace=False)])
