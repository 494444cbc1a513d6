"""The options of `python -m embeddings calibrate`, and where its results lie."""

from dataclasses import dataclass, field
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from embeddings.encoders.options import SENTENCE_TRANSFORMERS, TRANSFORMERS, kind_of
from embeddings.parallel_validation import ParallelValidation, add_parallel_validation_arguments

STATE = "training"  # folder of what the trainer needs to go on
ENCODER = "encoder"  # folder of the best checkpoint
POOLINGS = ("mean", "cls")
PAPER = "Is Cross-lingual Evaluation Only About Cross-lingual?, Table 10"


@dataclass(frozen=True)
class Calibration:
    """What is fine-tuned, on what, and how long.

    Attributes:
        model: folder of transformers or sentence-transformers.
        pooling: of an encoder of transformers, one of POOLINGS; None for the mean, or what the folder says.
        layer: of an encoder of transformers, whose states are pooled; None for the last.
        nli: files of premises, hypotheses and labels.
        sts: file of rated pairs.
        validation: what the best checkpoint is chosen by.
        max_length: tokens of a sentence in training.
        nli_epochs, sts_epochs: how often each is read, the one after the other.
        warmup: share of the updates on either data set over which the learning rate grows.
        keep_checkpoints: of every tenth, not of the best one alone.
    """

    model: Path
    pooling: str | None
    layer: int | None
    nli: list[Path]
    sts: Path
    validation: ParallelValidation
    max_length: int
    nli_epochs: int
    sts_epochs: int
    batch_size: int
    learning_rate: float
    warmup: float
    seed: int
    precision: str
    keep_checkpoints: bool
    cpu: bool = field(compare=False)

    def check(self) -> None:
        """Refuse an encoder of another kind, and options that are not of its kind.

        Raises:
            InputError: it is neither, or says itself how it makes vectors.
        """
        kind = kind_of(self.model)
        if kind not in (TRANSFORMERS, SENTENCE_TRANSFORMERS):
            raise InputError(
                f"--model {self.model}: is an encoder of the kind {kind}, expected a folder of {TRANSFORMERS}"
                f" or {SENTENCE_TRANSFORMERS}; `fairseq_ext export` makes one"
            )
        for option in ("pooling", "layer"):
            if kind == SENTENCE_TRANSFORMERS and getattr(self, option) is not None:
                raise InputError(
                    f"--{option}: {self.model} is a folder of {kind}, which says itself how it makes vectors;"
                    " leave the option out"
                )


def add_calibration_arguments(parser) -> None:
    """The options of `Calibration`."""
    add = parser.add_argument
    add(
        "--model",
        required=True,
        type=types.path,
        metavar="DIR",
        help="the encoder: a folder of transformers (mBERT, XLM-R, an update of pretrain) or of"
        " sentence-transformers (LaBSE)",
    )
    add(
        "--nli",
        required=True,
        nargs="+",
        type=types.path,
        metavar="FILE",
        help="English inference: .jsonl of SNLI and MultiNLI, or AllNLI.tsv; may end with .gz or .xz",
    )
    add(
        "--sts",
        required=True,
        type=types.path,
        metavar="FILE",
        help="English similarity: CSV or TSV of sentence, sentence, rating from 0 to 5 (STSb, training part)",
    )
    add_parallel_validation_arguments(parser, required=True)
    add(
        "--pooling",
        choices=POOLINGS,
        help="of transformers: how states become a vector (default: mean)",
    )
    add(
        "--layer",
        type=types.positive,
        metavar="N",
        help="of transformers: whose states are pooled; those above are no part of the result (default: the"
        " last; the paper: mBERT 8, XLM-R base 7, XLM-R 13)",
    )
    add("--max-length", type=types.whole_number(3), default=75, help="tokens of a sentence in training")
    add("--nli-epochs", type=types.positive, default=1, help=f"over --nli, first ({PAPER})")
    add("--sts-epochs", type=types.positive, default=10, help="over --sts, then (the paper: XLM-R 5)")
    add("--batch-size", type=types.whole_number(2), default=128, help="examples (the paper: XLM-R 64)")
    add(
        "--learning-rate",
        type=types.number(0, 1, above=True),
        default=2e-5,
        help="the highest, of AdamW (the paper: XLM-R 5e-6)",
    )
    add(
        "--warmup",
        type=types.number(0, 1, below=True),
        default=0.1,
        help="share of the updates on either data set over which it grows; then it falls to 0 linearly",
    )
    add("--seed", type=types.seed, default=1, help="of the order of the examples, and of dropout")
    add("--precision", choices=("float32", "bfloat16"), default="float32", help="of training's arithmetic")
    add(
        "--keep-checkpoints",
        action="store_true",
        help=f"also those that are not the best: {ENCODER}-UPDATE, after every tenth of the updates",
    )
    add("--cpu", action="store_true", help="do not use a GPU")
