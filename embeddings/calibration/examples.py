"""What a sentence encoder is calibrated on: examples of English inference and similarity, and their batches.

Which examples a batch has is a function of the seed alone, so that a training that was killed goes on with
the batches that it would have had.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from embeddings.labelled_pairs import CONTRADICTION, ENTAILMENT, LABELS, check_label, read_labelled_pairs
from embeddings.sts import read_rated_pairs

NLI, STS = "nli", "sts"
HIGHEST_RATING = 5.0  # of the STS benchmark; the lowest is 0


@dataclass(frozen=True)
class Inference:
    """A premise with a hypothesis that it entails, and one that contradicts it, if there is any."""

    anchor: str
    positive: str
    negative: str | None

    @property
    def sentences(self) -> set[str]:
        return {self.anchor, self.positive, self.negative} - {None}


@dataclass(frozen=True)
class Rated:
    """Two sentences, and how similar they are, from 0 to 1."""

    first: str
    second: str
    similarity: float


def read_inferences(paths: Sequence[Path]) -> list[Inference]:
    """The examples of files of inference: one of every premise and hypothesis that it entails. The
    contradicting hypotheses of the same premise go round among them.

    Raises:
        InputError: a line is of neither layout, or no premise entails anything.
    """
    premises: dict[str, dict[str, dict[str, None]]] = {}
    for path in paths:
        for pair in read_labelled_pairs(path):
            check_label(pair.label, LABELS, path, pair.line)
            premise, hypothesis, label = pair.first, pair.second, pair.label
            if label in (ENTAILMENT, CONTRADICTION) and premise and hypothesis and premise != hypothesis:
                premises.setdefault(premise, {}).setdefault(label, {})[hypothesis] = None
    examples = [
        example for premise, hypotheses in premises.items() for example in _of_premise(premise, hypotheses)
    ]
    if not examples:
        raise InputError(f"{paths[0]}: no premise entails a hypothesis; expected lines labelled {ENTAILMENT}")
    return examples


def _of_premise(premise: str, hypotheses: dict[str, dict[str, None]]) -> Iterator[Inference]:
    positives = hypotheses.get(ENTAILMENT, {})
    negatives = [
        hypothesis for hypothesis in hypotheses.get(CONTRADICTION, {}) if hypothesis not in positives
    ]
    for number, positive in enumerate(positives):
        yield Inference(premise, positive, negatives[number % len(negatives)] if negatives else None)


def read_rated(path: Path) -> list[Rated]:
    """The pairs of the STS benchmark, with ratings of 0 to 5 as similarities of 0 to 1.

    Raises:
        InputError: as of `read_rated_pairs`, or a rating is beyond.
    """
    pairs = read_rated_pairs(path)
    wrong = np.flatnonzero((pairs.ratings < 0) | (pairs.ratings > HIGHEST_RATING))
    if wrong.size:
        row = int(wrong[0])
        raise InputError(
            f"{path}: row {row + 1} is rated {pairs.ratings[row]:g}, expected 0 to {HIGHEST_RATING:g}"
        )
    similarities = (pairs.ratings / HIGHEST_RATING).tolist()
    return [Rated(*pair) for pair in zip(pairs.first, pairs.second, similarities, strict=True)]


def without_duplicates(examples: Sequence[Inference], order: Sequence[int], size: int) -> list[list[int]]:
    """Batches in which no sentence occurs twice, as the others of a batch are an anchor's negatives.

    Every example is in the first batch that has room for it and none of its sentences; so each is in one
    batch, and few batches, the last ones, are smaller.
    """
    batches: list[list[int]] = []
    sentences_of: list[set[str]] = []
    begin: dict[str, int] = {}  # of a sentence: the batches before are full or have it
    full = 0  # so many, from the first one

    def first_from(place: int, sentences: set[str]) -> int:
        while place < len(batches) and (
            len(batches[place]) == size or not sentences_of[place].isdisjoint(sentences)
        ):
            place += 1
        return place

    for number in order:
        sentences = examples[number].sentences
        for sentence in sentences:
            begin[sentence] = first_from(max(full, begin.get(sentence, 0)), {sentence})
        place = first_from(max(begin[sentence] for sentence in sentences), sentences)
        if place == len(batches):
            batches.append([])
            sentences_of.append(set())
        batches[place].append(number)
        sentences_of[place] |= sentences
        while full < len(batches) and len(batches[full]) == size:
            full += 1
    return batches


class Course:
    """All batches of a training: those of inference, then those of similarity.

    Args:
        inferences: read `nli_epochs` times, each time in another order.
        rated: read `sts_epochs` times.

    Attributes:
        stages: number of batches of either, in this order.
    """

    def __init__(
        self,
        inferences: Sequence[Inference],
        rated: Sequence[Rated],
        nli_epochs: int,
        sts_epochs: int,
        size: int,
        seed: int,
    ):
        first = [
            (NLI, [inferences[row] for row in rows])
            for epoch in range(nli_epochs)
            for rows in without_duplicates(inferences, _order(len(inferences), seed, 0, epoch), size)
        ]
        then = [
            (STS, [rated[row] for row in order[start : start + size]])
            for epoch in range(sts_epochs)
            for order in [_order(len(rated), seed, 1, epoch)]
            for start in range(0, len(order), size)
        ]
        self.stages = len(first), len(then)
        self.batches = first + then

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, number: int) -> tuple[str, list]:
        """Objective and examples of a batch."""
        return self.batches[number]


def _order(length: int, *seeds: int) -> list[int]:
    return np.random.default_rng(seeds).permutation(length).tolist()


def columns_of(objective: str, examples: Sequence) -> list[list[str]]:
    """The sentences of a batch: anchors, positives, and the negatives that there are; or both of pairs."""
    if objective == STS:
        return [[each.first for each in examples], [each.second for each in examples]]
    negatives = [each.negative for each in examples if each.negative is not None]
    columns = [[each.anchor for each in examples], [each.positive for each in examples]]
    return [*columns, negatives] if negatives else columns
