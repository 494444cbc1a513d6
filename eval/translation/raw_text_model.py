"""A model that reads raw text, whatever program it is of: what `eval translate` needs to know of it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from eval.result_files import split_direction
from eval.translation.evaluated_model import NamedModel
from eval.translation.translator import Translator, TranslatorOptions


@dataclass(frozen=True)
class RawTextModel(NamedModel, ABC):
    """A model whose `data` is a folder with raw sets in text/; None where a text is translated.

    Attributes:
        supervised: directions that are called supervised, and all others zero-shot; None: those that
            the checkpoint was trained on, or all if it does not say it.
    """

    supervised: list[str] | None = None

    @property
    def text(self) -> Path:
        """The folder of the raw sets."""
        if self.data is None:
            raise InputError("--data: is missing; expected a folder whose text/ has raw test sets")
        folder = self.data / "text"
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; expected raw test sets in it, such as test.de-en.de")
        return folder

    def is_supervised(self, direction: Direction, translator: Translator | None) -> bool:
        """Whether a direction is called supervised: as the user says, or as the checkpoint does.

        Args:
            translator: None for a model that does not translate.
        """
        supervised = translator.supervised if translator else None
        if self.supervised is not None:
            supervised = {split_direction(name) for name in self.supervised}
        return supervised is None or direction in supervised

    @abstractmethod
    def files(self) -> list[Path]:
        """What its translations depend on."""

    @abstractmethod
    def translator(self, options: TranslatorOptions) -> Translator:
        """The loaded model."""

    @abstractmethod
    def provenance(self, translator: Translator | None) -> dict:
        """What a result says of it: "system", "checkpoint", "versions", and its own options."""
