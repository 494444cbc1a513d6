"""Verdicts: what they say of clear cases, and how often they are wrong where nothing is so."""

import numpy as np
import pytest

from eval.scoring.estimates import correlation, difference, paired_difference
from eval.scoring.significance import holm
from studies.verdicts import finding, together, verdict

DRAWS = 2000
TOLERATED = 0.065  # 0.05 and three standard errors of 2,000 draws


ABOVE = "above", 0.0


def decided(expectation, *estimates) -> str:
    return verdict(together([finding(*expectation, estimate) for estimate in estimates]), 0.05)


def shifted(by: float, deviation: float = 1.0):
    values = np.array([-1.2, 0.4, 0.8, -0.1, 0.1]) * deviation
    return difference([(1, values + by), (-1, values[::-1])])


@pytest.mark.parametrize(
    ("way", "than", "by", "said"),
    [
        ("above", 0, 3, "agrees"),
        ("above", 0, -3, "contradicts"),
        ("above", 0, 0.5, "cannot tell"),
        ("below", 0, -3, "agrees"),
        ("below", 0, 3, "contradicts"),
        ("below", 4, 1, "agrees"),
        ("below", 4, 3.9, "cannot tell"),
        ("alike", 4, 1, "agrees"),
        ("alike", 4, -1, "agrees"),
        ("alike", 1, 5, "contradicts"),
        ("alike", 1, -5, "contradicts"),
        ("alike", 1, 0.5, "cannot tell"),
    ],
)
def test_clear_cases(way, than, by, said):
    assert decided((way, than), shifted(by)) == said


def test_alike_agrees_if_the_90_percent_interval_is_within_the_margin_and_not_if_that_of_95_is_outside():
    for by in np.arange(-4, 4, 0.05):
        estimate, expectation = shifted(by), ("alike", 2.0)
        low, high = estimate.interval(0.1)
        inside = low >= -2 and high <= 2
        low, high = estimate.interval(0.05)
        outside = low >= 2 or high <= -2
        said = "agrees" if inside else "contradicts" if outside else "cannot tell"
        assert decided(expectation, estimate) == said, by


def test_a_claim_of_several_parts_needs_all_of_them():
    above = ABOVE
    assert decided(above, shifted(3), shifted(4)) == "agrees"
    assert decided(above, shifted(3), shifted(0.5)) == "cannot tell"
    assert decided(above, shifted(3), shifted(-3)) == "contradicts"
    assert together([(True, 0.01), (True, 0.03)]) == (True, 0.03)
    assert together([(True, 0.01), (False, 0.03)]) == (False, 0.06)


def draws(*systems: int, shift: float = 0.0):
    """Scores of systems with these numbers of seeds, the first of them shifted, of other deviations."""
    rng = np.random.default_rng(20)
    for _ in range(DRAWS):
        yield [rng.normal(shift * (not number), 1 + number, seeds) for number, seeds in enumerate(systems)]


def share(verdicts) -> float:
    """Of verdicts that say anything."""
    return float(np.mean([verdict != "cannot tell" for verdict in verdicts]))


@pytest.mark.parametrize("margin", [0.5, 1.0, 4.0])
def test_false_contradictions_of_systems_at_the_margin(margin):
    """Also where the margin is small beside the deviations, and either side of it is passed by chance."""
    alike = ("alike", margin)
    verdicts = [decided(alike, difference([(1, a), (-1, b)])) for a, b in draws(5, 5, shift=margin)]
    assert np.mean([verdict == "contradicts" for verdict in verdicts]) < TOLERATED


def test_false_verdicts_of_a_difference():
    above = ABOVE
    unpaired = [decided(above, difference([(1, a), (-1, b)])) for a, b in draws(5, 5)]
    unequal = [decided(above, difference([(1, a), (-1, b)])) for a, b in draws(3, 10)]
    pairs = [decided(above, paired_difference([(1, a), (-1, b)])) for a, b in draws(5, 5)]
    for verdicts in (unpaired, unequal, pairs):
        assert 0.02 < share(verdicts) < TOLERATED


@pytest.mark.parametrize(
    ("seeds", "r", "low", "high"), [(10, 0.8, 0.0, 0.01), (5, -0.5, 0.07, 0.13), (3, -0.5, 0.05, 0.11)]
)
def test_false_verdicts_where_trainings_of_a_seed_go_together(seeds, r, low, high):
    """As studies/plan.md says of rows that take them as independent."""
    rng = np.random.default_rng(20)
    pairs = (rng.multivariate_normal([0, 0], [[1, r], [r, 1]], seeds) for _ in range(2000))
    verdicts = [decided(ABOVE, difference([(1, pair[:, 0]), (-1, pair[:, 1])])) for pair in pairs]
    assert low <= share(verdicts) <= high


def test_false_verdicts_of_an_interaction():
    signs = (1, -1, -1, 1)
    verdicts = [decided(ABOVE, difference(list(zip(signs, four, strict=True)))) for four in draws(5, 5, 5, 5)]
    assert 0.02 < share(verdicts) < TOLERATED


def test_false_verdicts_on_systems_that_are_just_not_alike():
    """The true difference is the margin: neither verdict is right."""
    verdicts = [decided(("alike", 4.0), difference([(1, a), (-1, b)])) for a, b in draws(5, 5, shift=4.0)]
    agree, contradict = (verdicts.count(wrong) / DRAWS for wrong in ("agrees", "contradicts"))
    assert agree < TOLERATED and contradict < TOLERATED


def test_false_verdicts_of_a_correlation():
    rng = np.random.default_rng(20)
    verdicts = [decided(("below", 0.0), correlation(*rng.normal(size=(2, 10)))) for _ in range(DRAWS)]
    assert 0.02 < share(verdicts) < TOLERATED


def test_false_verdicts_of_a_claim_of_several_parts():
    """Three comparisons with one baseline: nothing is so, and where one is, the claim is still false."""
    for shift in (0.0, 100.0):
        verdicts = []
        for first, *others in draws(5, 5, 5, 5):
            parts = [
                [(1, first + shift), (-1, others[0])],
                *([(1, first), (-1, other)] for other in others[1:]),
            ]
            verdicts.append(decided(ABOVE, *map(difference, parts)))
        assert share(verdicts) < TOLERATED


def test_false_verdicts_of_a_family():
    """The probability of any, of four claims that share a baseline, one of which waits in every fourth."""
    wrong = 0
    for number, (first, *others) in enumerate(draws(5, 5, 5, 5, 5)):
        findings = [finding(*ABOVE, difference([(1, other), (-1, first)])) for other in others]
        p_values = [p_value for _, p_value in findings]
        p_values[0] = 1.0 if number % 4 == 0 else p_values[0]
        wrong += any(p <= 0.05 for p in holm(p_values))
    assert 0.01 < wrong / DRAWS < TOLERATED
