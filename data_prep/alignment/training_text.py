"""The text that an aligner is trained on: lines of the pair and of other corpora, or a sample of them."""

import random
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import count_lines, read_parallel
from command_line.progress import progress
from data_prep.formats.texts import Text


def is_usable(words_a: int, words_b: int, longest: int) -> bool:
    """Whether a sentence pair can be aligned: no side is empty or too long."""
    return 0 < words_a <= longest and 0 < words_b <= longest


def write_training_text(
    bitexts: list[Text], folder: Path, sample: int, seed: int, longest: int
) -> tuple[Path, Path]:
    """Write two line-parallel files of words.

    Args:
        bitexts: of one pair, joined.
        sample: lines, drawn without replacement and kept in order, if there are more; 0 takes all.
        longest: words; sentence pairs with a longer or an empty side are left out.

    Raises:
        InputError: no sentence pair is left, or the files are not parallel.
    """
    total = sum(count_lines(bitext.paths[0]) for bitext in bitexts)
    chosen = iter(
        sorted(random.Random(seed).sample(range(total), sample)) if 0 < sample < total else range(total)
    )
    paths = folder / "training.a", folder / "training.b"
    written, wanted = 0, next(chosen, None)
    lines = (row for bitext in bitexts for row in read_parallel(*bitext.paths))
    with open(paths[0], "w", encoding="utf-8") as a, open(paths[1], "w", encoding="utf-8") as b:
        for number, row in enumerate(progress(lines, total, f"read {bitexts[0].pair}", "line")):
            if number != wanted:
                continue
            wanted = next(chosen, None)
            words = [line.split() for line in row]
            if is_usable(len(words[0]), len(words[1]), longest):
                for stream, side in zip((a, b), words, strict=True):
                    stream.write(" ".join(side) + "\n")
                written += 1
    if not written:
        raise InputError(
            f"{bitexts[0].paths[0]}: no sentence pair to train an aligner on, all are empty or too long"
        )
    return paths
