"""A dataset of several parts: which examples an epoch has, in which order, in which batches."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from fairseq.data import FairseqDataset, data_utils

from fairseq_ext.data.dataset_parts import DatasetPart, pad_right
from fairseq_ext.data.sampling import draw, epoch_sizes


class MultipartDataset(FairseqDataset):
    """Examples of several parts in random order, in batches of like length or of any; reproducible from seed
    and epoch.

    Args:
        parts: at least one.
        pad, eos: token ids.
        chosen: of every part the lines that are used; None: all.
        temperature: of `fairseq_ext.data.sampling`; None sees every sentence once per epoch.
        shuffle: random order of examples of equal length, anew in every epoch.
        by_length: batches are of examples of like length; otherwise of any.
        separate_parts: no batch mixes parts (validation: losses are reported per part).
        seed: of shuffling and sampling; with the epoch it determines every batch, whenever training is
            resumed.
        split: name of the set ("valid"), for whoever wants to find the lines of a batch in its files.
    """

    def __init__(
        self,
        parts: Sequence[DatasetPart],
        pad: int,
        eos: int,
        chosen: Sequence[np.ndarray] | None = None,
        temperature: float | None = None,
        shuffle: bool = True,
        by_length: bool = True,
        separate_parts: bool = False,
        seed: int = 1,
        split: str = "",
    ):
        self.parts = parts
        self.split = split
        self.pad, self.eos = pad, eos
        self.chosen = chosen
        self.temperature = temperature
        self.shuffle = shuffle
        self.by_length = by_length
        self.separate_parts = separate_parts
        self.seed = seed
        self.epoch: int | None = None
        self.set_epoch(1)

    # --- which examples an epoch has

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.epoch, purpose])

    def set_epoch(self, epoch: int) -> None:
        for part in self.parts:
            part.set_epoch(epoch)
        counts = self.counts(np.array([len(each) for each in self.chosen or self.parts]))
        if epoch == self.epoch or (self.epoch is not None and counts is None):
            self.epoch = epoch
            return
        self.epoch = epoch
        items = self.chosen or [np.arange(len(part)) for part in self.parts]
        if counts is not None:
            rng = self._rng(purpose=0)
            items = [lines[draw(len(lines), count, rng)] for lines, count in zip(items, counts, strict=True)]
        self.lines = np.concatenate(items).astype(np.int32)
        self.part_numbers = np.repeat(
            np.arange(len(self.parts), dtype=np.int16), [len(part) for part in items]
        )
        self.source_sizes = self._sizes(self.parts, lambda part: part.encoder_sizes())
        self.target_sizes = self._sizes(self.parts, lambda part: part.decoder_sizes())
        self.field_sizes = self._sizes(self.parts, lambda part: part.field_sizes())

    def counts(self, sizes: np.ndarray) -> np.ndarray | None:
        """How many examples of every part an epoch has; None: all, once."""
        return None if self.temperature is None else epoch_sizes(sizes, self.temperature)

    def _sizes(self, parts: Sequence[DatasetPart], of_part: Callable) -> np.ndarray | None:
        """Lengths of the examples, by a function of a part; None where a part has none."""
        sizes = [of_part(part) for part in parts]
        if any(each is None for each in sizes):
            return None
        first = np.cumsum([0, *map(len, parts)])[self.part_numbers]  # of the example's part among all
        return np.concatenate(sizes)[first + self.lines].astype(np.int32)

    @property
    def can_reuse_epoch_itr_across_epochs(self) -> bool:
        return False  # batches are made anew from (seed, epoch), so that a resumed run sees the same ones

    # --- fairseq's interface

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> dict:
        number, line = int(self.part_numbers[index]), int(self.lines[index])
        part = self.part_of(index)
        example = {"id": int(index), "line": line, "part": number, **self.example(part, line, int(index))}
        for name, values in part.fields.items():
            example[name] = values[line]
        return example

    def part_of(self, index: int):
        """The part that the example `index` of this epoch is from."""
        return self.parts[int(self.part_numbers[index])]

    def example(self, part, line: int, index: int) -> dict:
        """The sentence `line` of a part as number `index` of this epoch: "source" and, where there is
        something to decode, "target", 1-D arrays of int64 with tags and `</s>`; and whatever else the
        dataset's own collation needs.
        """
        raise NotImplementedError

    def decoder_inputs(self, examples: list[dict]) -> torch.Tensor:
        """What the decoder reads to predict the targets, B x T. Asked for where examples have targets."""
        raise NotImplementedError

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
        sizes = self.source_sizes[indices]
        if self.target_sizes is not None:
            sizes = np.maximum(sizes, self.target_sizes[indices])
        return sizes.astype(np.int64)  # the type that fairseq's batching expects

    def size(self, index: int):
        source = int(self.source_sizes[index])
        return (source, source if self.target_sizes is None else int(self.target_sizes[index]))

    def ordered_indices(self) -> np.ndarray:
        """Examples in random order when shuffled; by length, from short to long (target, then source length),
        and in that order among equals.
        """
        order = self._rng(purpose=1).permutation(len(self)) if self.shuffle else np.arange(len(self))
        if not self.by_length:
            return order
        if self.target_sizes is not None:
            order = order[np.argsort(self.target_sizes[order], kind="stable")]
        return order[np.argsort(self.source_sizes[order], kind="stable")]

    def filter_indices_by_size(self, indices, max_sizes):
        """Keep what fits `max_sizes` (source, target), or a single number for both; what fields give the
        encoder must fit as a source.
        """
        if max_sizes is None:
            return indices, []
        max_source, max_target = max_sizes if isinstance(max_sizes, tuple) else (max_sizes, max_sizes)
        too_long = np.zeros(len(indices), dtype=bool)
        if max_source:
            too_long |= self.source_sizes[indices] > max_source
        if max_target and self.target_sizes is not None:
            too_long |= self.target_sizes[indices] > max_target
        if max_source and self.field_sizes is not None:
            too_long |= self.field_sizes[indices] > max_source
        return indices[~too_long], indices[too_long].tolist()

    def batch_by_size(self, indices, max_tokens=None, max_sentences=None, required_batch_size_multiple=1):
        groups = [indices]
        if self.separate_parts:
            numbers = self.part_numbers[indices]
            order = np.argsort(numbers, kind="stable")
            ends = np.searchsorted(numbers[order], np.arange(1, len(self.parts)))
            groups = np.split(indices[order], ends)

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
            whole = batch(group, required_batch_size_multiple)
            rest = group[sum(map(len, whole)) :]  # fairseq drops the last ones if they are no whole multiple
            batches += whole + (batch(rest, 1) if len(rest) else [])
        return batches

    def collater(self, examples: list[dict]) -> dict:
        """A batch in fairseq's format.

        Beyond fairseq's keys: `split`; `parts` (B, number of the part) and `lines` (B, line number in its
        file), both as arrays that stay on the CPU; and the fields of the parts.
        """
        if not examples:
            return {}
        sources = [example["source"] for example in examples]
        batch = {
            "id": torch.tensor([example["id"] for example in examples]),
            "nsentences": len(examples),
            "ntokens": sum(map(len, sources)),
            "split": self.split,
            "parts": np.array([example["part"] for example in examples]),
            "lines": np.array([example["line"] for example in examples]),
            "net_input": {
                "src_tokens": pad_right(sources, self.pad),
                "src_lengths": torch.tensor([len(source) for source in sources]),
            },
        }
        if "target" in examples[0]:
            targets = [example["target"] for example in examples]
            batch["target"] = pad_right(targets, self.pad)
            batch["ntokens"] = sum(map(len, targets))
            batch["net_input"]["prev_output_tokens"] = self.decoder_inputs(examples)
        for name, values in self.parts[0].fields.items():
            batch[name] = values.collate([example[name] for example in examples], self.pad)
        return batch
