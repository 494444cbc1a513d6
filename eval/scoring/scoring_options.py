"""The options of `eval score`: what is scored, by which BLEU, by which COMET."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import add_options
from command_line.outputs import checksum
from command_line.workers import add_workers_argument
from data_prep.bleu import AUTO, SENTENCEPIECE, TOKENIZERS, bleu_tokenizer, sentencepiece_model
from data_prep.formats.texts import LANGUAGE
from eval.scoring.comet import BATCH_SIZE, local_checkpoint
from eval.scoring.off_target import add_identifier_argument
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders


def _tokenizers(text: str) -> dict[str, str]:
    """`km=13a,my=13a` -> {"km": "13a", "my": "13a"}; the tokenizer of all other languages is that of ""."""
    found: dict[str, str] = {}
    for part in text.split(","):
        language, _, name = part.strip().rpartition("=")
        types.require(name in (AUTO, *TOKENIZERS) and language not in found)
        found[LANGUAGE(language) if language else ""] = name
    return found


TOKENIZERS_OF_LANGUAGES = types.OptionType(
    f"one of {', '.join((AUTO, *TOKENIZERS))}, or such as km=13a,my=13a for some languages", _tokenizers
)


@dataclass(frozen=True)
class Tokenization:
    """How BLEU tokenizes.

    Attributes:
        tokenize: language -> sacreBLEU's tokenizer, or "auto"; that of "" is for all other languages.
        tokenizer_model: file of its sentencepiece model; None for sacreBLEU's, or a tokenizer that has none.

    Raises:
        InputError: a model is missing or is of no use, or would be of two tokenizers.
    """

    tokenize: dict[str, str]
    tokenizer_model: Path | None = None

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
        known = sorted({file.target_language for file in files})
        for language, name in self.tokenize.items():
            if language and language not in known:
                raise InputError(
                    f"--tokenize {language}={name}: no direction into {language}; there are those into"
                    f" {', '.join(known)}"
                )

    def settings(self, files: list[DirectionFiles]) -> dict:
        """What scores depend on: the tokenizer of every target language, and its model."""
        targets = sorted({file.target_language for file in files})
        settings = {"tokenizers": {one: self.of(one) for one in targets}}
        for name in self._sentencepiece:
            model = checksum(sentencepiece_model(name, self.tokenizer_model))
            settings |= {"model": model, "is_sacrebleus": self.tokenizer_model is None}
        return settings


@dataclass(frozen=True)
class CometOptions:
    """Which COMET; see `eval.scoring.comet.Comet`."""

    comet_model: str | None = None
    comet_python: Path | None = None
    comet_batch_size: int = BATCH_SIZE

    def __post_init__(self):
        if self.comet_python and not self.comet_model:
            raise InputError("--comet-python: expected together with --comet-model")
        local_checkpoint(self.comet_model)


@dataclass(frozen=True)
class ScoringOptions:
    """What is scored, with what, in how many processes.

    Attributes:
        identifier: file of the identifier of languages; None for the packaged one.
    """

    folders: TranslatedFolders
    comet: CometOptions
    tokenization: Tokenization
    workers: int
    identifier: Path | None = None


def add_scoring_arguments(parser) -> None:
    """Of `ScoringOptions`."""
    add_options(parser, TranslatedFolders)
    parser.add_argument(
        "--tokenize",
        type=TOKENIZERS_OF_LANGUAGES,
        default={"": AUTO},
        metavar="[LANG=]NAME,…",
        help=f"sacreBLEU's tokenizer, of every target language or of some: {', '.join(TOKENIZERS)}; auto "
        "(default): by how the language is written",
    )
    parser.add_argument(
        "--tokenizer-model",
        type=types.path,
        metavar="FILE",
        help="sentencepiece model of --tokenize flores200 or flores101; none: the file that sacreBLEU keeps",
    )
    add_identifier_argument(parser)
    parser.add_argument(
        "--comet-model",
        type=types.text,
        metavar="PATH_OR_NAME",
        help="COMET checkpoint or model name; none: no COMET",
    )
    parser.add_argument(
        "--comet-python",
        type=types.path,
        metavar="PYTHON",
        help="interpreter of an environment with unbabel-comet; none: this one",
    )
    parser.add_argument(
        "--comet-batch-size", type=types.positive, default=BATCH_SIZE, help="lines that COMET reads at a time"
    )
    add_workers_argument(parser)
