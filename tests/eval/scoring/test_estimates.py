"""Effects over seeds against scipy, and what an experiment can see."""

import numpy as np
import pytest
from scipy import stats

from eval.scoring.estimates import correlation, difference, paired_difference
from studies.power import largest_deviation, smallest_correlation, smallest_difference


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_unpaired_is_welchs_test(rng):
    a, b = rng.normal(3, 1, 5), rng.normal(1, 4, 7)
    estimate, expected = difference([(1, a), (-1, b)]), stats.ttest_ind(a, b, equal_var=False)
    assert 2 * min(estimate.p_above(0), estimate.p_below(0)) == pytest.approx(expected.pvalue)
    assert estimate.interval(0.05) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    shifted = stats.ttest_ind(a - 1, b, equal_var=False, alternative="greater")
    assert estimate.p_above(1) == pytest.approx(shifted.pvalue)
    assert estimate.p_below(1) == pytest.approx(1 - shifted.pvalue)


def test_paired_is_the_test_of_the_combination(rng):
    four = [rng.normal(0, 1, 6) for _ in range(4)]
    estimate = paired_difference(list(zip((1, -1, -1, 1), four, strict=True)))
    expected = stats.ttest_1samp(four[0] - four[1] - four[2] + four[3], 0)
    assert 2 * min(estimate.p_above(0), estimate.p_below(0)) == pytest.approx(expected.pvalue)
    assert estimate.interval(0.1) == pytest.approx(tuple(expected.confidence_interval(0.9)))


def test_an_interaction_and_a_mean_of_systems(rng):
    """Variances add up with the squares of the coefficients."""
    systems = [rng.normal(0, 1, 5) for _ in range(4)]
    estimate = difference(list(zip((0.5, 0.5, -0.5, -0.5), systems, strict=True)))
    assert estimate.effect == pytest.approx(
        np.mean([systems[0].mean(), systems[1].mean()]) - np.mean([systems[2].mean(), systems[3].mean()])
    )
    assert estimate.error**2 == pytest.approx(sum(0.25 * values.var(ddof=1) / 5 for values in systems))


def test_trainings_without_a_deviation():
    same = difference([(1, np.full(3, 2.0)), (-1, np.full(3, 1.0))])
    assert (same.p_above(0), same.p_below(0), same.interval(0.05)) == (0, 1, (1, 1))
    assert same.p_above(1) == same.p_below(1) == 1


def test_correlation(rng):
    x = rng.normal(size=10)
    y = x + rng.normal(size=10)
    estimate, expected = correlation(x, y), stats.pearsonr(x, y)
    assert estimate.effect == pytest.approx(expected.statistic)
    assert estimate.interval(0.05) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert estimate.p_above(0) == pytest.approx(stats.norm.sf(np.arctanh(estimate.effect) * 7**0.5))
    beyond = stats.norm.sf((np.arctanh(estimate.effect) - np.arctanh(0.3)) * 7**0.5)
    assert (estimate.p_above(0.3), estimate.p_below(0.3)) == pytest.approx((beyond, 1 - beyond))
    assert correlation(x, np.ones(10)).p_above(0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("seeds", "paired", "smallest", "deviation"),
    [(10, False, 1.33, 0.73), (5, False, 2.09, 0.48), (3, False, 3.50, 0.32), (5, True, 1.68, None)],
)
def test_smallest_differences(seeds, paired, smallest, deviation):
    """By simulation: the test of the verdicts finds this difference in 80% of 4,000 experiments."""
    terms = [(1, seeds), (-1, seeds)]
    assert smallest_difference(terms, 0.05, paired) == pytest.approx(smallest, abs=0.01)
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, seeds, 4000))
    if paired:
        p_values = stats.ttest_1samp(first + smallest, 0).pvalue
    else:
        p_values = stats.ttest_ind(first + smallest, second, equal_var=False).pvalue
        share = largest_deviation(terms, 0.05, paired)
        assert share == pytest.approx(deviation, abs=0.005)
        sides = [
            stats.ttest_ind(first + side / share, second, equal_var=False, alternative=alternative).pvalue
            for side, alternative in ((1, "greater"), (-1, "less"))
        ]
        assert np.mean(np.max(sides, axis=0) <= 0.05) == pytest.approx(0.8, abs=0.02)
    assert np.mean(p_values <= 0.05) == pytest.approx(0.8, abs=0.02)


def test_smallest_correlation():
    """As many errors of its transformation, 1 / sqrt(n - 3), from 0; the exact test finds it, too."""
    for units, level in ((10, 0.05), (6, 0.01)):
        errors = np.arctanh(smallest_correlation(units, level)) * (units - 3) ** 0.5
        assert errors == pytest.approx(stats.norm.isf(level / 2) + stats.norm.isf(0.2))
    rng, r = np.random.default_rng(1), smallest_correlation(10, 0.05)
    x, noise = rng.normal(size=(2, 4000, 10))
    y = r * x + (1 - r * r) ** 0.5 * noise
    p_values = stats.pearsonr(x, y, axis=1).pvalue
    assert np.mean(p_values <= 0.05) == pytest.approx(0.8, abs=0.03)
