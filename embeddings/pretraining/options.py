"""The options of `python -m embeddings pretrain`, and where its results lie."""

from dataclasses import dataclass, field
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from data_prep.formats.texts import LANGUAGE

STATE = "training"  # folder of what the trainer needs to go on
VALIDATION = "validation.json"  # in the folder of an encoder
SENTENCES, BLOCKS = "sentences", "blocks"


@dataclass(frozen=True)
class Network:
    """The size of the encoder.

    Attributes:
        heads: of the attention, which share the width.
        inner_width: of the feed-forward layers.
        max_length: tokens of an example.
    """

    layers: int
    width: int
    heads: int
    inner_width: int
    dropout: float
    max_length: int


@dataclass(frozen=True)
class Pretraining:
    """What is trained, on what, and how long.

    Attributes:
        text: folder with train.LANG and valid.LANG.
        tokenizer: folder of a model whose tokenizer is taken; None to learn one.
        vocabulary_size: symbols of a tokenizer that is learned, from a sample of `tokenizer_lines`.
        examples: SENTENCES or BLOCKS.
        sampling_temperature: a language's share of the tokens is proportional to its size^(1 / temperature).
        batch_tokens: of a batch on average; an update has `batches_per_update`.
        save_updates: an encoder is kept every so many.
        valid_lines: of each language.
    """

    text: Path
    languages: list[str]
    network: Network
    tokenizer: Path | None
    vocabulary_size: int
    tokenizer_lines: int
    examples: str
    sampling_temperature: float
    mask_rate: float
    batch_tokens: int
    batches_per_update: int
    updates: int
    learning_rate: float
    warmup_updates: int
    weight_decay: float
    clip_norm: float
    save_updates: int
    valid_lines: int
    seed: int
    precision: str
    gradient_checkpointing: bool
    cpu: bool = field(compare=False)

    def check(self) -> None:
        """Refuse options that do not fit each other.

        Raises:
            InputError: the heads do not share the width, or the warm-up is longer than the training.
        """
        network = self.network
        if network.width % network.heads:
            raise InputError(
                f"--heads {network.heads}: do not share --width {network.width} evenly; expected a divisor"
            )
        if self.warmup_updates >= self.updates:
            raise InputError(
                f"--warmup-updates {self.warmup_updates}: expected fewer than --updates {self.updates}"
            )


def encoder_folder(folder: Path, update: int) -> Path:
    """Where the encoder of an update is kept."""
    return folder / f"update-{update}"


def add_pretraining_arguments(parser) -> None:
    """The options of `Pretraining`."""
    add = parser.add_argument
    add("--text", required=True, type=types.path, metavar="DIR", help="folder of train.LANG and valid.LANG")
    add(
        "--languages",
        required=True,
        type=types.items(LANGUAGE),
        metavar="LANG,…",
        help="those of the encoder",
    )
    add("--layers", type=types.positive, default=12, help="of the encoder (XLM-R base: 12)")
    add("--width", type=types.positive, default=768, help="of its states")
    add("--heads", type=types.positive, default=12, help="of its attention")
    add("--inner-width", type=types.positive, default=3072, help="of its feed-forward layers")
    add("--dropout", type=types.number(0, 1, below=True), default=0.1, help="also of attention")
    add("--max-length", type=types.whole_number(3), default=128, help="tokens of an example")
    add(
        "--tokenizer",
        type=types.path,
        metavar="DIR",
        help="take that of the model in this folder of transformers (default: learn one)",
    )
    add("--vocabulary-size", type=types.positive, default=16_000, help="of a tokenizer that is learned")
    add("--tokenizer-lines", type=types.positive, default=200_000, help="from which it is learned")
    add(
        "--examples",
        choices=(SENTENCES, BLOCKS),
        default=SENTENCES,
        help="what is read at once: a line, or as many lines as fit into --max-length",
    )
    add(
        "--sampling-temperature",
        type=types.number(1, 1000),
        default=10 / 3,
        help="a language's share is proportional to its size^(1 / temperature) (XLM-R: 1 / 0.3)",
    )
    add("--mask-rate", type=types.number(0, 1, above=True, below=True), default=0.15, help="of the tokens")
    add("--batch-tokens", type=types.positive, default=4096, help="of a batch on average")
    add("--batches-per-update", type=types.positive, default=1, help="whose gradients are added")
    add("--updates", type=types.positive, default=100_000, help="of the training")
    add("--learning-rate", type=types.number(0, 1, above=True), default=5e-4, help="the highest, of AdamW")
    add(
        "--warmup-updates",
        type=types.natural,
        default=2000,
        help="over which it grows; then it falls to 0 linearly",
    )
    add("--weight-decay", type=types.number(0, 1), default=0.01, help="of AdamW")
    add("--clip-norm", type=types.number(0, 1e6, above=True), default=1.0, help="of gradients")
    add("--save-updates", type=types.positive, default=5000, help="keep the encoder every so many updates")
    add("--valid-lines", type=types.positive, default=1000, help="of each language's valid.LANG, at most")
    add("--seed", type=types.seed, default=1, help="of weights, samples, batches and masks")
    add("--precision", choices=("float32", "bfloat16"), default="float32", help="of the arithmetic")
    add("--gradient-checkpointing", action="store_true", help="less memory, and a forward pass more")
    add("--cpu", action="store_true", help="do not use a GPU")
