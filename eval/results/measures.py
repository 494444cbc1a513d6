"""What is measured per direction, how it is called in tables, and its averages over directions.

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


def common_measure(comparison: Mapping) -> str | None:
    """By which both sides of a comparison were measured; None where each has its own."""
    measure = comparison["measure"]
    return measure if isinstance(measure, str) else None


def compared_measure(comparison: Mapping) -> Measure:
    """What is compared: P@1 where each side has a similarity of its own."""
    name = common_measure(comparison)
    return measure_of(name) if name else Measure("p_at_1", "P@1", 1, scale=100.0)


def side_label(comparison: Mapping, side: str) -> str:
    """The "baseline" or the "system", with its measure where the other one has another."""
    name = comparison[side]
    return name if common_measure(comparison) else f"{name} by {comparison['measure'][side]}"


def groups_of(direction: str, kind: str) -> list[str]:
    """The averages that a direction belongs to."""
    source, target = split_direction(direction)
    english = [name for name, language in (("from-en", source), ("to-en", target)) if is_english(language)]
    return [kind, *english, "all"]


def averages(directions: Mapping[str, Mapping]) -> dict[str, dict]:
    """Unweighted means over directions, per group; groups without a direction are left out.

    A measure that a direction does not have (no COMET, a target language that the identifier does not know)
    is left out of the mean; one that no direction of the group has is null.

    Args:
        directions: direction -> its entry with "kind" and the measures.
    """
    members: dict[str, list[Mapping]] = {
        "supervised": [],
        "zero-shot": [],
        "from-en": [],
        "to-en": [],
        "all": [],
    }
    for direction, entry in directions.items():
        for group in groups_of(direction, entry["kind"]):
            members[group].append(entry)
    return {
        group: {"directions": len(entries), **means(entries)} for group, entries in members.items() if entries
    }


def means(entries: list[Mapping]) -> dict[str, float | None]:
    """The mean of every measure over the directions that have it, as into a language that the identifier does
    not know there is no off-target rate; None where none has.
    """
    found = {}
    for name in MEASURES:
        values = [entry[name] for entry in entries if entry.get(name) is not None]
        found[name] = sum(values) / len(values) if values else None
    return found
