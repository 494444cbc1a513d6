"""How often people prefer the system with the higher score, by the size of the difference.

Kocmi et al. (2024, "Navigating the Metrics Maze") fit a curve per metric to pairs of systems and human
judgements of them; the package `mt-thresholds` holds the curves. They are of single directions. There is none
of chrF++: it is looked up on the curve of chrF, which has no words.
"""

import re

CURVES = {"bleu": "bleu", "chrf": "chrf"}
SPBLEU_CURVES = {"tok:flores200": "spbleu200", "tok:flores101": "spbleu101"}
COMET_CURVES = {
    "wmt20-comet-da": "comet20",
    "wmt22-comet-da": "comet22",
    "wmt22-cometkiwi-da": "cometkiwi22",
    "XCOMET-XL": "xcometxl",
    "XCOMET-XXL": "xcometxxl",
}


def agreement(
    measure: str, difference: float, comet_model: str | None = None, signature: str = ""
) -> float | None:
    """The share of cases, from 0.5 to 1, in which people agree with the sign of the difference.

    Args:
        difference: as shown in tables: BLEU, chrF++ and COMET from 0 to 100.
        comet_model: name or path of the COMET checkpoint.
        signature: sacreBLEU's, which tells spBLEU.

    Returns:
        None for a metric without a published curve.
    """
    import mt_thresholds

    curve = comet_curve(comet_model) if measure == "comet" else CURVES[measure]
    if measure == "bleu":
        curve = next((name for part, name in SPBLEU_CURVES.items() if part in signature), curve)
    if curve is None:
        return None
    # The curves start below a half, which guessing reaches.
    return max(0.5, mt_thresholds.accuracy(abs(difference), curve) / 100)


def comet_curve(model: str | None) -> str | None:
    """The curve of a COMET model, by a part of its path (`Unbabel/NAME`, `models--Unbabel--NAME/…`)."""
    parts = re.split(r"[/\\]|--", model or "")
    return next((COMET_CURVES[part] for part in parts if part in COMET_CURVES), None)
