"""Make a small causal language model with random weights, for experiments from nothing.

--text is a folder of raw text, SPLIT.A-B.LANG or SPLIT.LANG. Its training text, a sample of it where it is
long, gives a byte-level tokenizer as BLOOM's, whose symbols can write any text, of languages and scripts that
the sample does not have, too. OUTPUT is a folder of `transformers` with a BLOOM (Le Scao et al. 2022) of the
given size, which `llm tune --lora-rank 0` trains.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.lines import count_lines, read_lines
from command_line.option_classes import by_name, force_switch, option, output_folder
from data_prep.formats.texts import LANGUAGE, TRAIN, check_parallel, find_texts, paths_of
from data_prep.step_folder import StepFolder

SPECIAL = ("<unk>", "<s>", "</s>", "<pad>")  # with BLOOM's numbers
BYTES = 256


@dataclass(frozen=True, kw_only=True)
class NewModel:
    """The size of the model, and what its tokenizer is learned from."""

    text: Path = option("folder of raw text", required=True, metavar="DIR")
    languages: list[str] | None = option(
        "that the tokenizer is learned from (default: all of the text)",
        type=options.items(LANGUAGE),
        metavar="LANG,…",
    )
    lines: int = option("at most, of every file", 100_000)
    vocabulary_size: int = option(
        "symbols, with those of all bytes", 8000, type=options.whole_number(BYTES + len(SPECIAL))
    )
    width: int = option("of states", 256)
    layers: int = option("of the model", 4)
    heads: int = option("of attention", 4)
    seed: int = option("of the weights", 1, type=options.seed)
    output: Path = output_folder("the model")
    force: bool = force_switch()

    def __post_init__(self):
        if self.width % self.heads:
            raise InputError(
                f"--heads {self.heads}: do not share --width {self.width} evenly; expected a divisor"
            )

    def files(self) -> list[Path]:
        """The training text.

        Raises:
            InputError: there is none at all, or of one of these languages.
        """
        texts = [text for text in find_texts(self.text) if text.split == TRAIN]
        check_parallel(texts)
        codes = [code for text in texts for code in text.languages]
        missing = [code for code in self.languages or () if code not in codes]
        if missing or not codes:
            named = f" of these languages: {', '.join(missing)}" if missing else ""
            raise InputError(f"{self.text}: no training text{named}; expected train.A-B.LANG")
        pairs = zip(paths_of(texts), codes, strict=True)
        return [path for path, code in pairs if self.languages is None or code in self.languages]


def main(job: NewModel) -> None:
    files = job.files()
    step = StepFolder(job.output, "new-model", by_name(job), files, [job.text])
    if step.is_complete(job.force):
        return
    with step.writing(lambda path: path.suffix in (".json", ".safetensors", ".jinja")):
        parameters = make_model(job, files)
    print(f"{job.output}: {parameters:,} parameters")


def make_model(job: NewModel, files: list[Path]) -> int:
    """Learn the tokenizer from text, and write it and the model; returns how many parameters it has."""
    tokenizer = learn_tokenizer(lines_of(files, job.lines), job.vocabulary_size)
    model = random_model(job, len(tokenizer))
    model.save_pretrained(job.output)
    tokenizer.save_pretrained(job.output)
    return sum(parameter.numel() for parameter in model.parameters())


def lines_of(files: list[Path], most: int) -> Iterator[str]:
    """Lines of every file, evenly spread."""
    for path in files:
        step = max(1, -(-count_lines(path) // most))  # rounded up: at most so many
        yield from (line for number, line in enumerate(read_lines(path)) if number % step == 0)


def learn_tokenizer(lines: Iterator[str], size: int):
    """Byte pairs of words with the space in front of them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    names = dict(zip(("unk_token", "bos_token", "eos_token", "pad_token"), SPECIAL, strict=True))
    read = ["input_ids", "attention_mask"]  # BLOOM's `generate` refuses types of tokens
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, padding_side="left", model_input_names=read, **names
    )


def random_model(job: NewModel, vocabulary: int):
    """A BLOOM of the given size."""
    import torch
    from transformers import BloomConfig, BloomForCausalLM

    torch.manual_seed(job.seed)
    config = BloomConfig(
        vocab_size=vocabulary,
        hidden_size=job.width,
        n_layer=job.layers,
        n_head=job.heads,
        bos_token_id=SPECIAL.index("<s>"),
        eos_token_id=SPECIAL.index("</s>"),
        pad_token_id=SPECIAL.index("<pad>"),
    )
    return BloomForCausalLM(config)
