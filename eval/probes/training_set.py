"""What classifiers of tokens learn from: the states of one side, each with a label per question."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from command_line.errors import InputError
from eval.probes.labels import UNKNOWN
from eval.probes.store import StatePart

READ = 64  # sentences that are read at once
HELD_OUT = 10  # one of so many lines


def kept_tokens(part: StatePart, tokens: str) -> np.ndarray:
    """Per token whether it takes part, of "all" tokens, "no-tags" or "words"."""
    if tokens == "all":
        return np.ones(len(part.tokens), bool)
    return part.is_word if tokens == "words" else ~part.is_tag


class TrainingSet:
    """The sentences of one side of several directions, in batches.

    Args:
        parts: one per direction.
        labels: of each part, questions x tokens. A token without a label (`UNKNOWN`) does not take part.
        tokens: "all", "no-tags" or "words".
    """

    def __init__(self, parts: list[StatePart], labels: list[np.ndarray], tokens: str):
        self.parts, self.labels = parts, labels
        self.kept = [
            kept_tokens(part, tokens) & (gold != UNKNOWN).all(axis=0)
            for part, gold in zip(parts, labels, strict=True)
        ]
        self.part_numbers = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        self.sentences = np.concatenate([np.arange(len(part)) for part in parts])

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.sentences)

    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the sentences to train on, and of those that are held out: every tenth line of the set.

        Lines of the same number are on the same side in all directions, since in a multi-way parallel set
        they are one sentence in several languages.

        Raises:
            InputError: one of both would have no tokens.
        """
        held_out = self.sentences % HELD_OUT == HELD_OUT // 2
        sets = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        if not all(self.token_counts()[examples].any() for examples in sets):
            raise InputError(
                f"{self.parts[0].path}: found {max(map(len, self.parts))} sentences, too few to hold out one"
                f" in {HELD_OUT}; extract more, or use --protocol paper"
            )
        return sets

    def blocks(self, examples: np.ndarray) -> Iterator[tuple[Tensor, Tensor]]:
        """`batch` after `batch` of some sentences, in their order."""
        for first in range(0, len(examples), READ):
            yield self.batch(examples[first : first + READ])

    def token_counts(self) -> np.ndarray:
        """Kept tokens per sentence."""
        return np.concatenate(
            [
                np.add.reduceat(kept.astype(np.int64), part.offsets[:-1])
                for part, kept in zip(self.parts, self.kept, strict=True)
            ]
        )

    def class_counts(self, classes: Sequence[int]) -> list[np.ndarray]:
        """Kept tokens of each of the classes of every question."""
        labels = np.concatenate([gold[:, kept] for gold, kept in zip(self.labels, self.kept, strict=True)], 1)
        return [np.bincount(gold, minlength=size) for gold, size in zip(labels, classes, strict=True)]

    def batch(self, examples: np.ndarray) -> tuple[Tensor, Tensor]:
        """States (layers x T x C, float32) and labels (questions x T) of the tokens of some sentences."""
        blocks, labels = [], []
        for example in examples:
            number = self.part_numbers[example]
            part, kept, gold = self.parts[number], self.kept[number], self.labels[number]
            first, end = part.offsets[self.sentences[example] :][:2]
            block, of_block = part.read(first, end), gold[:, first:end]
            if not kept[first:end].all():
                block, of_block = block[:, kept[first:end]], of_block[:, kept[first:end]]
            blocks.append(block)
            labels.append(of_block)
        return torch.from_numpy(np.concatenate(blocks, 1)), torch.from_numpy(np.concatenate(labels, 1))


def balanced_weights(counts: Sequence[np.ndarray]) -> list[Tensor]:
    """The weight of a token of every class, per question, so that each class has as much: N / (K n), as
    scikit-learn's `class_weight="balanced"`. A class without tokens has the weight 0.
    """
    return [
        torch.from_numpy(
            np.divide(tokens.sum(), len(tokens) * tokens, out=np.zeros(len(tokens)), where=tokens > 0)
        )
        for tokens in counts
    ]
