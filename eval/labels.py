"""How systems are called and ordered in tables: the columns of Table 8.2 of the thesis."""

from data_prep.languages import is_english
from eval.system_record import PLACEMENTS
from eval.systems import System

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


def block(system: System) -> tuple:
    """Systems with the same block differ in the placement of normalization only: compared in Table 8.2."""
    ignored = ("norm_placement", "encoder_final_norm")
    settings = tuple(sorted((k, str(v)) for k, v in system.settings.items() if k not in ignored))
    return system.dataset, system.pivot or "", settings


def direction_order(kind: str, directions: list[str]) -> list[str]:
    """Zero-shot directions by name; supervised ones as en-xx, xx-en, language by language (E.3-E.8)."""
    if kind == "zero-shot":
        return sorted(directions)

    def key(direction: str) -> tuple:
        source, target = direction.split("-")
        return (target, 0) if is_english(source) else (source, 1)

    return sorted(directions, key=key)
