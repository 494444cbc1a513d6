"""Seconds of retrieval by BERT-score among stored states of tokens, both directions, start-up included.

A BERT of 12 layers of width 768 with random weights encodes two texts once (`embeddings encode
--token-states`); then `embeddings retrieve --similarity bert-score --normalize 0.75` reads what was stored.
Goal: 1,000 x 1,000 sentences in less than a minute on two cores.

    python -m benchmarks.token_retrieval [--text FILE FILE] [--lines 1000] [--rounds 3]

Without --text the sentences are the phrasebook's, German and English, which are short.
"""

import statistics
import sys
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.encoding_speed import Sizes, make_model, make_text
from benchmarks.translation_speed import run
from command_line import options as types
from command_line.dispatch import run_script
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import option

EMBEDDINGS = (sys.executable, "-m", "embeddings")
BASE = Sizes(layers=12, width=768, heads=12, inner_width=3072)
COMPARISON = ("--similarity", "bert-score", "--normalize", "0.75", "--neighbours", "1")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is retrieved."""

    text: list[Path] | None = option("line-parallel, named text.LANG", nargs=2, type=types.path)
    lines: int = option("of either text", 1000)
    rounds: int = option("all sides take turns, so many times", 3)


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = first_lines(options.text or make_text(folder, options.lines), options.lines, folder / "text")
        lines = [line for text in texts for line in read_lines(text)]
        model = make_model(folder, lines, BASE)
        stored = folder / "stored"
        encode = [
            *EMBEDDINGS,
            "encode",
            *texts,
            "--model",
            model,
            "--token-states",
            "--output",
            stored,
            "--cpu",
        ]
        seconds, _ = run([*map(str, encode)])
        print(f"encode, once: {seconds:.1f} s", flush=True)
        states = [np.load(path, mmap_mode="r").shape for path in sorted(stored.glob("*.states.npy"))]
        print(" x ".join(f"{len(lines) // 2:,} sentences of {rows:,} tokens" for rows, _ in states))
        taken = []
        for number in range(options.rounds):
            output = folder / f"retrieval{number}"
            retrieve = [*EMBEDDINGS, "retrieve", "--parallel", *texts, "--model", stored, *COMPARISON]
            seconds, _ = run([*map(str, [*retrieve, "--output", output, "--cpu"])])
            print(f"retrieve, round {number + 1}: {seconds:.1f} s", flush=True)
            taken.append(seconds)
    print(f"median {statistics.median(taken):.1f} s; goal, with 1,000 lines: less than 60 s")


def first_lines(texts: list[Path], count: int, folder: Path) -> list[Path]:
    """Files of the same names with the first lines."""
    folder.mkdir()
    found = [folder / text.name for text in texts]
    for text, path in zip(texts, found, strict=True):
        lines = list(islice(read_lines(text), count))
        if len(lines) < count:
            raise InputError(f"{text}: {len(lines)} lines, expected {count} or more; or give --lines")
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return found


if __name__ == "__main__":
    sys.exit(run_script())
