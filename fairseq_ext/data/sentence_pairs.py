"""Pairs of sentences that mean the same, in no direction: what sentence encoders are trained on."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset


class CutSentences(Sequence):
    """Sentences with at most `longest` tokens, of which the last is `</s>` (thesis 2.3.3: 120).

    Args:
        sizes: of the sentences, if they do not know them; of the first ones, if there are to be no more.

    Attributes:
        sizes: their lengths, `</s>` included.
        cut: how many of them were longer.
    """

    def __init__(self, sentences, longest: int, eos: int, sizes=None):
        self.sentences, self.longest, self.eos = sentences, longest, eos
        sizes = np.asarray(sentences.sizes if sizes is None else sizes)
        self.sizes = np.minimum(sizes, longest)
        self.cut = int((sizes > longest).sum())

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, item: int) -> torch.Tensor:
        return cut(self.sentences[item], self.longest, self.eos)

    def layer_sums(self, item: int) -> np.ndarray:
        return self.sentences.layer_sums(item)


def cut(tokens, longest: int, eos: int):
    """The first tokens of a sentence, of which the last is `</s>` in any case; a tensor or an array."""
    if len(tokens) <= longest:
        return tokens
    tokens = tokens[:longest] + 0  # a copy
    tokens[-1] = eos
    return tokens


def uncut(sentences):
    """The sentences as they are in their file."""
    return sentences.sentences if isinstance(sentences, CutSentences) else sentences


class SentencePairDataset(MultilingualDataset):
    """Pairs of the given parts; see `MultipartDataset` for epochs, order and batches.

    A side of every pair is the source, and the other one is the field `mirror` of the parts. It is also what
    a decoder predicts, if there is one.

    Args:
        parts: the sentence pairs, with their fields.
        opposites: the same parts in opposite direction; if given, every pair is taken from one or the other
            at random, anew in every epoch.
        has_decoder: do batches have a `target`?
    """

    def __init__(
        self,
        parts: Sequence[DirectionData],
        opposites: Sequence[DirectionData] | None,
        has_decoder: bool,
        **options,
    ):
        self.opposites, self.has_decoder = opposites, has_decoder
        self.exchanged: np.ndarray | None = None
        super().__init__(parts, **options)

    def set_epoch(self, epoch: int) -> None:
        """Also decides which pairs are exchanged, and with them lengths and order."""
        is_new = epoch != self.epoch
        super().set_epoch(epoch)
        if is_new and self.opposites is not None:
            self.exchanged = self._rng(purpose=2).random(len(self), dtype=np.float32) < 0.5
            self.source_sizes = self._sizes_of_either(lambda part: part.encoder_sizes())
            self.target_sizes = self._sizes_of_either(lambda part: part.decoder_sizes())
            self.field_sizes = self._sizes_of_either(lambda part: part.field_sizes())

    def _sizes_of_either(self, of_part: Callable) -> np.ndarray:
        as_given, opposite = (self._sizes(parts, of_part) for parts in (self.parts, self.opposites))
        return np.where(self.exchanged, opposite, as_given)

    def part_of(self, index: int) -> DirectionData:
        if self.exchanged is not None and self.exchanged[index]:
            return self.opposites[int(self.part_numbers[index])]
        return super().part_of(index)

    def example(self, part: DirectionData, line: int, index: int) -> dict:
        example = super().example(part, line, index)
        if not self.has_decoder:
            del example["target"]
        return example
