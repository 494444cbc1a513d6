"""How systems are called, ordered and told apart in tables: the columns of Table 8.2 of the thesis.

What is to be known of a model and its training, `fairseq_ext.axes` knows. Evaluation adds two axes of its
own: the pivot, and how hypotheses are searched.

Measures have one number per direction. Shares and rates are fractions from 0 to 1 in files and percentages in
tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from data_prep.languages import is_english
from embeddings.search.sentence_scores import MEASURES as SIMILARITIES
from eval.result_files import split_direction
from eval.systems import UNKNOWN, MeanStd, System

PLACEMENT = "placement of normalization"  # the axis of Table 8.2


def layer_norm(system: System) -> str:
    """PreNorm, PostNorm-simple, PreNorm w/o Enc-Last (thesis E.1, E.3), …"""
    from fairseq_ext.axes import model

    return model.layer_norm(system.settings) or UNKNOWN


def language_tag(system: System) -> str:
    """S-ENC-T-DEC, or S-ENC-T-DEC LCS 5, whose encoder's top layers are told the target language."""
    from fairseq_ext.axes import model

    labels = model.tags_label(system.settings), model.TARGET_EMBEDDING.label(system.settings)
    return " ".join(filter(None, labels)) or UNKNOWN


def residual(system: System) -> str:
    """With (w/) or without (w/o) the self-attention residual of the paper's layer 4, or of layers named."""
    from fairseq_ext.axes import model

    return model.residual(system.settings) or UNKNOWN


def column_titles(systems: Sequence[System]) -> dict[str, tuple[str, str]]:
    """Name of a system -> what stands above its column: tags and residual connection, and below these the
    placement of normalization. "" and the name, where these are not known or two systems have the same.
    """
    titles = {}
    for system in systems:
        pivot = f", pivot {system.pivot}" if system.pivot else ""
        group = f"{language_tag(system)} {residual(system)} Res."
        titles[system.name] = group, layer_norm(system) + pivot
    is_known = not any(UNKNOWN in title for both in titles.values() for title in both)
    if is_known and len(set(titles.values())) == len(systems):
        return titles
    return {system.name: ("", system.name) for system in systems}


def order(system: System) -> tuple:
    """Sorting key in the order of Table 8.2, systems with a pivot first; then by name."""
    from fairseq_ext.axes import record

    return (not system.pivot, *record.order(system.settings), system.name)


def choices(system: System) -> dict | None:
    """The choice on every axis; None if nothing was recorded, as with translations made elsewhere."""
    from fairseq_ext.axes import record

    choices_of_model = record.choices(system.settings)
    return choices_of_model and choices_of_model | {"pivot": system.pivot, "search": system.search}


def differing_axis(first: System, second: System) -> str | None:
    """The only axis on which two systems on the same dataset differ; None if there is no such axis."""
    choices_of_first, other = choices(first), choices(second)
    if first.dataset != second.dataset or choices_of_first is None or other is None:
        return None
    names = [name for name in choices_of_first | other if choices_of_first.get(name) != other.get(name)]
    return names[0] if len(names) == 1 else None


def direction_order(kind: str, directions: list[str]) -> list[str]:
    """Zero-shot directions by name; supervised ones as en-xx, xx-en, by language (thesis E.3-E.8)."""
    if kind == "zero-shot":
        return sorted(directions)

    def key(direction: str) -> tuple:
        source, target = direction.split("-")
        return (target, 0) if is_english(source) else (source, 1)

    return sorted(directions, key=key)


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


SPEARMAN = Measure("spearman", "Spearman's correlation x 100", 1)


def measure_of(name: str) -> Measure:
    """One of translation, P@1 of retrieval by a similarity, or a correlation with ratings."""
    return (MEASURES | P_AT_1 | {SPEARMAN.name: SPEARMAN})[name]


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
