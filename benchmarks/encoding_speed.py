"""Lines per second of `embeddings encode`'s encoders against sentence-transformers with the same weights.

Against `SentenceTransformer.encode` of all lines at once: at least 1.2 times as many, with equal vectors.
Against a loop over 32 lines in the order of the text: at least 3 times as many, where bfloat16 or int8 are
allowed; the lowest cosine with float32 is shown. Times are those of the processor; variants take turns.

    python -m benchmarks.encoding_speed [--model DIR] [--text FILE ...] [--lines N] [--distinct]

Without --model a BERT of 4 layers of width 256 with random weights is made, without --text the sentences are
the phrasebook's.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from command_line import options as types
from command_line.dispatch import run_script
from command_line.lines import read_lines
from command_line.option_classes import option, switch

ROOT = Path(__file__).parents[1]
PRECISIONS = ("float32", "bfloat16", "int8")
LOOP = 32  # lines of the unsorted loop


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is encoded, and how."""

    model: Path | None = option("folder of sentence-transformers")
    text: list[Path] | None = option("text to encode")
    lines: int = option("of every text", 2000)
    distinct: bool = switch("leave out lines that occur before")
    rounds: int = option("all sides take turns, so many times", 3)
    threads: int = option("of torch", 1, type=types.worker_count)


def main(options: Options) -> None:
    import torch

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        texts = options.text or make_text(Path(folder), options.lines)
        lines = list(chain.from_iterable(islice(read_lines(text), options.lines) for text in texts))
        lines = list(dict.fromkeys(lines)) if options.distinct else lines
        compare(options.model or make_model(Path(folder), lines), lines, options.rounds)


def compare(model: Path, lines: list[str], rounds: int) -> None:
    """Time all variants in turns and print ratios."""
    import numpy as np
    from sentence_transformers import SentenceTransformer

    from embeddings.encoders.options import EncoderOptions

    library = SentenceTransformer(str(model), device="cpu")
    variants = {
        "sentence-transformers, all lines": lambda: library.encode(lines),
        f"sentence-transformers, {LOOP} lines": lambda: np.concatenate(
            [library.encode(lines[start : start + LOOP]) for start in range(0, len(lines), LOOP)]
        ),
    }
    for precision in PRECISIONS:
        encoder = EncoderOptions(model, precision=precision, cpu=True).load()
        variants[f"ours, {precision}"] = lambda encoder=encoder: encoder.encode(lines)
    seconds, vectors = {name: [] for name in variants}, {}
    for _ in range(rounds):
        for name, run in variants.items():
            start = time.process_time()
            vectors[name] = run()
            seconds[name].append(time.process_time() - start)
    everything, loop = list(variants)[:2]
    print(f"{len(lines)} lines, {len(set(lines))} of them distinct")
    for name in variants:
        ratios = [
            statistics.median(a / b for a, b in zip(seconds[other], seconds[name], strict=True))
            for other in (everything, loop)
        ]
        print(
            f"{name:34}  {len(lines) / statistics.median(seconds[name]):7.0f} lines/s"
            f"  {ratios[0]:.2f} x all at once  {ratios[1]:.2f} x loop"
            f"  lowest cosine {lowest_cosine(vectors[everything], vectors[name]):.6f}"
            f"  largest difference {abs(vectors[everything] - vectors[name]).max():.1e}"
        )
    print("goals: float32 at least 1.2 x all at once; the fastest at least 3 x loop")


def lowest_cosine(first, second) -> float:
    import numpy as np

    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return float(((first * second).sum(axis=1) / norms).min())


def make_text(folder: Path, lines: int) -> list[Path]:
    """German and English of the phrasebook."""
    command = [sys.executable, "-m", "data_prep", "phrasebook", "--langs", "de,en", "--output", str(folder)]
    subprocess.run([*command, "--train-lines", str(lines)], cwd=ROOT, check=True, capture_output=True)
    return [folder / f"train.de-en.{language}" for language in ("de", "en")]


class Sizes(NamedTuple):
    """Of an encoder."""

    layers: int = 4
    width: int = 256
    heads: int = 4
    inner_width: int = 1024


SMALL = Sizes()


def make_model(folder: Path, lines: list[str], sizes: Sizes = SMALL) -> Path:
    """A BERT of random weights with a tokenizer that is learned from the text, and mean pooling."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    parts, vocabulary = folder / "parts", folder / "vocab.txt"
    learned = BertWordPieceTokenizer()
    learned.train_from_iterator(lines, vocab_size=8000, show_progress=False)
    learned.save_model(str(folder))
    tokenizer = BertTokenizerFast(vocab_file=str(vocabulary), model_max_length=128)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=tokenizer.vocab_size,
        max_position_embeddings=128,
        num_hidden_layers=sizes.layers,
        hidden_size=sizes.width,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.inner_width,
    )
    BertModel(config).save_pretrained(parts)
    tokenizer.save_pretrained(parts)
    modules = [Transformer(str(parts)), Pooling(sizes.width, pooling_mode="mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"


if __name__ == "__main__":
    sys.exit(run_script())
