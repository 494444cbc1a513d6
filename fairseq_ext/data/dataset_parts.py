"""What a dataset consists of: parts, and what a batch carries beyond their sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch


class BatchField:
    """One further thing that a batch carries, for the sentences of one part.

    `field[item]` is its share of an example, and `collate` joins the shares of a batch.

    Attributes:
        source_sizes: lengths of what it gives the encoder to read, per sentence, which then must fit as a
            source must; None if it gives nothing.
    """

    source_sizes: np.ndarray | None = None

    def __getitem__(self, item: int):
        raise NotImplementedError

    @staticmethod
    def collate(shares: list, pad: int):
        raise NotImplementedError


class StoredOfBothSides(BatchField):
    """What a file holds of both sentences of a pair: the share of an example is two arrays, each of the same
    shape for all examples. In a batch: "source" and "target", B x that shape.
    """

    def __init__(self, source, target):
        self.sides = source, target

    def __getitem__(self, item: int) -> tuple[np.ndarray, ...]:
        return tuple(side[item] for side in self.sides)

    @staticmethod
    def collate(shares: list[tuple[np.ndarray, ...]], pad: int) -> dict[str, torch.Tensor]:
        source, target = (torch.from_numpy(np.stack(side)) for side in zip(*shares, strict=True))
        return {"source": source, "target": target}


def in_place_of_tokens(batch: dict, field: str, argument: str) -> dict:
    """A batch that gives the encoder what is stored of its sentences, so that their tokens are not read.

    Args:
        batch: of a `StoredOfBothSides`, with a mirror.
        field: name of that field in the batch.
        argument: of the encoder.
    """
    stored = batch[field]
    return {
        **batch,
        "net_input": {**batch["net_input"], argument: stored["source"]},
        "mirror": {**batch["mirror"], argument: stored["target"]},
    }


@dataclass
class DatasetPart:
    """The sentences of one file or pair of files.

    Attributes:
        fields: what a batch carries beyond sentences, by name; all parts of a dataset have the same.
    """

    fields: dict[str, BatchField] = field(default_factory=dict, kw_only=True)

    def __len__(self) -> int:
        raise NotImplementedError

    def encoder_sizes(self) -> np.ndarray:
        """Tokens that the encoder reads, per sentence, tags and `</s>` included."""
        raise NotImplementedError

    def set_epoch(self, epoch: int) -> None:
        """What is drawn anew in every epoch, is drawn for this one from here on."""

    def decoder_sizes(self) -> np.ndarray | None:
        """Tokens that the decoder predicts, at most; None where nothing is decoded."""
        return None

    def field_sizes(self) -> np.ndarray | None:
        """Tokens of the longest thing that a field gives the encoder, per sentence."""
        sizes = [each.source_sizes for each in self.fields.values() if each.source_sizes is not None]
        return np.max(sizes, axis=0) if sizes else None


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
