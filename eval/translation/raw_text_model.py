"""A model that reads raw text, whatever program it is of: what `eval translate` needs to know of it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from eval.results.files import split_direction
from eval.translation.translator import Translator, TranslatorOptions


@dataclass(frozen=True)
class RawTextModel(ABC):
    """A model, the raw sets that it is evaluated on, and what both are called in tables.

    Attributes:
        checkpoint: file or folder.
        data: folder whose text/ has the raw sets; None where a text is translated.
        name: of the system in tables; None for that of the folder.
        dataset: name of the sets in tables; None for the name of `data`.
        supervised: directions that are called supervised, and all others zero-shot; None: all are supervised.
    """

    checkpoint: Path
    data: Path | None = None
    name: str | None = None
    dataset: str | None = None
    supervised: list[str] | None = None

    @property
    def text(self) -> Path:
        """Where the raw sets are."""
        if self.data is None:
            raise InputError("--data: is missing; expected a folder whose text/ has raw test sets")
        return self.data / "text"

    def is_supervised(self, direction: Direction) -> bool:
        supervised = self.supervised
        return supervised is None or direction in {split_direction(name) for name in supervised}

    @abstractmethod
    def files(self) -> list[Path]:
        """What its translations depend on."""

    @abstractmethod
    def translator(self, options: TranslatorOptions) -> Translator:
        """The loaded model."""

    @abstractmethod
    def provenance(self) -> dict:
        """What a result says of it: "system", "checkpoint", "versions", and its own options."""
