"""Temperature sampling against its formula (Arivazhagan et al. 2019)."""

import numpy as np
import pytest

from fairseq_ext.data.sampling import draw, epoch_sizes


def test_temperature_one_keeps_the_sizes():
    assert epoch_sizes(np.array([1000, 10, 1]), 1.0).tolist() == [1000, 10, 1]


def test_temperature_five_by_hand():
    """Sizes 32 and 1: 32^(1/5) = 2, so two thirds and one third of 33."""
    assert epoch_sizes(np.array([32, 1]), 5.0).tolist() == [22, 11]


def test_a_high_temperature_is_uniform():
    assert epoch_sizes(np.array([900, 90, 10]), 1e9).tolist() == [334, 333, 333]


@pytest.mark.parametrize("temperature", [1.0, 1.5, 5.0, 100.0])
def test_sum_is_kept_and_every_size_is_within_one_of_the_formula(temperature):
    rng = np.random.default_rng(1)
    for _ in range(50):
        sizes = rng.integers(1, 10_000, size=rng.integers(1, 12))
        probabilities = sizes ** (1 / temperature) / (sizes ** (1 / temperature)).sum()
        found = epoch_sizes(sizes, temperature)
        assert found.sum() == sizes.sum()
        assert (np.abs(found - probabilities * sizes.sum()) < 1 + 1e-6).all()


@pytest.mark.parametrize(("size", "count"), [(5, 3), (5, 5), (5, 13), (1, 4), (7, 0)])
def test_every_item_is_drawn_floor_or_ceil_times(size, count):
    drawn = draw(size, count, np.random.default_rng(1))
    times = np.bincount(drawn, minlength=size)
    assert len(drawn) == count
    assert len(times) == size
    assert set(times) <= {count // size, -(-count // size)}


def test_the_random_rest_differs_between_draws():
    rng = np.random.default_rng(1)
    assert len({tuple(sorted(draw(20, 10, rng))) for _ in range(5)}) > 1
