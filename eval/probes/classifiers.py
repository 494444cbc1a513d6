"""Linear classifiers of tokens, all layers, questions and seeds as one batched linear map; their training.

A classifier is one `C -> classes` map with bias. Classifiers of different layers see different states, those
of different questions have different labels, those of different seeds start from different weights; none
sees another's loss, so training them together is training each alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from command_line.progress import progress
from eval.probes.logistic_regression import (
    TOLERANCE,
    Objective,
    Questions,
    Whitening,
    minimize,
    of_states,
    stop_early,
)
from eval.probes.protocol import Protocol
from eval.probes.training_set import TrainingSet

COARSE = 100  # times the gradient norm at which a classifier is done, while C is chosen


class LinearClassifiers(nn.Module):
    """One classifier per layer, seed and question.

    Args:
        layers: number of layers, L.
        width: C.
        classes: number of classes of each of the Q questions; K in all.
        seeds: one initialization each, as `nn.Linear` draws it; S in all.
    """

    def __init__(
        self,
        layers: int,
        width: int,
        classes: Sequence[int],
        seeds: Sequence[int],
    ):
        super().__init__()
        self.classes, self.seeds = list(classes), len(seeds)
        bound = 1 / math.sqrt(width)
        drawn = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            drawn.append(torch.rand(layers, width + 1, sum(classes), generator=generator))
        parameters = (2 * torch.cat(drawn, dim=2) - 1) * bound  # L x C + 1 x S K
        self.weight = nn.Parameter(parameters[:, :width].contiguous())  # L x C x S K
        self.bias = nn.Parameter(parameters[:, width:].contiguous())  # L x 1 x S K

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, classes: Sequence[int]) -> "LinearClassifiers":
        """Classifiers with these parameters, L x C x K and L x 1 x K, of one seed."""
        found = cls(*weight.shape[:2], classes, seeds=[0])
        with torch.no_grad():
            found.weight.copy_(weight)
            found.bias.copy_(bias)
        return found

    @property
    def shape(self) -> tuple[int, int, int]:
        """L x S x Q, of what there is one of per classifier."""
        return self.weight.size(0), self.seeds, len(self.classes)

    def forward(self, states: Tensor) -> list[Tensor]:
        """Logits per question, L x T x S x classes.

        Args:
            states: L x T x C.
        """
        logits = torch.baddbmm(self.bias, states, self.weight)
        return list(logits.unflatten(2, (self.seeds, sum(self.classes))).split(self.classes, dim=3))

    def losses(self, states: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of every classifier, L x S x Q: in nats, the mean over the tokens.

        Args:
            states: L x T x C.
            labels: Q x T, class numbers.
        """
        return torch.stack(
            [_cross_entropy(logits, gold) for logits, gold in zip(self(states), labels, strict=True)], dim=2
        )

    @torch.no_grad()
    def right(self, states: Tensor, labels: Tensor) -> Tensor:
        """How many tokens get the class of their label, L x S x Q."""
        answers = [logits.argmax(dim=3) for logits in self(states)]  # L x T x S
        gold = labels[:, None, :, None]
        return torch.stack(
            [found.eq(one).sum(dim=1) for found, one in zip(answers, gold, strict=True)], dim=2
        )

    @torch.no_grad()
    def answers(self, states: Tensor) -> list[Tensor]:
        """How many tokens get which class, per question: L x S x classes.

        Args:
            states: L x T x C.
        """
        return [
            torch.stack([best.eq(one).sum(dim=1) for one in range(logits.size(3))], dim=2)
            for logits in self(states)
            for best in [logits.argmax(dim=3)]
        ]


def _cross_entropy(logits: Tensor, gold: Tensor) -> Tensor:
    """L x S: mean over the tokens. Of logits L x T x S x classes and class numbers T."""
    chosen = gold[None, :, None, None].expand(*logits.shape[:3], 1)
    return -logits.log_softmax(dim=3).gather(3, chosen).mean(dim=(1, 3))


# --- training, by protocol


@dataclass(frozen=True)
class Trained:
    """The classifiers of one side, and how their training went: everything else is L x S x Q.

    Attributes:
        epochs: passes over the sentences to train on that the parameters come from.
        converged: of the optimum, whether the gradient norm was reached; of early stopping, whether the
            held-out loss had not fallen for `patience` passes; of the paper, whether the last pass left the
            training loss as it was.
        training_accuracy, held_out_accuracy: per token; None where nothing is held out.
        regularization, gradient_norm: of the optimum, the chosen C and the norm that was reached.
    """

    classifiers: LinearClassifiers
    epochs: Tensor
    converged: Tensor
    training_accuracy: Tensor
    held_out_accuracy: Tensor | None = None
    regularization: Tensor | None = None
    gradient_norm: Tensor | None = None


def train(sentences: TrainingSet, classes: list[int], protocol: Protocol, task: str) -> Trained:
    """Train the classifiers of all layers of one side.

    Args:
        classes: number of classes per question.
        task: for the progress shown.

    Raises:
        InputError: there are too few sentences to hold some out.
    """
    return TRAINERS[protocol.name](sentences, classes, protocol, task)


def optimum(sentences: TrainingSet, classes: list[int], protocol: Protocol, task: str) -> Trained:
    """The minimum of the L2-regularized loss on standardized states, as scikit-learn's softmax regression.

    Each classifier gets the smallest C of the grid with the best accuracy on held-out sentences. The final
    classifiers learn from all sentences with this C.
    """
    training, held_out = sentences.split()
    everything = np.arange(len(sentences))
    counts = sentences.token_counts()
    questions, whitening = Questions(classes), Whitening(sentences, everything)
    weights = whitening.zero_weights(sum(classes))
    best = torch.full((len(weights), len(classes)), -1.0)
    chosen, start = torch.zeros_like(best, dtype=torch.float64), weights
    objective = Objective(sentences, questions, whitening, training)
    for strength in sorted(protocol.grid):
        penalty = torch.full_like(chosen, 1 / (strength * counts[training].sum()))
        tolerance, name = COARSE * protocol.gradient_norm, f"{task}, C = {strength:g}"
        weights = minimize(objective, penalty, weights, tolerance, protocol.epochs, name).weights
        fitted = LinearClassifiers.of(*of_states(weights, whitening), classes)
        held_out_accuracy = accuracy(fitted, sentences, held_out)[:, 0]
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
        accuracy(classifiers, sentences, everything),
        best.unsqueeze(1),
        chosen.unsqueeze(1),
        minimum.gradient_norm.unsqueeze(1),
    )


def early_stopping(sentences: TrainingSet, classes: list[int], protocol: Protocol, task: str) -> Trained:
    """Without regularization, the weights at which the loss on held-out sentences was lowest."""
    training, held_out = sentences.split()
    parameters, best = stop_early(
        sentences, classes, training, held_out, protocol.epochs, protocol.patience, task
    )
    classifiers = LinearClassifiers.of(*parameters, classes)
    return Trained(
        classifiers,
        best.passes.unsqueeze(1),
        best.done.unsqueeze(1),
        *(accuracy(classifiers, sentences, examples) for examples in (training, held_out)),
    )


def paper(sentences: TrainingSet, classes: list[int], protocol: Protocol, task: str) -> Trained:
    """The thesis's training: some epochs of Adam on states as they are."""
    classifiers, falls = descend(sentences, classes, protocol, task)
    return Trained(
        classifiers,
        torch.full(falls.shape, protocol.epochs),
        falls < TOLERANCE,
        accuracy(classifiers, sentences, np.arange(len(sentences))),
    )


TRAINERS = {"optimum": optimum, "early-stopping": early_stopping, "paper": paper}


def descend(
    one: TrainingSet, classes: list[int], protocol: Protocol, task: str
) -> tuple[LinearClassifiers, Tensor]:
    """The paper's training: some epochs of Adam on states as they are, from one initialization per seed.

    Returns:
        The classifiers, and by how much the last epoch lowered their training losses (nats), L x S x Q;
        infinite for one epoch.
    """
    layers, _, width = one.parts[0].all_states.shape
    classifiers = LinearClassifiers(layers, width, classes, protocol.seeds)
    optimizer = torch.optim.Adam(classifiers.parameters(), lr=protocol.lr)
    losses = torch.full((protocol.epochs + 1, *classifiers.shape), torch.inf, dtype=torch.float64)
    losses[1:] = 0
    work = batches(len(one), protocol.batch_size, protocol.epochs)
    total = protocol.epochs * len(one)
    for epoch, batch in progress(work, total, task, "sentence", size=lambda item: len(item[1])):
        states, labels = one.batch(batch)
        if states.size(1):
            losses[epoch] += adam_step(classifiers, optimizer, states, labels) * states.size(1)
    return classifiers, (losses[-2] - losses[-1]) / int(one.token_counts().sum())


def adam_step(classifiers: LinearClassifiers, optimizer, states: Tensor, labels: Tensor) -> Tensor:
    """One step of all classifiers; returns their losses before it, L x S x Q."""
    optimizer.zero_grad(set_to_none=True)
    losses = classifiers.losses(states, labels)
    losses.sum().backward()
    optimizer.step()
    return losses.detach()


def batches(sentences: int, size: int, epochs: int) -> Iterator[tuple[int, np.ndarray]]:
    """The epoch, from 1, and the numbers of the sentences of every batch.

    Every epoch has another random order. It is the same for all seeds, so that states are read once for
    all of them.
    """
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(sentences)
        for batch in np.split(order, range(size, sentences, size)):
            yield epoch + 1, batch


def accuracy(classifiers: LinearClassifiers, one: TrainingSet, examples: np.ndarray) -> Tensor:
    """Share of the tokens of some sentences whose language is recognized, L x S x Q."""
    right = tokens = 0
    for states, labels in one.blocks(examples):
        right, tokens = right + classifiers.right(states, labels), tokens + states.size(1)
    return right / tokens
