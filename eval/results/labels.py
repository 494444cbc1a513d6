"""How systems are called, ordered and told apart in tables: the columns of Table 8.2 of the thesis.

What is to be known of a model and its training, `fairseq_ext.axes` knows. Evaluation adds two axes of its
own: the pivot, and how hypotheses are searched.
"""

from collections.abc import Sequence

from data_prep.languages import is_english
from eval.results.systems import UNKNOWN, System

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

    found = record.choices(system.settings)
    return found and found | {"pivot": system.pivot, "search": system.search}


def differing_axis(first: System, second: System) -> str | None:
    """The only axis on which two systems on the same dataset differ; None if there is no such axis."""
    found = choices(first), choices(second)
    if first.dataset != second.dataset or None in found:
        return None
    names = [name for name in found[0] | found[1] if found[0].get(name) != found[1].get(name)]
    return names[0] if len(names) == 1 else None


def direction_order(kind: str, directions: list[str]) -> list[str]:
    """Zero-shot directions by name; supervised ones as en-xx, xx-en, language by language (E.3-E.8)."""
    if kind == "zero-shot":
        return sorted(directions)

    def key(direction: str) -> tuple:
        source, target = direction.split("-")
        return (target, 0) if is_english(source) else (source, 1)

    return sorted(directions, key=key)
