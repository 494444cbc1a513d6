"""SVCCA and linear CKA, layer by layer, between the encoder's states of a-b and b-a (thesis E.1, Figure E.1).

Sentence i of direction en-de and sentence i of direction de-en say the same; each is the mean of its states
in one encoder layer. The scores say how far the two languages share a subspace, up to a linear map: SVCCA
(Raghu et al., 2017) as in the thesis, linear CKA (Kornblith et al., 2019) as a relative that costs no
decomposition.

Caveat (thesis E.1): SVCCA does not rank systems by their zero-shot quality. PreNorm without its final encoder
normalization has an extremely high score on top of the encoder and yet translates much worse than PostNorm.
Compare layers of one system with it; to compare systems, use `probe llr`.
"""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.measurements import Measured, numbers
from command_line.option_classes import option
from eval.probes.parallel import OUTPUT, StoreOptions, index_files, layerwise
from eval.reporting.result_file import Written, publish

KIND = "similarity"
VARIANCE = 0.99  # of Raghu et al. (2017)
PERMUTATIONS = 10


@dataclass(frozen=True, kw_only=True)
class Options(StoreOptions):
    """Options of the command."""

    variance: float = option(
        "share of the variance that SVCCA keeps", VARIANCE, type=types.number(0, 1, above=True)
    )
    permutations: int = option("orders of sentences that chance is measured with", PERMUTATIONS)
    written: Written


def main(options: Options) -> None:
    inputs = index_files(options.states, [options.split], options.written.allow_unlike)
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    """One run per store; a warning where sentences in any order would be about as similar."""
    measured = Measured()
    for folder in options.states:
        compared = functools.partial(compare, permutations=options.permutations)
        prepared = functools.partial(Sentences.of, variance=options.variance)
        run, rows = layerwise(folder, options, prepared, compared, KIND)
        measured.add(run | {"variance": options.variance}, rows)
        warn_of_few_sentences(folder, rows)
    return measured


def warn_of_few_sentences(folder: Path, rows: list[dict]) -> None:
    """Warn if more than half of what was measured on top of the encoder is chance."""
    top = [row for row in rows if row.get("layer") == OUTPUT]
    for kind in ("supervised", "zero-shot"):
        value, chance, directions = (
            np.mean([row["value"] for row in top if (row["kind"], row["measure"]) == (kind, measure)] or [0])
            for measure in ("svcca", "svcca_by_chance", "svcca_directions")
        )
        if chance > value / 2:
            lines = min(row["value"] for row in rows if row["measure"] == "lines")
            print(
                f"warning: {folder}: SVCCA of {value:.2f} on top of the encoder, but {chance:.2f} for the"
                f" sentences in another order: {lines} are few for {directions:.0f}"
                " directions; use more sentences or a lower --variance",
                file=sys.stderr,
            )
            return


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
