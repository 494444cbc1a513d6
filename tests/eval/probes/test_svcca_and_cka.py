"""SVCCA and linear CKA against independent implementations, and their invariances."""

import numpy as np
import pytest
import scipy.linalg

from eval.probes.similarity import VARIANCE, Sentences, compare, principal_directions


def measured(x, y, variance: float = VARIANCE) -> dict[str, float]:
    rows = compare(None, Sentences.of(x, variance), Sentences.of(y, variance), permutations=0)
    return {row["measure"]: row["value"] for row in rows}


def svcca(x, y, variance: float = VARIANCE) -> float:
    return measured(x, y, variance)["svcca"]


def linear_cka(x, y) -> float:
    return measured(x, y)["cka"]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def related(rng, n=200, c=12, d=9, noise=0.5):
    """Two views of the same random factors, with variances of very different sizes."""
    factors = rng.normal(size=(n, 6))
    scales = 10.0 ** -np.linspace(0, 3, c)
    x = (factors @ rng.normal(size=(6, c)) + noise * rng.normal(size=(n, c))) * scales + 5
    y = factors @ rng.normal(size=(6, d)) + noise * rng.normal(size=(n, d)) - 3
    return x, y


def svcca_by_eigenvalues(x, y, variance=0.99):
    """SVD by the eigenvectors of the covariance, CCA as its textbook's generalized eigenvalue problem."""

    def reduced(a):
        a = a - a.mean(0)
        values, vectors = scipy.linalg.eigh(a.T @ a)
        order = np.argsort(values)[::-1]
        k, total = 0, 0.0
        while total < variance * values.sum():
            total += values[order[k]]
            k += 1
        return a @ vectors[:, order[:k]]

    a, b = reduced(x), reduced(y)
    k, n = a.shape[1], a.shape[1] + b.shape[1]
    covariance = np.cov(np.hstack([a, b]).T)
    across, within = np.zeros((n, n)), np.zeros((n, n))
    across[:k, k:], across[k:, :k] = covariance[:k, k:], covariance[k:, :k]
    within[:k, :k], within[k:, k:] = covariance[:k, :k], covariance[k:, k:]
    correlations = np.sort(scipy.linalg.eigh(across, within, eigvals_only=True))[::-1]
    return correlations[: min(k, n - k)].mean()


def cka_by_grams(x, y):
    """HSIC of centred n x n Gram matrices, as the definition has it."""
    n = len(x)
    centre = np.eye(n) - 1 / n
    k, m = centre @ (x @ x.T) @ centre, centre @ (y @ y.T) @ centre
    return np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))


@pytest.mark.parametrize("noise", [0.05, 0.5, 5.0])
def test_svcca_is_the_generalized_eigenvalue_problem(rng, noise):
    x, y = related(rng, noise=noise)
    assert svcca(x, y) == pytest.approx(svcca_by_eigenvalues(x, y), abs=1e-8)


@pytest.mark.parametrize("noise", [0.05, 0.5, 5.0])
def test_cka_is_the_ratio_of_hsic(rng, noise):
    x, y = related(rng, noise=noise)
    assert linear_cka(x, y) == pytest.approx(cka_by_grams(x, y), abs=1e-10)


def test_one_canonical_correlation_is_pearsons(rng):
    x, y = rng.normal(size=(50, 1)), rng.normal(size=(50, 1))
    assert svcca(x, y) == pytest.approx(abs(np.corrcoef(x[:, 0], y[:, 0])[0, 1]))
    assert linear_cka(x, y) == pytest.approx(np.corrcoef(x[:, 0], y[:, 0])[0, 1] ** 2)


def test_99_percent_of_the_variance_is_kept():
    """Orthogonal columns with squared lengths 90, 9.5 and 0.5: two of them are 99.5%."""
    columns = np.linalg.qr(np.column_stack([np.ones(8), np.random.default_rng(0).normal(size=(8, 3))]))[0][
        :, 1:
    ]
    states = columns * np.sqrt([90, 9.5, 0.5])
    assert principal_directions(states).shape == (8, 2)
    assert principal_directions(states, variance=0.9).shape == (8, 1)
    assert principal_directions(states, variance=0.999).shape == (8, 3)


@pytest.mark.parametrize("seed", range(4))
def test_directions_that_are_rounding_are_none(seed):
    """Outputs of layer normalization have no variance along the direction of all ones."""
    states = np.random.default_rng(seed).normal(size=(500, 16))
    states -= states.mean(axis=1, keepdims=True)
    assert principal_directions(states, variance=1).shape == (500, 15)


@pytest.mark.parametrize("measure", [svcca, linear_cka])
class TestInvariances:
    def test_rotation_scale_and_shift_do_not_matter(self, rng, measure):
        x, y = related(rng)
        rotation = np.linalg.qr(rng.normal(size=(x.shape[1], x.shape[1])))[0]
        assert measure(3 * x @ rotation + 7, y) == pytest.approx(measure(x, y), abs=1e-9)

    def test_the_same_states_are_1_and_the_order_of_the_sides_does_not_matter(self, rng, measure):
        x, y = related(rng)
        assert measure(x, x) == pytest.approx(1)
        assert measure(x, y) == pytest.approx(measure(y, x))

    def test_lines_that_do_not_belong_together_are_far_below_those_that_do(self, rng, measure):
        x, y = related(rng, n=2000)
        assert measure(x, y[rng.permutation(len(y))]) < 0.2 * measure(x, y)

    def test_equal_states_are_refused(self, rng, measure):
        with pytest.raises(ValueError, match="all states are equal"):
            measure(np.full((9, 3), 0.1, dtype=np.float16), rng.normal(size=(9, 3)))


def test_without_truncation_any_invertible_map_keeps_svcca_but_not_cka(rng):
    x, y = related(rng)
    mapped = x @ rng.normal(size=(x.shape[1], x.shape[1]))
    assert svcca(mapped, y, variance=1.0) == pytest.approx(svcca(x, y, variance=1.0), abs=1e-6)
    assert abs(linear_cka(mapped, y) - linear_cka(x, y)) > 0.01


def test_nearly_dependent_columns_do_no_harm(rng):
    """A covariance with a condition number of 1e20 would be inverted into noise."""
    x, y = related(rng)
    doubled = np.hstack([x, x + 1e-10 * rng.normal(size=x.shape)])
    assert svcca(doubled, y) == pytest.approx(svcca(x, y), abs=1e-6)
