"""What classifiers of layer-wise language recognition learn from: tokens with labels (thesis 8.2.3)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from eval.probes.store import StatePart

READ = 64  # sentences that are read at once
HELD_OUT = 10  # one of so many lines
UNKNOWN = -1  # label of a language that no training direction has


def kept_tokens(part: StatePart, tokens: str) -> np.ndarray | None:
    """Per token whether it takes part; None for all of them."""
    if tokens == "all":
        return None
    return part.is_word if tokens == "words" else ~part.is_tag


@dataclass(frozen=True)
class Labels:
    """The languages that each question tells apart, in alphabetical order."""

    languages: dict[str, list[str]]

    @classmethod
    def of(cls, directions: list[Direction], questions: list[str], where: str) -> "Labels":
        """The languages that the questions about some directions choose from.

        Raises:
            InputError: a question has one language only.
        """
        found = {}
        for question in questions:
            position = 0 if question == "source" else 1
            found[question] = sorted({direction[position] for direction in directions})
            if len(found[question]) < 2:
                others = [other for other in ("source", "target") if other != question]
                raise InputError(
                    f"{where}: the only {question} language is {found[question][0]}, so there is nothing to"
                    f" recognize; extract more directions, or use --questions {others[0]}"
                )
        return cls(found)

    def label(self, question: str, direction: Direction) -> int:
        languages, language = self.languages[question], direction[0 if question == "source" else 1]
        return languages.index(language) if language in languages else UNKNOWN

    def labels(self, direction: Direction) -> list[int]:
        return [self.label(question, direction) for question in self.languages]


class TrainingSet:
    """The sentences of one side of several directions, in batches.

    Args:
        parts: one per direction.
        labels: sentences x questions, over all parts one after the other.
        tokens: "all", "no-tags" or "words".
    """

    def __init__(self, parts: list[StatePart], labels: np.ndarray, tokens: str):
        self.parts, self.labels = parts, labels
        self.kept = [kept_tokens(part, tokens) for part in parts]
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

    def blocks(self, examples: np.ndarray) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """`batch` after `batch` of some sentences, in their order."""
        for first in range(0, len(examples), READ):
            yield self.batch(examples[first : first + READ])

    def token_counts(self) -> np.ndarray:
        """Kept tokens per sentence."""
        counts = []
        for part, kept in zip(self.parts, self.kept, strict=True):
            ones = np.ones(len(part.tokens), np.int64) if kept is None else kept.astype(np.int64)
            counts.append(np.add.reduceat(ones, part.offsets[:-1]))
        return np.concatenate(counts)

    def batch(self, examples: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """States (layers x T x C, float32) and labels (questions x T) of the tokens of some sentences."""
        blocks, lengths = [], []
        for example in examples:
            part, kept = self.parts[self.part_numbers[example]], self.kept[self.part_numbers[example]]
            first, end = part.offsets[self.sentences[example] :][:2]
            block = part.read(first, end)
            blocks.append(block if kept is None else block[:, kept[first:end]])
            lengths.append(blocks[-1].shape[1])
        states = torch.from_numpy(np.concatenate(blocks, axis=1))
        return states, torch.from_numpy(np.repeat(self.labels[examples], lengths, axis=0).T.copy())
