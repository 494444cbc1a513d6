"""How far two sets of states share a subspace: SVCCA and linear CKA, and both by chance."""

from dataclasses import dataclass

import numpy as np

from command_line.measurements import numbers

VARIANCE = 0.99  # of Raghu et al. (2017)
PERMUTATIONS = 10


def centred(states: np.ndarray) -> np.ndarray:
    """States (n x C) in double precision around their mean; a ValueError if all are equal, up to rounding."""
    states = np.asarray(states, dtype=np.float64)
    around = states - states.mean(axis=0)
    if np.abs(around).max() <= 1e-12 * np.abs(states).max():
        raise ValueError("all states are equal")
    return around


def principal_directions(states: np.ndarray, variance: float = VARIANCE) -> np.ndarray:
    """An orthonormal basis of the sentences' coordinates in the leading principal directions.

    Args:
        states: n x C.
        variance: share of the variance that the fewest leading directions must keep.

    Returns:
        n x k, orthonormal columns, k >= 1: left singular vectors of the centred states.

    Raises:
        ValueError: all states are equal, so that there is no variance to keep.
    """
    vectors, values, _ = np.linalg.svd(centred(states), full_matrices=False)
    kept = np.cumsum(values**2) / np.sum(values**2)
    rank = int(np.sum(values > values[0] * max(states.shape) * np.finfo(values.dtype).eps))
    return vectors[:, : min(int(np.searchsorted(kept, variance)) + 1, max(rank, 1))]


def mean_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """SVCCA of principal directions (Raghu et al., 2017): the mean canonical correlation of the spans of
    orthonormal columns, n x k and n x l, over the smaller number of columns.

    Canonical correlations of two subspaces are the singular values of the product of orthonormal bases
    (Bjorck and Golub, 1973): no covariance matrix is inverted, so small variances do no harm. With fewer
    sentences than columns of both sides together, correlations of 1 are inevitable.
    """
    return float(np.linalg.svd(first.T @ second, compute_uv=False).clip(0, 1).mean())


def unit_covariance(states: np.ndarray) -> np.ndarray:
    """Centred states scaled so that ||X'X|| is 1."""
    return states / np.sqrt(np.linalg.norm(states.T @ states))


def alignment(first: np.ndarray, second: np.ndarray) -> float:
    """Linear centred kernel alignment (Kornblith et al., 2019, section 3), from 0 to 1: ||Y'X||^2 in
    Frobenius norms, of states that `unit_covariance` has scaled.
    """
    return float(np.linalg.norm(second.T @ first) ** 2)


@dataclass(frozen=True)
class Sentences:
    """What both measures need of the states of one side: prepared once, compared with several others."""

    scaled: np.ndarray  # n x C, by `unit_covariance`
    basis: np.ndarray  # n x k

    @classmethod
    def of(cls, states: np.ndarray, variance: float = VARIANCE) -> "Sentences":
        around = centred(states)
        return cls(unit_covariance(around), principal_directions(around, variance))


def compare(pair, first: Sentences, second: Sentences, permutations: int = PERMUTATIONS) -> list[dict]:
    """Rows of both measures, of the number of directions that SVCCA compares, and of what is chance.

    Chance is what the same sentences give in another order, when sentence i of one side says something else
    than sentence i of the other: one number for each of several permutations, the same ones for every pair
    and layer with as many sentences. With few sentences of wide states it is far above zero.
    """
    rows = numbers(
        {
            "svcca": mean_correlation(first.basis, second.basis),
            "svcca_directions": min(first.basis.shape[1], second.basis.shape[1]),
            "cka": alignment(first.scaled, second.scaled),
        }
    )
    for repeat in range(permutations):
        order = np.random.default_rng(repeat).permutation(len(first.basis))
        by_chance = {
            "svcca_by_chance": mean_correlation(first.basis, second.basis[order]),
            "cka_by_chance": alignment(first.scaled, second.scaled[order]),
        }
        rows += numbers(by_chance, repeat=repeat)
    return rows
