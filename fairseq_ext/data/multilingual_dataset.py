"""Sentence pairs of many directions as one fairseq dataset: tags and their collation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from data_prep.formats.directions import Direction
from fairseq_ext.data.dataset_parts import DatasetPart, pad_right
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.data.multipart_dataset import MultipartDataset


@dataclass
class DirectionData(DatasetPart):
    """The sentence pairs of one direction.

    `sources` and `targets` are sequences of 1-D integer tensors that end with `</s>`; `targets` is None at
    inference. The tags are token ids put in front of every sentence; `source_ending` follows the `</s>` of a
    source, and `decoder_start` is the first token of the decoder's input (None: `</s>`). The last `announced`
    tokens of a source are no part of the sentence that the encoder reads.
    """

    direction: Direction
    sources: object
    targets: object | None
    source_sizes: np.ndarray
    target_sizes: np.ndarray | None
    source_tags: list[int]
    target_tags: list[int]
    source_ending: list[int] = field(default_factory=list, kw_only=True)
    decoder_start: int | None = field(default=None, kw_only=True)
    announced: int = field(default=0, kw_only=True)

    @classmethod
    def with_tags(
        cls, tags: LanguageTags, direction: Direction, sources, targets, source_sizes, target_sizes
    ) -> "DirectionData":
        """The sentence pairs of a direction with the tags that a model has for it."""
        return cls(
            direction,
            sources,
            targets,
            source_sizes,
            target_sizes,
            tags.encoder_ids(*direction),
            tags.decoder_ids(direction[1]),
            source_ending=tags.source_ending_ids(*direction),
            decoder_start=tags.decoder_start_id(direction[1]),
            announced=tags.announced,
        )

    def __len__(self) -> int:
        return len(self.source_sizes)

    def set_epoch(self, epoch: int) -> None:
        for side in (self.sources, self.targets):
            if hasattr(side, "set_epoch"):  # sentences that are made anew
                side.set_epoch(epoch)

    def sentence(self, line: int) -> np.ndarray:
        """A source sentence as the encoder reads it, with its tags."""
        ending = self.source_ending[: len(self.source_ending) - self.announced]
        return tagged(self.source_tags, self.sources[line], ending)

    def encoder_sizes(self) -> np.ndarray:
        return np.asarray(self.source_sizes) + len(self.source_tags) + len(self.source_ending)

    def decoder_sizes(self) -> np.ndarray | None:
        return None if self.targets is None else np.asarray(self.target_sizes) + len(self.target_tags)


def tagged(tags: list[int], tokens, ending: Sequence[int] = ()) -> np.ndarray:
    """The sentence with its tags in front and behind, a new or the given array of int64."""
    tokens = np.asarray(tokens, dtype=np.int64)
    if not tags and not ending:
        return tokens
    return np.concatenate([np.asarray(tags, dtype=np.int64), tokens, np.asarray(ending, dtype=np.int64)])


class MultilingualDataset(MultipartDataset):
    """Pairs of the given directions with their tags; see `MultipartDataset` for epochs, order and batches."""

    parts: Sequence[DirectionData]

    def example(self, part: DirectionData, line: int, index: int) -> dict:
        example = {
            "source": tagged(part.source_tags, part.sources[line], part.source_ending),
            "prefix": part.target_tags,
            "decoder_start": part.decoder_start,
        }
        if part.targets is not None:
            example["target"] = tagged(part.target_tags, part.targets[line])
        return example

    def decoder_inputs(self, examples: list[dict]) -> torch.Tensor:
        targets = [example["target"] for example in examples]
        return pad_right(targets, self.pad, shift_right_from=self._decoder_starts(examples) or self.eos)

    def _decoder_starts(self, examples: list[dict]) -> list[int] | None:
        """The tags that take the place of `</s>`; all parts have the same placement of tags."""
        starts = [example["decoder_start"] for example in examples]
        return None if starts[0] is None else starts

    def collater(self, examples: list[dict]) -> dict:
        """A batch, and `prefix_tokens` (B x 0 or 1, the decoder's tag), which generation forces, and
        `decoder_start` (B), where tags take the place of `</s>`.
        """
        batch = super().collater(examples)
        if batch:
            tags = [example["prefix"] for example in examples]
            batch["prefix_tokens"] = torch.tensor(tags, dtype=torch.long)
            if starts := self._decoder_starts(examples):
                batch["decoder_start"] = torch.tensor(starts)
        return batch
