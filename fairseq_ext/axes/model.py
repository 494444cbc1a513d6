"""The axes of a model: residual block, language tags, bridge, architecture."""

from collections.abc import Sequence
from dataclasses import fields

from fairseq_ext.axes.axis import Axis, Record, Training, is_sentence_encoder
from fairseq_ext.axes.options import default_of, given_to_architecture, option, shown, unusual
from fairseq_ext.data import language_tags
from fairseq_ext.models.interlingua_options import INTERLINGUAS, InterlinguaTransformerConfig
from fairseq_ext.models.mnmt_transformer import MnmtTransformerConfig
from fairseq_ext.modules import residual_block

# --- residual block


def _placement_label(record: Record) -> str:
    """PreNorm, PreNorm w/o Enc-Last (thesis E.1), …"""
    return _placement_name(record) + _final_norm_label(record)


def _placement_name(record: Record) -> str:
    name = record.get("norm_placement")
    return residual_block.PLACEMENTS[name].label if name in residual_block.PLACEMENTS else name or ""


def _final_norm_label(record: Record) -> str:
    placement = residual_block.PLACEMENTS.get(record.get("norm_placement"))
    has_one = placement is not None and placement.final_norm
    return " w/o Enc-Last" if has_one and record.get("encoder_final_norm") is False else ""


def _affine_label(record: Record) -> str:
    return "-simple" if record.get("norm_affine") is False else ""


def layer_norm(record: Record) -> str:
    """PreNorm, PostNorm-simple, PreNorm w/o Enc-Last (thesis E.1, E.3), …; empty if it is not known."""
    return _placement_name(record) + _affine_label(record) + _final_norm_label(record)


PLACEMENT = Axis(
    "placement of normalization",
    {"norm_placement": str | None, "encoder_final_norm": bool | None},
    read=lambda training: {
        "norm_placement": residual_block.placement_of(training.model),
        "encoder_final_norm": not option(training.model, "no_encoder_final_norm", False),
    },
    label=_placement_label,
    options=(
        "norm_placement",
        "encoder_normalize_before",
        "decoder_normalize_before",
        "no_encoder_final_norm",
    ),
)
AFFINE = Axis(
    "affine parameters of normalization",
    {"norm_affine": bool | None},
    read=lambda training: {"norm_affine": not option(training.model, "no_norm_affine", False)},
    label=_affine_label,
    options=("no_norm_affine",),
)


def dropped_layers(record: Record) -> str | None:
    """Encoder layers without self-attention residual, "2,3"; None if that is not known."""
    layers = record.get("drop_residual_layers")
    return None if layers is None else str(layers).strip("[]").replace(" ", "")


def residual(record: Record) -> str:
    """With (w/) or without (w/o) the self-attention residual of the paper's layer 4, or of layers named."""
    layers = dropped_layers(record)
    return "" if layers is None else {"": "w/", "4": "w/o"}.get(layers, f"w/o ({layers})")


RESIDUAL = Axis(
    "residual connection",
    {"drop_residual_layers": str | None},
    read=lambda training: {"drop_residual_layers": option(training.model, "drop_residual_layers") or ""},
    label=lambda record: residual(record).replace("w/o", "w/o Res.") if dropped_layers(record) else "",
    choice=dropped_layers,
    options=("drop_residual_layers",),
)

# --- target language in the encoder


def target_layers(record: Record) -> int:
    """Top encoder layers that are told the target language."""
    return record.get("target_embedding_layers") or 0


def _target_layers(training: Training) -> dict:
    layers = option(training.model, "target_embedding_layers", 0)
    return {"target_embedding_layers": layers} if layers else {}


TARGET_EMBEDDING = Axis(
    "target language in encoder layers",
    {"target_embedding_layers": int | None},
    read=_target_layers,
    label=lambda record: f"LCS {target_layers(record)}" if target_layers(record) else "",
    choice=target_layers,
    options=("target_embedding_layers",),
)

# --- language tags


def tags_label(record: Record) -> str:
    """T-ENC, …; empty for a sentence encoder, whose decoder, if it has one, is the only reason for tags."""
    name = record.get("language_tags")
    if is_sentence_encoder(record):
        return ""
    return language_tags.PLACEMENTS[name].label if name in language_tags.PLACEMENTS else name or ""


TAGS = Axis(
    "language tags",
    {"language_tags": str | None},
    read=lambda training: {"language_tags": training.language_tags},
    label=tags_label,
)

# --- bridge

_BRIDGE_OPTIONS = {
    field.name: default_of(field)
    for field in fields(InterlinguaTransformerConfig)
    if field.name not in MnmtTransformerConfig.__dataclass_fields__
}
_ENGLISH = {"centric_language": "en"}  # a checkpoint has the language that was found, too


def _bridge(training: Training) -> dict:
    kind = option(training.model, "interlingua")
    if not kind:
        return {}
    usual = {k: v for k, v in _BRIDGE_OPTIONS.items() if k not in ("interlingua", "interlingua_length")}
    return {
        "interlingua": str(kind),
        "interlingua_length": option(training.model, "interlingua_length"),
        "interlingua_options": {
            name: value
            for name, value in unusual(training.model, usual).items()
            if value != _ENGLISH.get(name)
        },
    }


def _bridge_label(record: Record) -> str:
    kind = record.get("interlingua")
    if not kind:
        return ""
    length = record.get("interlingua_length")
    options = {**({"length": length} if length else {}), **(record.get("interlingua_options") or {})}
    return INTERLINGUAS.get(kind, kind) + shown(options, "interlingua_")


BRIDGE = Axis(
    "bridge",
    {
        "interlingua": str | None,
        "interlingua_length": int | None,
        "interlingua_options": dict | None,
    },
    read=_bridge,
    label=_bridge_label,
    options=tuple(_BRIDGE_OPTIONS),
)

# --- architecture

FAMILIES = ("mnmt_transformer", "interlingua_transformer")  # which of them it is, is a choice of the bridge
_SAME_OUTPUT = ("checkpoint_activations", "offload_activations")  # options that change no number
_FILES = ("encoder_embed_path", "decoder_embed_path")


def _size(record: Record) -> str:
    """`tiny` of `interlingua_transformer_tiny`; an architecture of another family has its whole name."""
    name = record.get("architecture") or ""
    for family in FAMILIES:
        if name == family or name.startswith(f"{family}_"):
            return name.removeprefix(family).removeprefix("_")
    return name


def _architecture(training: Training, of_others: Sequence[str]) -> dict:
    name = option(training.model, "arch")
    given = given_to_architecture(name, training.model, [*of_others, *_SAME_OUTPUT, *_FILES])
    return {"architecture": name, "architecture_options": given}


def architecture(others: Sequence[Axis]) -> Axis:
    """The axis of all options of a model that belong to no other axis."""
    of_others = [name for axis in others for name in axis.options]
    return Axis(
        "architecture",
        {"architecture": str | None, "architecture_options": dict | None},
        read=lambda training: _architecture(training, of_others),
        label=_size,  # what was given besides is the same for all systems of most tables
        choice=lambda record: (_size(record), record.get("architecture_options")),
    )
