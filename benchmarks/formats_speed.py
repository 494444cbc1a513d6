"""Sentences per second of reading binarized text by `data_prep.formats.sentences` and by fairseq itself.

    python -m benchmarks.formats_speed [--sentences 500000] [--rounds 5]

A set of random sentences of 1 to 60 tokens is written once. What is measured, both sides in turn, in time of
the processor: to open it (ours also checks that the files are whole), to open it and take every sentence in
random order as a training does, and to learn all lengths. fairseq's side is
`data_utils.load_indexed_dataset`, as its own tasks call it.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from command_line.dispatch import run_script
from command_line.option_classes import option

SYMBOLS = 32_000
SPECIAL = 4  # of them, which a dictionary file does not list
LONGEST = 60


@dataclass(frozen=True, kw_only=True)
class Options:
    """The set, and how often it is read."""

    sentences: int = option("of the set", 500_000)
    rounds: int = option("both sides in turn, so many times", 5)


def write_corpus(prefix: Path, sentences: int) -> None:
    """One side of random sentences, with its dictionary."""
    import numpy as np

    from data_prep.formats.sentences import written_sentences

    symbols = (f"w{number} 1\n" for number in range(SYMBOLS - SPECIAL))
    (prefix.parent / "dict.de.txt").write_text("".join(symbols), encoding="utf-8")
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, LONGEST + 1, size=sentences)
    tokens = rng.integers(SPECIAL, SYMBOLS, size=lengths.sum())
    tokens[lengths.cumsum() - 1] = 2  # </s>
    with written_sentences(prefix, SYMBOLS) as writer:
        writer.write(tokens, lengths)


def seconds(action: Callable[[], object]) -> float:
    """Of the processor: what else the machine does counts little."""
    start = time.process_time()
    action()
    return time.process_time() - start


def main(options: Options) -> None:
    import numpy as np
    from fairseq.data.data_utils import load_indexed_dataset

    from data_prep.formats.sentences import load_sentences, sentence_lengths

    order = np.random.default_rng(2).permutation(options.sentences).tolist()

    def read_all(load: Callable) -> Callable[[], object]:
        return lambda: [len(sentence) for sentence in map(load().__getitem__, order)]

    with tempfile.TemporaryDirectory() as scratch:
        prefix = Path(scratch) / "train.de-en.de"
        write_corpus(prefix, options.sentences)

        def ours():
            return load_sentences(prefix)

        def fairseqs():
            return load_indexed_dataset(str(prefix), None, dataset_impl="mmap")

        def fairseqs_lengths():
            dataset = fairseqs()  # its sizes lie in its memory
            return np.array(dataset.sizes) - 1

        actions = {
            "open": (ours, fairseqs),
            "read in random order": (read_all(ours), read_all(fairseqs)),
            "lengths": (lambda: sentence_lengths(prefix), fairseqs_lengths),
        }
        for name, sides in actions.items():
            rounds = [[seconds(side) for side in sides] for _ in range(options.rounds)]
            mine, fairseq = (
                options.sentences / statistics.median(side) for side in zip(*rounds, strict=True)
            )
            ratios = " ".join(f"{other / own:.2f}" for own, other in rounds)
            print(
                f"{name:<21} {mine:>13,.0f} sentences/s, fairseq {fairseq:>13,.0f}; ratio per round {ratios}"
            )


if __name__ == "__main__":
    sys.exit(run_script())
