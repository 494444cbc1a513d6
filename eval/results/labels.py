"""How systems are called, ordered and told apart in tables: the columns of Table 8.2 of the thesis."""

import re

from data_prep.languages import is_english
from eval.results.system_record import PLACEMENTS
from eval.results.systems import System

TAGS = ("s-enc-t-dec", "t-enc", "t-dec", "s-enc-t-enc")
UNKNOWN = "–"


def layer_norm(system: System) -> str:
    """PreNorm, PostNorm-simple (E.3), PreNorm w/o Enc-Last (E.1), …"""
    settings = system.settings
    placement = settings.get("norm_placement")
    label = PLACEMENTS.get(placement, placement or UNKNOWN)
    if settings.get("norm_affine") is False:
        label += "-simple"
    if settings.get("encoder_final_norm") is False and placement in ("pre", "swap-pre"):
        label += " w/o Enc-Last"
    return label


def language_tag(system: System) -> str:
    return (system.settings.get("language_tags") or UNKNOWN).upper()


def residual(system: System) -> str:
    """With (w/) or without (w/o) the self-attention residual of the paper's layer 4, or of layers named."""
    layers = system.settings.get("drop_residual_layers")
    if layers is None:
        return UNKNOWN
    layers = str(layers).strip("[]").replace(" ", "")
    return {"": "w/", "4": "w/o"}.get(layers, f"w/o ({layers})")


def layer_norm_row(system: System) -> str:
    """As the row heading of the per-direction tables: "Pre." and "Post." there, here in full."""
    return f"{layer_norm(system)}, pivot {system.pivot}" if system.pivot else layer_norm(system)


def columns_label(system: System) -> str:
    """The column group of the per-direction tables: "S-ENC-T-DEC w/ Res."; the name if that is not known."""
    if UNKNOWN in (layer_norm(system), language_tag(system), residual(system)):
        return system.name
    return f"{language_tag(system)} {residual(system)} Res."


def order(system: System) -> tuple:
    """Sorting key in the order of Table 8.2: pivot, residual, tags, placement, variants; then others."""
    settings = system.settings
    placements, tags = list(PLACEMENTS), settings.get("language_tags")
    known = settings.get("norm_placement") in placements
    return (
        not system.pivot,
        not known,
        bool(settings.get("drop_residual_layers")),
        TAGS.index(tags) if tags in TAGS else len(TAGS),
        settings.get("norm_affine") is False,
        placements.index(settings["norm_placement"]) if known else len(placements),
        settings.get("encoder_final_norm") is False,
        system.name,
    )


PLACEMENT = "placement of normalization"
RECORDED = ("norm_placement", "language_tags", "drop_residual_layers", "norm_affine", "encoder_final_norm")


def axes(system: System) -> dict[str, str] | None:
    """The system's choice on every axis; None if nothing was recorded, as with translations made elsewhere.

    A field that is not listed here is an axis of its own.
    """
    settings = dict(system.settings)
    if any(settings.get(field) is None for field in RECORDED):
        return None
    bridge = [settings.pop(field, None) or "" for field in ("interlingua", "interlingua_length", "repairs")]
    size = re.sub(r"^(mnmt|interlingua)_transformer_?", "", str(settings.pop("architecture", None) or ""))
    known = {
        PLACEMENT: f"{settings.pop('norm_placement')} {settings.pop('encoder_final_norm')}",
        "affine parameters of normalization": str(settings.pop("norm_affine")),
        "language tags": settings.pop("language_tags"),
        "residual connection": residual(system),
        "bridge": " ".join(map(str, bridge)).strip(),
        "architecture": size,  # without the family, which the bridge decides
        "pivot": system.pivot or "",
        "search": str(system.search),
    }
    del settings["drop_residual_layers"]
    return known | {field: str(value) for field, value in sorted(settings.items()) if value is not None}


def differing_axis(first: System, second: System) -> str | None:
    """The only axis on which two systems on the same dataset differ; None if there is no such axis."""
    choices = axes(first), axes(second)
    if first.dataset != second.dataset or None in choices:
        return None
    names = [name for name in choices[0] | choices[1] if choices[0].get(name) != choices[1].get(name)]
    return names[0] if len(names) == 1 else None


def direction_order(kind: str, directions: list[str]) -> list[str]:
    """Zero-shot directions by name; supervised ones as en-xx, xx-en, language by language (E.3-E.8)."""
    if kind == "zero-shot":
        return sorted(directions)

    def key(direction: str) -> tuple:
        source, target = direction.split("-")
        return (target, 0) if is_english(source) else (source, 1)

    return sorted(directions, key=key)
