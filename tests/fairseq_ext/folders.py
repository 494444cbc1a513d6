"""Tiny binarized folders for the tests of this folder, without running any command."""

from pathlib import Path

import numpy as np
import torch
from fairseq.data.indexed_dataset import MMapIndexedDataset, MMapIndexedDatasetBuilder

from command_line.outputs import checksum
from data_prep.formats.preparation import Preparation
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


def write_preparation(folder: Path) -> None:
    """The record of `binarize`, of all pairs in the folder; text in it is neither tokenized nor segmented."""
    pairs: dict[str, dict[str, int]] = {}
    for path in sorted(folder.glob("*.idx")):
        split, pair, _, _ = path.name.split(".")
        pairs.setdefault(split, {})[pair] = len(MMapIndexedDataset(str(path.with_suffix(""))))
    languages = sorted(path.name.split(".")[1] for path in folder.glob("dict.*.txt"))
    Preparation(
        folder=folder,
        languages=languages,
        tokenizers=dict.fromkeys(languages, "none"),
        subword={"type": "none", "model": None},
        pairs=pairs,
        dictionary_sha256=checksum(folder / f"dict.{languages[0]}.txt"),
    ).save()
