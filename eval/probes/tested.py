"""What classifiers answer about the tokens of a direction, counted by classes and kinds of tokens."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from eval.probes.labels import UNKNOWN
from eval.probes.store import StatePart
from eval.probes.training_set import kept_tokens

BLOCK = 2048  # tokens that are tested at once
TAGS, END = "tags", "end"
FIRST_OF_BIN = {"1": 1, "2": 2, "3-4": 3, "5-8": 5, "9-16": 9, "17 on": 17}  # places of words in the sentence
WORDS = "words"
PLACES = tuple(f"word {name}" for name in FIRST_OF_BIN)
GROUPS = (TAGS, *PLACES, END, WORDS)  # the last holds those of all places


def answered(classifiers, part: StatePart) -> list[Tensor]:
    """The class that every token of a part gets, per question: layers x seeds x tokens."""
    blocks = [
        classifiers.answers(torch.from_numpy(part.read(part.offsets[first], part.offsets[end])))
        for first, end in part.blocks(BLOCK)
    ]
    return [torch.cat(answers, dim=2) for answers in zip(*blocks, strict=True)]


def groups_of(part: StatePart) -> np.ndarray:
    """Per token the number of its group: tags, words by their place in the sentence, or `</s>`."""
    before = np.concatenate([[0], np.cumsum(part.is_word)])
    starts = np.repeat(part.offsets[:-1], np.diff(part.offsets))
    place = before[1:] - before[starts]  # of words, from 1
    groups = np.searchsorted(list(FIRST_OF_BIN.values()), place, side="right")
    groups[part.is_end] = GROUPS.index(END)
    groups[part.is_tag] = GROUPS.index(TAGS)
    return groups


@dataclass(frozen=True)
class Answers:
    """Numbers of tokens of one direction that were given each class.

    Attributes:
        counts: L x S x G x K x K: by group (without the last), class, and class that was answered.
        tokens: that took part, also those without a label.
    """

    counts: Tensor
    tokens: int

    @classmethod
    def of(cls, answers: Tensor, gold: np.ndarray, part: StatePart, tokens: str, classes: int) -> "Answers":
        """The answers (L x S x T) to those tokens of a part that take part, counted by their K classes."""
        kept = kept_tokens(part, tokens)
        labelled = kept & (gold != UNKNOWN)
        groups = len(GROUPS) - 1
        cells = torch.from_numpy((groups_of(part)[labelled] * classes + gold[labelled]) * classes)
        size, layers, seeds = groups * classes * classes, *answers.shape[:2]
        offsets = size * torch.arange(layers * seeds)[:, None]
        places = answers[:, :, torch.from_numpy(labelled)].flatten(0, 1) + cells + offsets
        counts = torch.bincount(places.flatten(), minlength=layers * seeds * size)
        return cls(counts.view(layers, seeds, groups, classes, classes).double(), int(kept.sum()))

    @property
    def labelled(self) -> bool:
        """Whether any token has a label."""
        return bool(self.counts[0].any())

    @cached_property
    def confusion(self) -> Tensor:
        """L x S x K x K: of the tokens of a class, the share that was given each; NaN where it has none."""
        of_classes = self.counts.sum(dim=2)
        return of_classes / of_classes.sum(dim=3, keepdim=True)

    @property
    def accuracy(self) -> Tensor:
        """L x S."""
        right = self.counts.diagonal(dim1=3, dim2=4)
        return right.sum(dim=(2, 3)) / self.counts.sum(dim=(2, 3, 4))

    @property
    def accuracy_of_groups(self) -> Tensor:
        """L x S x `GROUPS`; NaN for one without tokens."""
        right, all_tokens = self.counts.diagonal(dim1=3, dim2=4).sum(dim=3), self.counts.sum(dim=(3, 4))
        words = slice(GROUPS.index(PLACES[0]), GROUPS.index(PLACES[-1]) + 1)
        right, all_tokens = (
            torch.cat([counts, counts[..., words].sum(dim=2, keepdim=True)], dim=2)
            for counts in (right, all_tokens)
        )
        return right / all_tokens

    def share_of(self, number: int) -> float:
        """The share of the tokens whose class is this one."""
        of_classes = self.counts[0, 0].sum(dim=(0, 2))
        return float(of_classes[number] / of_classes.sum())

    @staticmethod
    def mean(of_directions: Iterable[Tensor]) -> Tensor:
        """The mean over directions, without those that have no such tokens (NaN)."""
        return torch.stack(list(of_directions)).nanmean(dim=0)
