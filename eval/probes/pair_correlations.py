"""Pearson's correlation over pairs of languages, and how sure it is.

Pairs share languages, and so are not independent: beside Fisher's interval, for which they were, stands that
of a bootstrap that draws languages, each pair as often as both of its languages were drawn. Supervised and
zero-shot pairs differ for other reasons, too, and two groups of points apart make a correlation of their own:
`within kinds` is that of the deviations from the mean of each kind.
"""

import math
from collections.abc import Mapping

import numpy as np

from command_line.errors import InputError
from eval.scoring.estimates import Correlation

FEWEST = 3  # points: through two there is always a line
SAMPLES, SEED = 2000, 12345
LEVEL = 0.05
WITHIN_KINDS = "within kinds"


def correlations(points: Mapping[str, dict], where: str) -> dict[str, dict]:
    """Of all pairs of languages, within kinds, and of the pairs of a kind, where these are enough. A group of
    which a change is always the same has null in place of all but its number of points.

    Args:
        points: pair such as "de-fr" -> "kind", "bleu_change", "precision_change".
        where: names them in errors.

    Raises:
        InputError: too few pairs of languages, or a change that is the same for all of them.
    """
    if len(points) < FEWEST:
        raise InputError(
            f"{where}: {len(points)} pairs of languages with BLEU in both directions and P@1, expected at"
            f" least {FEWEST}"
        )
    by_group = {"all": correlation(points)}
    if by_group["all"]["r"] is None:
        title, change = min(
            zip(("BLEU", "P@1"), _changes(points), strict=True), key=lambda each: np.ptp(each[1])
        )
        raise InputError(f"{where}: {title} changes by {change[0]:g} for every pair: no correlation")
    kinds = dict.fromkeys(point["kind"] for point in points.values())
    if len(kinds) > 1 and len(points) >= FEWEST + len(kinds) - 1:
        by_group[WITHIN_KINDS] = correlation(points, within_kinds=True)
    for kind in kinds if len(kinds) > 1 else ():
        members = {pair: point for pair, point in points.items() if point["kind"] == kind}
        if len(members) >= FEWEST:
            by_group[kind] = correlation(members)
    return by_group


def correlation(points: Mapping[str, dict], within_kinds: bool = False) -> dict:
    """Number of points, r, two-sided p-value, Fisher's 95% interval and that of drawn languages; null where
    it cannot be told.
    """
    from scipy.stats import t

    groups = _groups(points, within_kinds)
    r = float(_weighted(_changes(points), np.ones((1, len(points))), groups)[0])
    if math.isnan(r):
        names = ("r", "p_value", "r_low", "r_high", "r_language_low", "r_language_high")
        return {"pairs": len(points), **dict.fromkeys(names)}
    r = min(max(r, -1.0), 1.0)  # rounding may go beyond
    units = len(points) - len(groups) + 1  # a mean that is removed costs as much as a point
    freedom = units - 2
    p_value = 2 * t.sf(abs(r) * math.sqrt(freedom / max(1 - r * r, 1e-15)), freedom)
    low, high = Correlation(r, units).interval(LEVEL) if units > 3 else (None, None)
    drawn = languages_drawn(points, within_kinds)
    return {
        "pairs": len(points), "r": r, "p_value": float(p_value), "r_low": low, "r_high": high,
        "r_language_low": drawn and drawn[0], "r_language_high": drawn and drawn[1],
    }  # fmt: skip


def languages_drawn(points: Mapping[str, dict], within_kinds: bool) -> tuple[float, float] | None:
    """Percentile interval over samples of languages; None if fewer than half of them have a correlation."""
    pairs = [pair.split("-") for pair in points]
    languages = sorted({language for pair in pairs for language in pair})
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(len(languages), [1 / len(languages)] * len(languages), size=SAMPLES)
    first, second = ([languages.index(pair[side]) for pair in pairs] for side in (0, 1))
    weights = (counts[:, first] * counts[:, second]).astype(float)
    weights = weights[(weights > 0).sum(axis=1) >= FEWEST]
    drawn = _weighted(_changes(points), weights, _groups(points, within_kinds))
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) < SAMPLES / 2:
        return None
    low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def _changes(points: Mapping[str, dict]) -> np.ndarray:
    """2 x pairs."""
    names = ("bleu_change", "precision_change")
    return np.array([[point[name] for point in points.values()] for name in names], dtype=float)


def _groups(points: Mapping[str, dict], within_kinds: bool) -> list[np.ndarray]:
    """Which pairs have a mean of their own."""
    kinds = np.array([point["kind"] if within_kinds else "" for point in points.values()])
    return [kinds == kind for kind in dict.fromkeys(kinds)]


def _weighted(changes: np.ndarray, weights: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """Correlation for every row of weights, of deviations from the mean of each group; NaN where one is
    constant.
    """
    x, y = (np.repeat(one[None], len(weights), axis=0) for one in changes)
    for group in groups:
        total = weights[:, group].sum(axis=1, keepdims=True)
        for one in (x, y):
            mean = (weights[:, group] * one[:, group]).sum(axis=1, keepdims=True) / np.maximum(total, 1e-300)
            one[:, group] -= mean
    products = [(weights * a * b).sum(axis=1) for a, b in ((x, y), (x, x), (y, y))]
    scale = np.sqrt(products[1] * products[2])
    constant = scale <= 1e-12 * max(1.0, float(np.abs(changes).max()) ** 2)
    return np.where(constant, math.nan, products[0] / np.where(constant, 1.0, scale))
