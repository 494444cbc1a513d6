"""The options of `python -m embeddings calibrate`, and where its results lie."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, output_folder, switch
from embeddings.encoders.options import SENTENCE_TRANSFORMERS, kind_of_trained
from embeddings.parallel_validation import RequiredParallelValidation

KIND = "calibration"
ENCODER = "encoder"  # folder of the best checkpoint
ALL_LAYERS = f"{ENCODER}-all-layers"  # the same with the layers above the pooled one, which are not trained
POOLINGS = ("mean", "cls")
PAPER = "Is Cross-lingual Evaluation Only About Cross-lingual?, Table 10"


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What is fine-tuned, on what, and how long."""

    model: Path = option(
        "the encoder: a folder of transformers (mBERT, XLM-R, an update of pretrain) or of"
        " sentence-transformers (LaBSE)",
        required=True,
        metavar="DIR",
    )
    nli: list[Path] = option(
        "English inference: .jsonl of SNLI and MultiNLI, or AllNLI.tsv; may end with .gz or .xz",
        required=True,
        metavar="FILE",
    )
    sts: Path = option(
        "English similarity: CSV or TSV of sentence, sentence, rating from 0 to 5 (STSb, training part)",
        required=True,
        metavar="FILE",
    )
    validation: RequiredParallelValidation
    pooling: str | None = option(
        "of transformers: how states become a vector (default: mean)", choices=POOLINGS
    )
    layer: int | None = option(
        f"of transformers: whose states are pooled; {ENCODER} ends with it, {ALL_LAYERS} has those above, for"
        " fine-tuning (default: the last; the paper: mBERT 8, XLM-R base 7, XLM-R 13)",
        metavar="N",
    )
    prefix: str | None = option(
        "text in front of every sentence, which the calibrated encoder keeps, for example 'query: '"
        " (default: what the folder says, if any)"
    )
    max_length: int = option("tokens of a sentence in training", 75, type=types.whole_number(3))
    nli_epochs: int = option(f"over --nli, first ({PAPER})", 1)
    sts_epochs: int = option("over --sts, then (the paper: XLM-R 5)", 10)
    batch_size: int = option("examples (the paper: XLM-R 64)", 128, type=types.whole_number(2))
    learning_rate: float = option(
        "the highest, of AdamW (the paper: XLM-R 5e-6)", 2e-5, type=types.number(0, 1, above=True)
    )
    warmup: float = option(
        "share of the updates on either data set over which it grows; then it falls to 0 linearly",
        0.1,
        type=types.number(0, 1, below=True),
    )
    seed: int = option("of the order of the examples, and of dropout", 1, type=types.seed)
    precision: str = option("of training's arithmetic", "float32", choices=("float32", "bfloat16"))
    keep_checkpoints: bool = switch(
        f"also those that are not the best: {ENCODER}-UPDATE, after every tenth of the updates"
    )
    cpu: bool = switch("do not use a GPU", compare=False)
    output: Path = output_folder(f"{ENCODER} and {KIND}.json")
    force: bool = force_switch("begin anew what is done or was begun")

    def check(self) -> None:
        """Refuse an encoder of another kind, and options that are not of its kind."""
        kind = kind_of_trained(self.model)
        for name in ("pooling", "layer"):
            if kind == SENTENCE_TRANSFORMERS and getattr(self, name) is not None:
                raise InputError(
                    f"--{name}: {self.model} is a folder of {kind}, which says itself how it makes vectors;"
                    " leave the option out"
                )
