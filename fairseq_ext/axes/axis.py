"""What an axis is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Record = Mapping[str, Any]


class Training(NamedTuple):
    """What a checkpoint says.

    Attributes:
        language_tags: the placement of its language tags; None in pre-training.
        initialized_from: as `fairseq_ext.checkpoints.origin` has it; None if that is not known.
        averaged: so many checkpoints are in the mean of weights.
        ensemble: so many models are in the ensemble.
        teacher: name of the encoder that it learned from; None if there was none.
    """

    cfg: Mapping[str, Any]
    language_tags: str | None
    initialized_from: dict | None
    averaged: int = 1
    ensemble: int = 1
    teacher: str | None = None

    @property
    def model(self):
        return self.cfg["model"]


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        name: in comparisons of systems that differ on it.
        fields: its fields of a record, with their types; a field may be missing.
        read: its fields of a training.
        label: in a system's name; empty if it is as usual.
        choice: what two systems that differ on no other axis may not differ in.
        options: of the model, that belong to it.
    """

    name: str
    fields: Mapping[str, Any]
    read: Callable[[Training], dict]
    label: Callable[[Record], str]
    choice: Callable[[Record], Any] | None = None
    options: tuple[str, ...] = ()

    def choice_of(self, record: Record) -> Any:
        return self.choice(record) if self.choice else tuple(record.get(name) for name in self.fields)

    def is_known(self, record: Record) -> bool:
        return any(record.get(name) is not None for name in self.fields)


def is_sentence_encoder(record: Record) -> bool:
    """Is the system a sentence encoder? Then it is usual that there are neither language tags nor a
    translation loss, and names say nothing of it.
    """
    return record.get("pooling") is not None
