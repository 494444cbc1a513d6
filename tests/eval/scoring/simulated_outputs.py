"""Counts per line of outputs of two systems whose true difference is known, many replicates at once."""

import numpy as np

LINES = 100


def counts(
    seed: int,
    replicates: int,
    directions: int = 1,
    seeds: int = 1,
    measure: str = "bleu",
    better: float = 0.0,
    trainings: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of two systems, each lines x replicates x directions x seeds x columns.

    Lines differ in how hard they are, in all directions alike and in each; every output of a line is better
    or worse by chance, and so (`trainings`) is every seed. The second system is `better` on a logistic scale.
    """
    rng = np.random.default_rng(seed)
    shape = (LINES, replicates, directions, seeds)
    reference = rng.poisson(14, shape[:3])[..., None] + 6
    hard = rng.normal(0, 0.7, (LINES, replicates, 1, 1)) + rng.normal(0, 0.5, (*shape[:3], 1))

    def system(shift: float) -> np.ndarray:
        quality = hard + shift + rng.normal(0, 0.6, shape)
        quality += trainings * rng.normal(size=(1, replicates, 1, seeds))
        right = 1 / (1 + np.exp(-quality))
        length = reference + rng.integers(-3, 4, shape)
        match, matches = np.minimum(length, reference), []
        for order in range(4):
            match = rng.binomial(np.minimum(match, length - order), right if order == 0 else right**0.5)
            matches.append(match)
        if measure == "bleu":
            columns = [length, reference + 0 * length, *matches, *(length - order for order in range(4))]
        else:  # chrF++'s columns, of four orders
            columns = [
                column
                for order, match in enumerate(matches)
                for column in (length - order, reference - order + 0 * length, match)
            ]
        return np.stack(columns, axis=-1).astype(np.int32)

    return system(0.0), system(better)


def flat(statistics: np.ndarray) -> np.ndarray:
    """Replicates as more directions: the layout of `eval.scoring.significance`."""
    lines, replicates, directions, *rest = statistics.shape
    return statistics.reshape(lines, replicates * directions, *rest)


def grouped(values: np.ndarray, directions: int) -> np.ndarray:
    """Means over the directions of each replicate, of values (samples x replicates and directions)."""
    return values.reshape(*values.shape[:-1], -1, directions).mean(axis=-1)
