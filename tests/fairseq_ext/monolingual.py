"""A tiny binarized folder of en and ja with structures, for tests of pre-training."""

from pathlib import Path

import numpy as np

from data_prep.formats.structures import BUNSETSU, PHRASES, encode, structure_path, write_structures
from tests.fairseq_ext.folders import write_dictionaries, write_sentences
from tests.fairseq_ext.random_sentences import random_splits


def write_monolingual(folder: Path, lines: int = 20, seed: int = 1) -> Path:
    """train and valid of `en-ja`, as a bitext and with different numbers of lines. Line 1 has no words, line
    2 no structure; every token is a word.
    """
    rng = np.random.default_rng(seed)
    dictionary = write_dictionaries(folder, ["en", "ja"])
    for split, count in (("train", lines), ("valid", lines // 2)):
        for language, kind, extra in (("en", PHRASES, 0), ("ja", BUNSETSU, 3)):
            prefix = folder / f"{split}.en-ja.{language}"
            sizes = [0, *rng.integers(2, 9, size=count + extra - 1).tolist()]
            write_sentences(
                prefix,
                [[*rng.integers(4, 34, size=size).tolist(), dictionary.eos()] for size in sizes],
            )
            values = []
            for number, size in enumerate(sizes):
                if number < 2:
                    values.append([])
                    continue
                boundaries = random_splits(rng, size) if kind == PHRASES else np.arange(1, size)
                values.append(encode(boundaries, rng.permutation(size), np.arange(size + 1)))
            write_structures(structure_path(prefix, kind), kind, values)
    return folder
