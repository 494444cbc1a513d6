"""Sentence pairs of many directions as one fairseq dataset: sampling, tags and collation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from fairseq.data import FairseqDataset, data_utils

from fairseq_ext.data.binarized import Direction
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.data.sampling import draw, epoch_sizes


@dataclass
class DirectionData:
    """The sentence pairs of one direction.

    `sources` and `targets` are sequences of 1-D integer tensors that end with `</s>`; `targets` is None at
    inference. The tags are token ids put in front of every sentence; `source_ending` follows the `</s>` of a
    source, and `decoder_start` is the first token of the decoder's input (None: `</s>`). `fields` are further
    things that a batch shall carry, by name (`fairseq_ext.data.batch_fields`).
    """

    direction: Direction
    sources: object
    targets: object | None
    source_sizes: np.ndarray
    target_sizes: np.ndarray | None
    source_tags: list[int]
    target_tags: list[int]
    fields: dict = field(default_factory=dict)
    source_ending: list[int] = field(default_factory=list, kw_only=True)
    decoder_start: int | None = field(default=None, kw_only=True)

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
        )

    def __len__(self) -> int:
        return len(self.source_sizes)


def tagged(tags: list[int], tokens, ending: Sequence[int] = ()) -> np.ndarray:
    """The sentence with its tags in front and behind, a new or the given array of int64."""
    tokens = np.asarray(tokens, dtype=np.int64)
    if not tags and not ending:
        return tokens
    return np.concatenate([np.asarray(tags, dtype=np.int64), tokens, np.asarray(ending, dtype=np.int64)])


def pad_right(
    sequences: list[np.ndarray], pad: int, shift_right_from: int | Sequence[int] | None = None
) -> torch.Tensor:
    """Stack 1-D arrays into a `B x T` LongTensor, padded on the right.

    Args:
        shift_right_from: if given, this token (or the sequence's own) is put first and every sequence loses
            its last token: decoder input.
    """
    batch = np.full((len(sequences), max(map(len, sequences))), pad, dtype=np.int64)
    for row, tokens in zip(batch, sequences, strict=True):
        if shift_right_from is None:
            row[: len(tokens)] = tokens
        else:
            row[1 : len(tokens)] = tokens[:-1]
    if shift_right_from is not None:
        batch[:, 0] = shift_right_from
    return torch.from_numpy(batch)


class MultilingualDataset(FairseqDataset):
    """Mixed batches over directions; the example `i` of an epoch is item `items[i]` of direction `owners[i]`.

    Padding is on the right on both sides (fairseq's models give the same results for either side).

    Args:
        parts: the directions.
        pad, eos: token ids.
        temperature: of `fairseq_ext.data.sampling`; None sees every pair once per epoch.
        shuffle: random order of examples of equal length, anew in every epoch.
        separate_directions: no batch mixes directions (validation: losses are reported per direction).
        seed: of shuffling and sampling; with the epoch it determines every batch, whenever training is
            resumed.
        split: name of the set ("valid"), for whoever wants to find the lines of a batch in its files.
    """

    def __init__(
        self,
        parts: list[DirectionData],
        pad: int,
        eos: int,
        temperature: float | None = None,
        shuffle: bool = True,
        separate_directions: bool = False,
        seed: int = 1,
        split: str = "",
    ):
        self.parts = parts
        self.split = split
        self.pad, self.eos = pad, eos
        self.temperature = temperature
        self.shuffle = shuffle
        self.separate_directions = separate_directions
        self.seed = seed
        self.epoch: int | None = None
        self.set_epoch(1)

    # --- which examples an epoch has

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.epoch, purpose])

    def set_epoch(self, epoch: int) -> None:
        if epoch == self.epoch or (self.epoch is not None and self.temperature is None):
            self.epoch = epoch
            return
        self.epoch = epoch
        sizes = np.array([len(part) for part in self.parts])
        if self.temperature is None:
            items = [np.arange(size) for size in sizes]
        else:
            rng = self._rng(purpose=0)
            counts = epoch_sizes(sizes, self.temperature)
            items = [draw(size, count, rng) for size, count in zip(sizes, counts, strict=True)]
        self.items = np.concatenate(items).astype(np.int32)
        self.owners = np.repeat(np.arange(len(self.parts), dtype=np.int16), [len(part) for part in items])
        self.source_sizes = self._sizes(items, "source")
        has_targets = all(part.targets is not None for part in self.parts)
        self.target_sizes = self._sizes(items, "target") if has_targets else None
        mirrors = [
            part.fields["mirror"].sizes[chosen]
            for part, chosen in zip(self.parts, items, strict=True)
            if "mirror" in part.fields
        ]
        self.mirror_sizes = np.concatenate(mirrors) if mirrors else None

    def _sizes(self, items: list[np.ndarray], side: str) -> np.ndarray:
        """Lengths with tags, per example."""
        sizes = []
        for part, chosen in zip(self.parts, items, strict=True):
            added = len(getattr(part, f"{side}_tags")) + (len(part.source_ending) if side == "source" else 0)
            sizes.append(np.asarray(getattr(part, f"{side}_sizes"))[chosen] + added)
        return np.concatenate(sizes).astype(np.int32)

    @property
    def can_reuse_epoch_itr_across_epochs(self) -> bool:
        return False  # batches are made anew from (seed, epoch), so that a resumed run sees the same ones

    # --- fairseq's interface

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> dict:
        owner, item = int(self.owners[index]), int(self.items[index])
        part = self.parts[owner]
        example = {"id": int(index), "item": item, "owner": owner}
        example["source"] = tagged(part.source_tags, part.sources[item], part.source_ending)
        if part.targets is not None:
            example["target"] = tagged(part.target_tags, part.targets[item])
        for name, values in part.fields.items():
            example[name] = values[item]
        return example

    @property
    def sizes(self) -> np.ndarray:
        return (
            self.source_sizes
            if self.target_sizes is None
            else np.maximum(self.source_sizes, self.target_sizes)
        )

    def num_tokens(self, index: int) -> int:
        return int(self.num_tokens_vec(np.array([index]))[0])

    def num_tokens_vec(self, indices) -> np.ndarray:
        return self.sizes[indices].astype(np.int64)  # the type that fairseq's batching expects

    def size(self, index: int):
        source = int(self.source_sizes[index])
        return (source, source if self.target_sizes is None else int(self.target_sizes[index]))

    def ordered_indices(self) -> np.ndarray:
        """Examples from short to long (target, then source length), in random order among equals when
        shuffled.
        """
        order = self._rng(purpose=1).permutation(len(self)) if self.shuffle else np.arange(len(self))
        if self.target_sizes is not None:
            order = order[np.argsort(self.target_sizes[order], kind="stable")]
        return order[np.argsort(self.source_sizes[order], kind="stable")]

    def filter_indices_by_size(self, indices, max_sizes):
        """Keep what fits `max_sizes` (source, target), or a single number for both; a mirror must fit as a
        source.
        """
        if max_sizes is None:
            return indices, []
        max_source, max_target = max_sizes if isinstance(max_sizes, tuple) else (max_sizes, max_sizes)
        too_long = np.zeros(len(indices), dtype=bool)
        if max_source:
            too_long |= self.source_sizes[indices] > max_source
        if max_target and self.target_sizes is not None:
            too_long |= self.target_sizes[indices] > max_target
        if max_source and self.mirror_sizes is not None:
            too_long |= self.mirror_sizes[indices] > max_source
        return indices[~too_long], indices[too_long].tolist()

    def batch_by_size(self, indices, max_tokens=None, max_sentences=None, required_batch_size_multiple=1):
        groups = [indices]
        if self.separate_directions:
            groups = [indices[self.owners[indices] == owner] for owner in range(len(self.parts))]

        def batch(group, multiple: int) -> list:
            return data_utils.batch_by_size(
                group.astype(np.int64),
                num_tokens_fn=self.num_tokens,
                num_tokens_vec=self.num_tokens_vec(group),
                max_tokens=max_tokens,
                max_sentences=max_sentences,
                required_batch_size_multiple=multiple,
            )

        batches = []
        for group in filter(len, groups):
            found = batch(group, required_batch_size_multiple)
            rest = group[sum(map(len, found)) :]  # fairseq drops the last ones if they are no whole multiple
            batches += found + (batch(rest, 1) if len(rest) else [])
        return batches

    def collater(self, examples: list[dict]) -> dict:
        """A batch in fairseq's format.

        Beyond fairseq's keys: `split`; `owners` (B, number of the direction) and `items` (B, line number in
        its file), both as arrays that stay on the CPU; `prefix_tokens` (B x 0 or 1, the decoder's tag), which
        generation forces; `decoder_start` (B), where tags take the place of `</s>`; and the fields of the
        parts.
        """
        if not examples:
            return {}
        sources = [example["source"] for example in examples]
        owners = np.array([example["owner"] for example in examples])
        tags = [self.parts[owner].target_tags for owner in owners]
        batch = {
            "id": torch.tensor([example["id"] for example in examples]),
            "nsentences": len(examples),
            "ntokens": sum(map(len, sources)),
            "split": self.split,
            "owners": owners,
            "items": np.array([example["item"] for example in examples]),
            "prefix_tokens": torch.tensor(tags, dtype=torch.long),
            "net_input": {
                "src_tokens": pad_right(sources, self.pad),
                "src_lengths": torch.tensor([len(source) for source in sources]),
            },
        }
        starts = [self.parts[owner].decoder_start for owner in owners]
        if tags_start := starts[0] is not None:  # all parts have the same placement of tags
            batch["decoder_start"] = torch.tensor(starts)
        if "target" in examples[0]:
            targets = [example["target"] for example in examples]
            batch["target"] = pad_right(targets, self.pad)
            batch["ntokens"] = sum(map(len, targets))
            first = starts if tags_start else self.eos
            batch["net_input"]["prev_output_tokens"] = pad_right(targets, self.pad, shift_right_from=first)
        for name, values in self.parts[0].fields.items():  # all parts have the same
            batch[name] = values.collate([example[name] for example in examples], self.pad)
        return batch
