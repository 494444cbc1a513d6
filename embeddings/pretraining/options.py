"""The options of `python -m embeddings pretrain`, and where its results lie."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, output_folder, switch
from data_prep.formats.texts import LANGUAGE

KIND = "pretraining"
VALIDATION = "validation.json"  # in the folder of an encoder
SENTENCES, BLOCKS = "sentences", "blocks"


@dataclass(frozen=True)
class Network:
    """The size of the encoder."""

    layers: int = option("of the encoder (XLM-R base: 12)", 12)
    width: int = option("of its states", 768)
    heads: int = option("of its attention", 12)
    inner_width: int = option("of its feed-forward layers", 3072)
    dropout: float = option("also of attention", 0.1, type=types.number(0, 1, below=True))
    max_length: int = option("tokens of an example", 128, type=types.whole_number(3))


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """What is trained, on what, and how long."""

    text: Path = option("folder of train.LANG and valid.LANG", required=True, metavar="DIR")
    languages: list[str] = option(
        "those of the encoder", required=True, type=types.items(LANGUAGE), metavar="LANG,…"
    )
    network: Network
    tokenizer: Path | None = option(
        "take that of the model in this folder of transformers (default: learn one)", metavar="DIR"
    )
    vocabulary_size: int = option("of a tokenizer that is learned", 16_000)
    tokenizer_lines: int = option("from which it is learned", 200_000)
    examples: str = option(
        "what is read at once: a line, or as many lines as fit into --max-length",
        SENTENCES,
        choices=(SENTENCES, BLOCKS),
    )
    sampling_temperature: float = option(
        "a language's share is proportional to its size^(1 / temperature) (XLM-R: 1 / 0.3)",
        10 / 3,
        type=types.number(1, 1000),
    )
    mask_rate: float = option("of the tokens", 0.15, type=types.number(0, 1, above=True, below=True))
    batch_tokens: int = option("of a batch on average", 4096)
    batches_per_update: int = option("whose gradients are added", 1)
    updates: int = option("of the training", 100_000)
    learning_rate: float = option("the highest, of AdamW", 5e-4, type=types.number(0, 1, above=True))
    warmup_updates: int = option("over which it grows; then it falls to 0 linearly", 2000, type=types.natural)
    weight_decay: float = option("of AdamW", 0.01, type=types.number(0, 1))
    clip_norm: float = option("of gradients", 1.0, type=types.number(0, 1e6, above=True))
    save_updates: int = option("keep the encoder every so many updates", 5000)
    valid_lines: int = option("of each language's valid.LANG, at most", 1000)
    seed: int = option("of weights, samples, batches and masks", 1, type=types.seed)
    precision: str = option("of the arithmetic", "float32", choices=("float32", "bfloat16"))
    gradient_checkpointing: bool = switch("less memory, and a forward pass more")
    cpu: bool = switch("do not use a GPU", compare=False)
    output: Path = output_folder(f"update-N and {KIND}.json")
    force: bool = force_switch("begin anew what is done or was begun")

    def check(self) -> None:
        """Refuse options that do not fit each other."""
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
