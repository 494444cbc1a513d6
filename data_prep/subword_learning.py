"""Learns joint subword models from training text that is read as a stream.

Byte pair encoding is learned by subword-nmt from counts of words, so memory grows with the number of
different words, not with the text; sentencepiece samples a fixed number of lines.
"""

import contextlib
import functools
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import atomic_path
from command_line.progress import progress
from command_line.workers import Workers
from data_prep.blocks import Block, read_blocks
from data_prep.subword_models import load_subwords

CHARACTER_COVERAGE = 0.9995  # as XLM-R and mBART have it, for text with Chinese characters
NORMALIZATIONS = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")  # of sentencepiece
NORMALIZATION = "identity"  # others change text, so that a translation cannot match its reference
SENTENCEPIECE_THREADS = 16  # its result depends on the number of threads, so that is not the machine's


def _count_block(block: Block) -> tuple[Counter, int]:
    counts: Counter = Counter()
    for line in block.decode():
        counts.update(line.split())
    return counts, block.lines


def count_tokens(paths: Iterable[Path], workers: Workers, task: str) -> Counter:
    """How often every space-separated token occurs in the files."""
    total: Counter = Counter()
    blocks = (block for path in paths for block in read_blocks(path))
    for counts, _ in progress(
        workers.map(_count_block, blocks), None, task, "line", size=lambda item: item[1]
    ):
        total.update(counts)
    return total


def learn_byte_pairs(paths: list[Path], merges: int, model: Path, workers: Workers) -> None:
    """Write the merges that subword-nmt learns from all files together."""

    from subword_nmt.learn_bpe import learn_bpe

    counts = count_tokens(paths, workers, "count words")
    if all(len(word) < 2 for word in counts):
        raise InputError(f"{paths[0]}: too little text, there is no word of two characters to learn from")
    words = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    vocabulary = io.StringIO("".join(f"{word} {count}\n" for word, count in words))
    del counts, words  # subword-nmt needs several times their memory
    with atomic_path(model) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        with contextlib.redirect_stderr(io.StringIO()) as messages:  # its progress bar and warnings
            learn_bpe(vocabulary, stream, merges, min_frequency=2, is_dict=True)
        for line in messages.getvalue().splitlines():
            if "Stopping" in line:
                print(f"subword: {line.strip()}", file=sys.stderr)


def _lines(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        for block in read_blocks(path):
            yield from block.decode()


@dataclass(frozen=True)
class PieceTraining:
    """How sentencepiece learns.

    Attributes:
        size: pieces and the model's three special symbols.
        model_type: "unigram" or "bpe".
        sample_lines: lines that it learns from; 0: all.
        character_coverage: the share of the text's characters that pieces are made of. The rarest beyond it
            are in no piece.
        normalization: a rule of sentencepiece, which is part of the model.
    """

    size: int
    model_type: str = "unigram"
    sample_lines: int = 0
    seed: int = 1
    character_coverage: float = CHARACTER_COVERAGE
    normalization: str = NORMALIZATION


def learn_sentence_pieces(paths: list[Path], training: PieceTraining, model: Path) -> None:
    """Train sentencepiece on all files together."""
    import sentencepiece

    sentencepiece.set_random_generator_seed(training.seed)
    result = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=progress(_lines(paths), None, "read for sentencepiece", "line"),
            model_writer=result,
            vocab_size=training.size,
            model_type=training.model_type,
            input_sentence_size=training.sample_lines,
            shuffle_input_sentence=True,
            normalization_rule_name=training.normalization,
            character_coverage=training.character_coverage,
            hard_vocab_limit=False,
            num_threads=SENTENCEPIECE_THREADS,
            minloglevel=2,
        )
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{paths[0]}: sentencepiece cannot learn so many pieces: {error}") from None
    with atomic_path(model) as temporary:
        temporary.write_bytes(result.getvalue())


def segment_block(type_name: str, model: Path | None, block: Block) -> tuple[bytes, int]:
    """One block of a tokenized file -> its subwords and the number of lines."""
    subwords = load_cached(type_name, model)
    lines = [subwords.segment(line) for line in block.decode()]
    return ("\n".join(lines) + "\n").encode(), len(lines)


@functools.lru_cache(maxsize=4)
def load_cached(type_name: str, model: Path | None):
    return load_subwords(type_name, model)
