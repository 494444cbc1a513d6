"""What is measured per direction, how it is called in tables, and the averages that a direction belongs to.

Shares and rates are fractions from 0 to 1 in files and percentages in tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from data_prep.languages import is_english
from embeddings.search.sentence_scores import MEASURES as SIMILARITIES
from eval.results.files import split_direction
from eval.results.systems import UNKNOWN, MeanStd


@dataclass(frozen=True)
class Measure:
    """One number per direction. `scale` turns the stored into the shown number, with `digits` decimals."""

    name: str
    title: str
    digits: int
    scale: float = 1.0
    unit: str = ""

    def show(self, value: float | MeanStd | None) -> str:
        """As in `16.8`, or `16.8 ± 0.6` of several runs; a dash where there is no number."""
        if value is None:
            return UNKNOWN
        if isinstance(value, MeanStd):
            return value.text(self.digits, self.scale, self.unit)
        return f"{value * self.scale:.{self.digits}f}{self.unit}"


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("bleu", "BLEU", 1),
        Measure("chrf", "chrF++", 1),
        Measure("comet", "COMET", 2, scale=100.0),
        Measure("off_target", "off-target", 2, scale=100.0, unit="%"),
        Measure("on_target_bleu", "BLEU on target", 1),
        Measure("on_target_chrf", "chrF++ on target", 1),
        Measure("identifier_error", "identifier's error", 2, scale=100.0, unit="%"),
        Measure("length_ratio", "length ratio", 3),
        Measure("empty", "empty", 2, scale=100.0, unit="%"),
        Measure("copied", "copied source", 2, scale=100.0, unit="%"),
    )
}


P_AT_1 = {name: Measure(name, f"P@1 {name}", 1, scale=100.0) for name in SIMILARITIES}


def measure_of(name: str) -> Measure:
    """One of translation, or P@1 of retrieval by a similarity."""
    return (MEASURES | P_AT_1)[name]


def compared_measure(name: str | None) -> Measure:
    """What is compared: P@1 where each side has a similarity of its own, and so there is no common name."""
    return measure_of(name) if name else Measure("p_at_1", "P@1", 1, scale=100.0)


def side_label(comparison: Mapping, side: str) -> str:
    """The "baseline" or the "compared" system of a comparison, with its measure where the other one has
    another.
    """
    name = comparison[side]
    return name if comparison["measure"] else f"{name} by {comparison['measures'][side]}"


GROUPS = ("supervised", "zero-shot", "from-en", "to-en", "all")  # of directions


def groups_of(direction: str, kind: str) -> list[str]:
    """The averages that a direction belongs to."""
    source, target = split_direction(direction)
    english = [name for name, language in (("from-en", source), ("to-en", target)) if is_english(language)]
    return [kind, *english, "all"]
