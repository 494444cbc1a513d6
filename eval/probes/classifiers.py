"""Classifiers of tokens, all layers, questions and seeds as one batched map; how they are trained.

A classifier is one `C -> classes` map with bias, or a perceptron with a hidden layer. Classifiers of
different layers see different states, those of different questions have different labels, those of different
seeds start from different weights. None sees another's loss, so training them together is training each
alone.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from command_line.progress import progress
from eval.probes.logistic_regression import (
    TOLERANCE,
    EarlyStopping,
    Objective,
    Questions,
    Whitening,
    minimize,
    moments,
    of_states,
    stop_early,
)
from eval.probes.protocol import MLP, Protocol
from eval.probes.training_set import TrainingSet, balanced_weights

COARSE = 100  # times the gradient norm at which a classifier is done, while C is chosen


class Classifiers(nn.Module):
    """One classifier per layer, seed and question.

    Attributes:
        classes: number of classes of each of the Q questions; K in all.
        seeds: number of initializations, S.
    """

    classes: list[int]
    seeds: int

    def logits(self, states: Tensor) -> Tensor:
        """L x T x S K, of states L x T x C."""
        raise NotImplementedError

    def forward(self, states: Tensor) -> list[Tensor]:
        """Logits per question, L x T x S x classes, of states L x T x C."""
        logits = self.logits(states).unflatten(2, (self.seeds, sum(self.classes)))
        return list(logits.split(self.classes, dim=3))

    def losses(self, states: Tensor, labels: Tensor, weights: Sequence[Tensor] | None = None) -> Tensor:
        """Cross-entropy of every classifier, L x S x Q, in nats: the mean over the tokens of states L x T x C
        and class numbers Q x T.
        """
        of_classes = weights or [None] * len(labels)
        return torch.stack(
            [
                _cross_entropy(logits, gold, of_class)
                for logits, gold, of_class in zip(self(states), labels, of_classes, strict=True)
            ],
            dim=2,
        )

    @torch.no_grad()
    def answers(self, states: Tensor) -> list[Tensor]:
        """The class that every token gets, per question: L x S x T, of states L x T x C."""
        return [logits.argmax(dim=3).transpose(1, 2) for logits in self(states)]


class LinearClassifiers(Classifiers):
    """One linear classifier per layer, seed and question, initialized as `nn.Linear` is by every seed."""

    def __init__(
        self,
        layers: int,
        width: int,
        classes: Sequence[int],
        seeds: Sequence[int],
    ):
        super().__init__()
        self.classes, self.seeds = list(classes), len(seeds)
        drawn = torch.cat([_drawn(seed, layers, width, sum(classes)) for seed in seeds], dim=2)
        self.weight = nn.Parameter(drawn[:, :width].contiguous())  # L x C x S K
        self.bias = nn.Parameter(drawn[:, width:].contiguous())  # L x 1 x S K

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, classes: Sequence[int]) -> "LinearClassifiers":
        """Classifiers with these parameters, L x C x K and L x 1 x K, of one seed."""
        classifiers = cls(*weight.shape[:2], classes, seeds=[0])
        with torch.no_grad():
            classifiers.weight.copy_(weight)
            classifiers.bias.copy_(bias)
        return classifiers

    def logits(self, states: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, states, self.weight)


class Perceptrons(Classifiers):
    """One classifier with a hidden layer (ReLU) of standardized states per layer, seed and question.

    Args:
        mean, deviation: of the states, L x 1 x C.
        hidden: units of a hidden layer, H.
        classes, seeds: as of `LinearClassifiers`.
    """

    def __init__(
        self, mean: Tensor, deviation: Tensor, hidden: int, classes: Sequence[int], seeds: Sequence[int]
    ):
        super().__init__()
        self.classes, self.seeds, self.hidden = list(classes), len(seeds), hidden
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)
        layers, _, width = mean.shape
        units = hidden * len(classes)
        first = torch.cat([_drawn(seed, layers, width, units) for seed in seeds], dim=2)  # L x C + 1 x S Q H
        second = torch.cat([_drawn(seed, layers, hidden, sum(classes)) for seed in seeds], dim=2)
        self.first = nn.Parameter(first)
        self.second = nn.Parameter(second)  # L x H + 1 x S K

    @torch.no_grad()
    def take(self, other: "Perceptrons", which: Tensor) -> None:
        """The parameters of some classifiers (L x S x Q) of another object of the same shape."""
        columns = (
            (self.first, other.first, which.repeat_interleave(self.hidden, dim=2)),
            (self.second, other.second, which.repeat_interleave(torch.tensor(self.classes), dim=2)),
        )
        for mine, theirs, taken in columns:
            mine.copy_(torch.where(taken.flatten(1).unsqueeze(1), theirs, mine))

    def logits(self, states: Tensor) -> Tensor:
        standardized = (states - self.mean) / self.deviation
        hidden = torch.baddbmm(self.first[:, -1:], standardized, self.first[:, :-1]).relu()
        hidden = hidden.unflatten(2, (self.seeds, len(self.classes), self.hidden))
        second = self.second.unflatten(2, (self.seeds, sum(self.classes)))  # L x H + 1 x S x K
        logits = [
            torch.einsum("ltsh,lhsk->ltsk", hidden[:, :, :, question], weight[:, :-1]) + weight[:, None, -1]
            for question, weight in enumerate(second.split(self.classes, dim=3))
        ]
        return torch.cat(logits, dim=3).flatten(2)


def _drawn(seed: int, layers: int, width: int, columns: int) -> Tensor:
    """Weights and, in the last row, biases as `nn.Linear` draws them: layers x width + 1 x columns."""
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.rand(layers, width + 1, columns, generator=generator) - 1) / math.sqrt(width)


def _cross_entropy(logits: Tensor, gold: Tensor, weights: Tensor | None) -> Tensor:
    """L x S: mean over the tokens. Of logits L x T x S x classes and class numbers T."""
    chosen = gold[None, :, None, None].expand(*logits.shape[:3], 1)
    losses = -logits.log_softmax(dim=3).gather(3, chosen)
    if weights is not None:
        losses = losses * weights[gold].to(losses.dtype)[None, :, None, None]
    return losses.mean(dim=(1, 3))


# --- training, by protocol


@dataclass(frozen=True)
class Trained:
    """The classifiers of one side, and how their training went: everything else is L x S x Q.

    Attributes:
        epochs: passes over the sentences to train on that the parameters come from.
        converged: of the optimum, whether the gradient norm was reached; of early stopping and perceptrons,
            whether the held-out loss had not fallen for `patience` passes; of the paper, whether the last
            pass left the training loss as it was.
        training_accuracy, held_out_accuracy: per token, as `accuracy` has it; None where nothing is held out.
        regularization, gradient_norm: of the optimum, the chosen C and the norm that was reached.
    """

    classifiers: Classifiers
    epochs: Tensor
    converged: Tensor
    training_accuracy: Tensor
    held_out_accuracy: Tensor | None = None
    regularization: Tensor | None = None
    gradient_norm: Tensor | None = None


def train(
    sentences: TrainingSet, classes: list[int], protocol: Protocol, task: str, balance: bool = False
) -> Trained:
    """Train the classifiers of all layers of one side.

    Args:
        balance: every class weighs as much as every other, whatever its number of tokens.

    Raises:
        InputError: there are too few sentences to hold some out.
    """
    weights = balanced_weights(sentences.class_counts(classes)) if balance else None
    return TRAINERS[protocol.name](sentences, Questions(classes, weights), protocol, task)


def optimum(sentences: TrainingSet, questions: Questions, protocol: Protocol, task: str) -> Trained:
    """The minimum of the L2-regularized loss on standardized states, as scikit-learn's softmax regression.

    Each classifier gets the smallest C of the grid with the best accuracy on held-out sentences. The final
    classifiers learn from all sentences with this C.
    """
    training, held_out = sentences.split()
    everything = np.arange(len(sentences))
    counts, classes = sentences.token_counts(), questions.classes
    whitening = Whitening(sentences, everything)
    weights = whitening.zero_weights(sum(classes))
    best = torch.full((len(weights), len(classes)), -1.0)
    chosen, start = torch.zeros_like(best, dtype=torch.float64), weights
    objective = Objective(sentences, questions, whitening, training)
    for strength in sorted(protocol.grid):
        penalty = torch.full_like(chosen, 1 / (strength * counts[training].sum()))
        tolerance, name = COARSE * protocol.gradient_norm, f"{task}, C = {strength:g}"
        weights = minimize(objective, penalty, weights, tolerance, protocol.epochs, name).weights
        fitted = LinearClassifiers.of(*of_states(weights, whitening), classes)
        held_out_accuracy = accuracy(fitted, sentences, held_out, questions.weights)[:, 0]
        better = held_out_accuracy > best
        best = torch.where(better, held_out_accuracy, best)
        chosen = torch.where(better, strength, chosen)
        start = torch.where(questions.spread(better), weights, start)
    objective = Objective(sentences, questions, whitening, everything)
    penalty = 1 / (chosen * counts.sum())
    minimum = minimize(objective, penalty, start, protocol.gradient_norm, protocol.epochs, f"{task}, all")
    classifiers = LinearClassifiers.of(*of_states(minimum.weights, whitening), classes)
    return Trained(
        classifiers,
        minimum.passes.unsqueeze(1),
        (minimum.gradient_norm <= protocol.gradient_norm).unsqueeze(1),
        accuracy(classifiers, sentences, everything, questions.weights),
        best.unsqueeze(1),
        chosen.unsqueeze(1),
        minimum.gradient_norm.unsqueeze(1),
    )


def early_stopping(sentences: TrainingSet, questions: Questions, protocol: Protocol, task: str) -> Trained:
    """The weights at which the loss on held-out sentences was lowest, without regularization."""
    training, held_out = sentences.split()
    parameters, stopping = stop_early(
        sentences, questions, training, held_out, protocol.epochs, protocol.patience, task
    )
    classifiers = LinearClassifiers.of(*parameters, questions.classes)
    return Trained(
        classifiers,
        stopping.passes.unsqueeze(1),
        stopping.done.unsqueeze(1),
        *(accuracy(classifiers, sentences, part, questions.weights) for part in (training, held_out)),
    )


def paper(sentences: TrainingSet, questions: Questions, protocol: Protocol, task: str) -> Trained:
    """The thesis's training: some epochs of Adam on states as they are, from one initialization per seed."""
    layers, _, width = sentences.parts[0].all_states.shape
    classifiers = LinearClassifiers(layers, width, questions.classes, protocol.seeds)
    everything = np.arange(len(sentences))
    losses = list(descend(classifiers, sentences, everything, questions, protocol, task))
    falls = losses[-2] - losses[-1] if len(losses) > 1 else torch.full_like(losses[-1], torch.inf)
    return Trained(
        classifiers,
        torch.full(falls.shape, protocol.epochs),
        falls < TOLERANCE,
        accuracy(classifiers, sentences, everything, questions.weights),
    )


def perceptrons(sentences: TrainingSet, questions: Questions, protocol: Protocol, task: str) -> Trained:
    """Adam on standardized states; each classifier has the weights with the lowest held-out loss."""
    training, held_out = sentences.split()
    mean, deviation = moments(states for states, _ in sentences.blocks(training))
    classifiers = Perceptrons(mean, deviation, protocol.hidden, questions.classes, protocol.seeds)
    best = copy.deepcopy(classifiers)
    shape = len(mean), len(protocol.seeds), len(questions.classes)
    stopping = EarlyStopping(shape, protocol.patience)
    for epoch, _ in enumerate(descend(classifiers, sentences, training, questions, protocol, task), 1):
        losses = mean_losses(classifiers, sentences, held_out, questions)
        best.take(classifiers, stopping.update(losses, epoch))
        if stopping.done.all():
            break
    return Trained(
        best,
        stopping.passes,
        stopping.done,
        *(accuracy(best, sentences, part, questions.weights) for part in (training, held_out)),
    )


TRAINERS = {"optimum": optimum, "early-stopping": early_stopping, "paper": paper, MLP: perceptrons}


def descend(
    classifiers: Classifiers,
    sentences: TrainingSet,
    examples: np.ndarray,
    questions: Questions,
    protocol: Protocol,
    task: str,
) -> Iterator[Tensor]:
    """Epochs of Adam on some sentences; yields after each the mean loss in it (nats per token), L x S x Q."""
    optimizer = torch.optim.Adam(classifiers.parameters(), lr=protocol.lr)
    tokens = int(sentences.token_counts()[examples].sum())
    losses, current = 0, 1
    work = batches(len(examples), protocol.batch_size, protocol.epochs)
    total = protocol.epochs * len(examples)
    for epoch, batch in progress(work, total, task, "sentence", size=lambda item: len(item[1])):
        if epoch > current:
            yield losses / tokens
            losses, current = 0, epoch
        states, labels = sentences.batch(examples[batch])
        if states.size(1):
            step = adam_step(classifiers, optimizer, states, labels, questions.weights)
            losses = losses + step.double() * states.size(1)
    yield losses / tokens


def adam_step(
    classifiers: Classifiers, optimizer, states: Tensor, labels: Tensor, weights: Sequence[Tensor | None]
) -> Tensor:
    """One step of all classifiers; returns their losses before it, L x S x Q."""
    optimizer.zero_grad(set_to_none=True)
    losses = classifiers.losses(states, labels, weights)
    losses.sum().backward()
    optimizer.step()
    return losses.detach()


def batches(sentences: int, size: int, epochs: int) -> Iterator[tuple[int, np.ndarray]]:
    """The epoch, from 1, and the numbers of the sentences of every batch.

    Every epoch has another random order, the same for all seeds, so that states are read once.
    """
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(sentences)
        for batch in np.split(order, range(size, sentences, size)):
            yield epoch + 1, batch


@torch.no_grad()
def mean_losses(
    classifiers: Classifiers, sentences: TrainingSet, examples: np.ndarray, questions: Questions
) -> Tensor:
    """The mean losses of some sentences, L x S x Q, in nats per token."""
    losses = tokens = 0
    for states, labels in sentences.blocks(examples):
        if states.size(1):
            of_block = classifiers.losses(states, labels, questions.weights)
            losses, tokens = losses + of_block.double() * states.size(1), tokens + states.size(1)
    return losses / tokens


def accuracy(
    classifiers: Classifiers,
    sentences: TrainingSet,
    examples: np.ndarray,
    weights: Sequence[Tensor | None] | None = None,
) -> Tensor:
    """Share of the tokens of some sentences whose class is recognized, L x S x Q.

    Args:
        weights: of the tokens of every class, per question; 1 without any.
    """
    right = total = 0
    for states, labels in sentences.blocks(examples):
        answers = classifiers.answers(states)
        of_classes = weights or [None] * len(labels)
        of_tokens = [
            torch.ones(len(gold)) if of_class is None else of_class[gold].float()
            for of_class, gold in zip(of_classes, labels, strict=True)
        ]
        rights = [
            (answer.eq(gold) * weight).sum(dim=2)
            for answer, gold, weight in zip(answers, labels, of_tokens, strict=True)
        ]
        right = right + torch.stack(rights, dim=2)
        total = total + torch.stack([weight.sum() for weight in of_tokens])
    return right / total
