"""The options of `eval score`: what is scored, by which BLEU, by which COMET."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.outputs import checksum
from command_line.workers import add_workers_argument
from data_prep.bleu import AUTO, SENTENCEPIECE, TOKENIZERS, bleu_tokenizer, sentencepiece_model
from eval.scoring.comet import BATCH_SIZE, local_checkpoint
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, add_folder_arguments


@dataclass(frozen=True)
class Tokenization:
    """How BLEU tokenizes.

    Attributes:
        tokenize: sacreBLEU's tokenizer, or "auto".
        tokenizer_model: file of its sentencepiece model; None for sacreBLEU's, or a tokenizer that has none.

    Raises:
        InputError: a model is missing or is of no use.
    """

    tokenize: str = AUTO
    tokenizer_model: Path | None = None

    def __post_init__(self):
        if self.tokenize in SENTENCEPIECE:
            sentencepiece_model(self.tokenize, self.tokenizer_model)
        elif self.tokenizer_model:
            raise InputError(f"--tokenizer-model: only with --tokenize {' or '.join(SENTENCEPIECE)}")

    def settings(self, files: list[DirectionFiles]) -> dict:
        """What scores depend on: the tokenizer of every target language, and its model."""
        settings = {
            "tokenizers": {
                one: bleu_tokenizer(one, self.tokenize)
                for one in sorted({file.target_language for file in files})
            }
        }
        if self.tokenize in SENTENCEPIECE:
            model = checksum(sentencepiece_model(self.tokenize, self.tokenizer_model))
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
    """What is scored, with what, in how many processes."""

    folders: TranslatedFolders
    comet: CometOptions
    tokenization: Tokenization
    workers: int


def add_scoring_arguments(parser) -> None:
    """Of `ScoringOptions`."""
    add_folder_arguments(parser)
    parser.add_argument(
        "--tokenize",
        choices=(AUTO, *TOKENIZERS),
        default=AUTO,
        help="sacreBLEU's tokenizer, for every language",
    )
    parser.add_argument(
        "--tokenizer-model",
        type=types.path,
        metavar="FILE",
        help="sentencepiece model of --tokenize flores200 or flores101; none: the file that sacreBLEU keeps",
    )
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
