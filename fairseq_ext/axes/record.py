"""The record of a system: its choice on every axis, its name, its place in tables."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from command_line.records import check
from fairseq_ext.axes.axis import Axis, Record, Training
from fairseq_ext.axes.model import (
    AFFINE,
    BRIDGE,
    PLACEMENT,
    RESIDUAL,
    TAGS,
    TARGET_EMBEDDING,
    architecture,
    dropped_layers,
    layer_norm,
    target_layers,
)
from fairseq_ext.axes.sentence_encoder import SENTENCE_ENCODER
from fairseq_ext.axes.training import COMBINATION, EXAMPLE, LOSS, PAIRS, SCHEDULE, SENTENCES, initialization
from fairseq_ext.data import language_tags
from fairseq_ext.modules import residual_block

_MODEL: tuple[Axis, ...] = (PLACEMENT, AFFINE, TAGS, TARGET_EMBEDDING, RESIDUAL, BRIDGE, SENTENCE_ENCODER)
_TRAINING: tuple[Axis, ...] = (EXAMPLE, SENTENCES, LOSS, PAIRS)
_ARCHITECTURE = architecture(_MODEL)
_INITIALIZATION = initialization((*_MODEL, *_TRAINING, _ARCHITECTURE))
AXES = (
    *_MODEL,
    *_TRAINING,
    _INITIALIZATION,
    _ARCHITECTURE,
    SCHEDULE,
    COMBINATION,
)  # in the order of their labels in a name


def describe(
    cfg: Mapping[str, Any],
    tags: str | None,
    initialized_from: dict | None = None,
    averaged: int = 1,
    ensemble: int = 1,
    teacher: str | None = None,
) -> dict:
    """The record of a system: its name, its choice on every axis, and its seed.

    Args:
        cfg: the options in the checkpoint, by section.
        tags: its placement of language tags; None in pre-training.
        initialized_from, averaged, ensemble, teacher: see `Training`.
    """
    training = Training(cfg, tags, initialized_from, averaged, ensemble, teacher)
    record = {name: value for axis in AXES for name, value in axis.read(training).items()}
    return {"name": name_of(record), **record, "seed": cfg["common"]["seed"]}


def name_of(record: Record) -> str:
    """The name of a system, such as "PreNorm S-ENC-T-DEC w/o Res. +word_contrastive"; usual choices are not
    named.
    """
    labels = [axis.label(record) for axis in AXES if axis not in (PLACEMENT, AFFINE)]
    return " ".join(filter(None, [layer_norm(record), *labels]))


SystemRecord = TypedDict(
    "SystemRecord", {field: kind for axis in AXES for field, kind in axis.fields.items()}, total=False
)


def check_record(record: Any, path, name: str = "system") -> None:
    """Compare the record of a system with what its axes declare.

    Raises:
        InputError: fields of an axis are not as they must be; names the file and the field.
    """
    check(record, SystemRecord, path, name)
    if origin := (record.get("initialization") or {}).get("system"):
        check_record(origin, path, f"{name}.initialization.system")


NEEDED = ("norm_placement", "language_tags", "drop_residual_layers", "norm_affine", "encoder_final_norm")


def choices(record: Record) -> dict[str, Any] | None:
    """The choice on every axis; None if nothing was recorded, as with translations made elsewhere."""
    if any(record.get(field) is None for field in NEEDED):
        return None
    return {axis.name: axis.choice_of(record) for axis in AXES}


def order(record: Record) -> tuple:
    """Sorting key in the order of Table 8.2: residual, tags, target in the encoder, affine parameters,
    placement, final norm.
    """
    placements, tags = list(residual_block.PLACEMENTS), list(language_tags.PLACEMENTS)
    placement, tag = record.get("norm_placement"), record.get("language_tags")
    return (
        placement not in placements,
        bool(dropped_layers(record)),
        tags.index(tag) if tag in tags else len(tags),
        target_layers(record),
        record.get("norm_affine") is False,
        placements.index(placement) if placement in placements else len(placements),
        record.get("encoder_final_norm") is False,
    )
