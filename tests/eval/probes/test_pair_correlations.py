"""Correlations over pairs of languages: intervals, means of kinds, and languages that pairs share."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from command_line.errors import InputError
from eval.probes.pair_correlations import SAMPLES, SEED, correlation, correlations

LANGUAGES = ("de", "en", "es", "fi", "fr", "ru")


def drawn(languages=LANGUAGES, shift: float = 0.0, seed: int = 5) -> dict[str, dict]:
    """Changes of all pairs, those of supervised ones shifted in both."""
    rng, points = np.random.default_rng(seed), {}
    for pair in combinations(languages, 2):
        supervised = "en" in pair
        x, y = rng.normal(size=2) + shift * supervised
        kind = "supervised" if supervised else "zero-shot"
        points["-".join(pair)] = {"kind": kind, "bleu_change": x, "precision_change": x + y}
    return points


def columns(points) -> np.ndarray:
    return np.array([[point["bleu_change"], point["precision_change"]] for point in points.values()]).T


def test_all_pairs_are_scipys():
    points = drawn()
    ours, expected = correlation(points), stats.pearsonr(*columns(points))
    assert (ours["r"], ours["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert (ours["r_low"], ours["r_high"]) == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_within_kinds_is_the_partial_correlation():
    """As the regression of BLEU on P@1 and kinds: the same t value of P@1."""
    points = drawn(shift=20)
    ours = correlations(points, "")
    assert ours["all"]["r"] > 0.98 and set(ours) == {"all", "within kinds", "supervised", "zero-shot"}
    bleu, precision = columns(points)
    zero_shot = np.array([point["kind"] == "zero-shot" for point in points.values()], dtype=float)
    design = np.stack([precision, zero_shot, 1 - zero_shot], axis=1)
    slope, residual, *_ = np.linalg.lstsq(design, bleu, rcond=None)
    error = np.sqrt(residual[0] / 12 * np.linalg.inv(design.T @ design)[0, 0])
    p_value = 2 * stats.t.sf(abs(slope[0] / error), 12)
    within = ours["within kinds"]
    assert within["p_value"] == pytest.approx(p_value)
    assert within["r"] == pytest.approx(slope[0] / error / np.sqrt(slope[0] ** 2 / error**2 + 12))
    # Fisher's interval of a partial correlation: 15 pairs, one less for the second mean
    ends = np.tanh(np.arctanh(within["r"]) + stats.norm.ppf([0.025, 0.975]) / np.sqrt(15 - 1 - 3))
    assert (within["r_low"], within["r_high"]) == pytest.approx(tuple(ends))


@pytest.mark.parametrize("within_kinds", [False, True])
def test_languages_are_drawn_with_their_pairs(within_kinds):
    """A plain loop: each pair as often as the product of how often its languages were drawn."""
    points = drawn()
    ours = correlation(points, within_kinds)
    rng, values = np.random.default_rng(SEED), []
    for counts in rng.multinomial(6, [1 / 6] * 6, size=SAMPLES):
        times = dict(zip(LANGUAGES, counts, strict=True))
        sample = [point for pair, point in points.items() for _ in range(times[pair[:2]] * times[pair[3:]])]
        if len({id(point) for point in sample}) < 3:
            continue
        x, y = (np.array([point[name] for point in sample]) for name in ("bleu_change", "precision_change"))
        kinds = np.array([point["kind"] if within_kinds else "" for point in sample])
        for kind in set(kinds):
            x[kinds == kind] -= x[kinds == kind].mean()
            y[kinds == kind] -= y[kinds == kind].mean()
        if min(np.abs(x).max(), np.abs(y).max()) > 1e-9:
            values.append(np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y)))
    expected = np.quantile(values, [0.025, 0.975])
    assert (ours["r_language_low"], ours["r_language_high"]) == pytest.approx(tuple(expected))


def test_languages_make_the_interval_wider_where_changes_are_theirs():
    """A change that belongs to a language is in all of its pairs."""
    rng, points = np.random.default_rng(5), {}
    effects = {language: rng.normal(size=2) for language in LANGUAGES}
    for a, b in combinations(LANGUAGES, 2):
        x, y = effects[a] + effects[b]
        points[f"{a}-{b}"] = {"kind": "zero-shot", "bleu_change": x, "precision_change": y}
    ours = correlation(points)
    assert ours["r_language_high"] - ours["r_language_low"] > ours["r_high"] - ours["r_low"]


def test_too_little_for_an_interval():
    points = drawn(("de", "en", "es"))
    ours = correlation(points)
    assert (ours["pairs"], ours["r_low"], ours["r_language_low"]) == (3, None, None)
    with pytest.raises(InputError, match=r"x: 1 pairs of languages .* at least 3"):
        correlations(drawn(("de", "en")), "x")
    flat = {pair: point | {"bleu_change": 1.0} for pair, point in points.items()}
    with pytest.raises(InputError, match="x: BLEU changes by 1 for every pair"):
        correlations(flat, "x")
    of_kinds = {pair: point | {"bleu_change": float("en" in pair)} for pair, point in drawn().items()}
    assert correlation(of_kinds, within_kinds=True)["r"] is None


def test_a_kind_without_a_change_has_no_number_and_the_others_keep_theirs():
    points = drawn()
    for pair, point in points.items():
        if "en" not in pair:
            point["precision_change"] = 0.0
    ours = correlations(points, "")
    assert ours["zero-shot"] == {"pairs": 10} | dict.fromkeys(
        ("r", "p_value", "r_low", "r_high", "r_language_low", "r_language_high")
    )
    supervised = {pair: point for pair, point in points.items() if "en" in pair}
    assert ours["supervised"]["r"] == pytest.approx(stats.pearsonr(*columns(supervised)).statistic)


def test_r_is_not_beyond_one():
    points = {
        f"{first}-en": {"kind": "supervised", "bleu_change": 0.1 * n, "precision_change": 0.3 * n}
        for n, first in enumerate(("de", "es", "fi", "fr"))
    }
    assert correlation(points)["r"] <= 1
