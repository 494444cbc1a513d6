"""Scores averaged over directions: supervised and zero-shot ones, those from and to English, and all."""

from eval.labels import GROUPS
from eval.measurements import Measurements, in_groups


def by_group(scored: Measurements) -> Measurements:
    """The scores of all averages, `GROUPS`; zero-shot ones first, as reports show them."""
    rows = in_groups(scored.rows)
    shown = ("zero-shot", *(name for name in GROUPS if name != "zero-shot"))
    order = rows.part.map({name: place for place, name in enumerate(shown)})
    return Measurements(scored.systems, rows.iloc[order.argsort(kind="stable")])
