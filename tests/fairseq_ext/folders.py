"""Tiny binarized folders for the tests of this folder, without running any command."""

from pathlib import Path

import numpy as np
import torch
from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder

from tests.fairseq_ext.models import toy_dictionary


def write_sentences(prefix: Path, sentences: list[list[int]]) -> None:
    """`prefix.bin` and `prefix.idx` of token ids."""
    builder = MMapIndexedDatasetBuilder(f"{prefix}.bin", dtype=np.int32)
    for sentence in sentences:
        builder.add_item(torch.tensor(sentence, dtype=torch.int64))
    builder.finalize(f"{prefix}.idx")


def write_pair(
    folder: Path, split: str, pair: str, sources: list[list[int]], targets: list[list[int]]
) -> None:
    for language, sentences in zip(pair.split("-"), (sources, targets), strict=True):
        write_sentences(folder / f"{split}.{pair}.{language}", sentences)


def write_dictionaries(folder: Path, languages, words: int = 30):
    folder.mkdir(parents=True, exist_ok=True)
    dictionary = toy_dictionary(words)
    for language in languages:
        dictionary.save(str(folder / f"dict.{language}.txt"))
    return dictionary


def write_toy_folder(folder: Path, lines: int = 6) -> Path:
    """Pairs de-en and en-fr for training, de-fr too for validation; line i has words 4 + i and 5 + i."""
    dictionary = write_dictionaries(folder, ["de", "en", "fr"])
    for split, pairs in (("train", ["de-en", "en-fr"]), ("valid", ["de-en", "en-fr", "de-fr"])):
        for pair in pairs:
            sources = [[4 + i, 5 + i, dictionary.eos()] for i in range(lines)]
            targets = [[6 + i, dictionary.eos()] for i in range(lines)]
            write_pair(folder, split, pair, sources, targets)
    return folder
