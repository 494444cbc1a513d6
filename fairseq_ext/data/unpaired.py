"""Sentences of two languages that nobody has aligned: the two sides of a batch are drawn independently (Tien
and Steinert-Threlkeld 2022, 3.2).
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from data_prep.formats.sentences import load_pair, load_sentences, prefixes, with_data
from fairseq_ext.data.multilingual_dataset import DirectionData
from fairseq_ext.data.sampling import draw
from fairseq_ext.data.sentence_pairs import SentencePairDataset


class JoinedSentences(Sequence):
    """The sentences of several files, one after the other."""

    def __init__(self, files: Sequence):
        self.files = files
        self.sizes = np.concatenate([np.asarray(file.sizes) for file in files])
        self.begins = np.cumsum([0, *map(len, files)])

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, item: int) -> torch.Tensor:
        file, line = self._place(item)
        return file[line]

    def layer_sums(self, item: int) -> np.ndarray:
        file, line = self._place(item)
        return file.layer_sums(line)

    def _place(self, item: int) -> tuple[Sequence, int]:
        number = int(np.searchsorted(self.begins, item, side="right")) - 1
        return self.files[number], item - int(self.begins[number])


def load_sides(
    folder, split: str, pair: Direction, opened: Callable[[Path], Sequence] = load_sentences
) -> tuple[Sequence, Sequence]:
    """Both sides of a pair of languages: of its bitext or, if the folder has none, all texts `SPLIT.….LANG`
    of each language.

    Args:
        opened: the sentences of a prefix.

    Raises:
        InputError: there is no text of one of them.
    """
    if with_data(folder, split, [pair]):
        return load_pair(folder, split, pair, opened)
    return tuple(_load_texts(folder, split, language, opened) for language in pair)


def _load_texts(folder, split: str, language: str, opened) -> JoinedSentences:
    texts = prefixes(folder, split, language)
    if not texts:
        raise InputError(f"{folder}/{split}.*.{language}.idx: no such file; expected text in {language}")
    return JoinedSentences([opened(prefix) for prefix in texts])


class ChosenSentences(Sequence):
    """The sentences of some lines, in their order."""

    def __init__(self, sentences: Sequence, lines: np.ndarray):
        self.sentences, self.lines = sentences, lines
        self.sizes = np.asarray(sentences.sizes)[lines]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, item: int) -> torch.Tensor:
        return self.sentences[int(self.lines[item])]

    def layer_sums(self, item: int) -> np.ndarray:
        return self.sentences.layer_sums(int(self.lines[item]))


class UnpairedDataset(SentencePairDataset):
    """Puts each side of a pair of languages in a random order of its own, in every epoch. An epoch has the
    sentences of the larger side once, and those of the smaller one as often as that takes.

    Batches are not sorted by length: sentences of one length on one side, and of all lengths on the other,
    are easy to tell apart.

    Args:
        sides: of every pair of languages; the texts need not have the same number of sentences.
        make_part: of a pair of languages and as many sentences of either: a part, with its fields.
    """

    def __init__(
        self,
        sides: Sequence[tuple[Direction, Sequence, Sequence]],
        make_part: Callable[[Direction, Sequence, Sequence], DirectionData],
        has_decoder: bool,
        **options,
    ):
        self.sides, self.make_part = sides, make_part
        super().__init__([], None, has_decoder, **(options | {"by_length": False}))

    def set_epoch(self, epoch: int) -> None:
        if epoch == self.epoch:
            return
        self.epoch = epoch
        rng = self._rng(purpose=3)
        self.parts = []
        for pair, *texts in self.sides:
            size = max(map(len, texts))
            drawn = [ChosenSentences(text, rng.permutation(draw(len(text), size, rng))) for text in texts]
            self.parts.append(self.make_part(pair, *drawn))
        self.epoch = None  # nothing of the last epoch stays
        super().set_epoch(epoch)
