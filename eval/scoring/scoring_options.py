"""The options of `eval score`: what is scored, by which BLEU, by which COMET."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import force_switch, option
from command_line.outputs import checksum
from command_line.workers import workers_option
from data_prep.bleu import AUTO, SENTENCEPIECE, TOKENIZERS, bleu_tokenizer, sentencepiece_model
from data_prep.formats.texts import LANGUAGE
from eval.scoring.comet import BATCH_SIZE, local_checkpoint
from eval.scoring.off_target import IDENTIFIER
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders


def _tokenizers(text: str) -> dict[str, str]:
    """`km=13a,my=13a` -> {"km": "13a", "my": "13a"}; the tokenizer of all other languages is that of ""."""
    tokenizers: dict[str, str] = {}
    for part in text.split(","):
        language, _, name = part.strip().rpartition("=")
        types.require(name in (AUTO, *TOKENIZERS) and language not in tokenizers)
        tokenizers[LANGUAGE(language) if language else ""] = name
    return tokenizers


TOKENIZERS_OF_LANGUAGES = types.OptionType(
    f"one of {', '.join((AUTO, *TOKENIZERS))}, or such as km=13a,my=13a for some languages", _tokenizers
)


@dataclass(frozen=True)
class Tokenization:
    """How BLEU tokenizes.

    Attributes:
        tokenize: language -> sacreBLEU's tokenizer, or "auto"; that of "" is for all other languages.

    Raises:
        InputError: a model is missing or is of no use, or would be of two tokenizers.
    """

    tokenize: dict[str, str] = option(
        f"sacreBLEU's tokenizer, of every target language or of some: {', '.join(TOKENIZERS)}; auto"
        " (default): by how the language is written",
        {"": AUTO},
        type=TOKENIZERS_OF_LANGUAGES,
        metavar="[LANG=]NAME,…",
    )
    tokenizer_model: Path | None = option(
        "sentencepiece model of --tokenize flores200 or flores101; none: the file that sacreBLEU keeps",
        metavar="FILE",
    )

    def __post_init__(self):
        sentencepiece = self._sentencepiece
        if len(sentencepiece) > 1:
            raise InputError(f"--tokenize: {' and '.join(sentencepiece)} are given, expected one of them")
        for name in sentencepiece:
            sentencepiece_model(name, self.tokenizer_model)
        if self.tokenizer_model and not sentencepiece:
            raise InputError(f"--tokenizer-model: only with --tokenize {' or '.join(SENTENCEPIECE)}")

    @property
    def _sentencepiece(self) -> list[str]:
        return [name for name in SENTENCEPIECE if name in self.tokenize.values()]

    def of(self, language: str) -> str:
        """The tokenizer of a target language."""
        return bleu_tokenizer(language, self.tokenize.get(language, self.tokenize.get("", AUTO)))

    def check_languages(self, files: Iterable[DirectionFiles]) -> None:
        """Refuse a tokenizer of a language into which nothing was translated.

        Raises:
            InputError: there is one.
        """
        targets = sorted({file.target_language for file in files})
        for language, name in self.tokenize.items():
            if language and language not in targets:
                raise InputError(
                    f"--tokenize {language}={name}: no direction into {language}; there are those into"
                    f" {', '.join(targets)}"
                )

    def settings(self, files: list[DirectionFiles]) -> dict:
        """What scores depend on: the tokenizer of every target language, and its model."""
        targets = sorted({file.target_language for file in files})
        settings = {"tokenizers": {language: self.of(language) for language in targets}}
        for name in self._sentencepiece:
            model = checksum(sentencepiece_model(name, self.tokenizer_model))
            settings |= {"model": model, "is_sacrebleus": self.tokenizer_model is None}
        return settings


@dataclass(frozen=True)
class CometOptions:
    """Which COMET; see `eval.scoring.comet.Comet`."""

    comet_model: str | None = option("COMET checkpoint or model name; none: no COMET", metavar="PATH_OR_NAME")
    comet_python: Path | None = option(
        "interpreter of an environment with unbabel-comet; none: this one", metavar="PYTHON"
    )
    comet_batch_size: int = option("lines that COMET reads at a time", BATCH_SIZE)

    def __post_init__(self):
        if self.comet_python and not self.comet_model:
            raise InputError("--comet-python: expected together with --comet-model")
        local_checkpoint(self.comet_model)


@dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """What is scored, with what, in how many processes."""

    folders: TranslatedFolders
    tokenization: Tokenization
    identifier: Path | None = option(IDENTIFIER, metavar="FILE")
    comet: CometOptions
    workers: int = workers_option()
    force: bool = force_switch("score again what is already scored")
