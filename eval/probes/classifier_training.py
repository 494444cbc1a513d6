"""Training of the classifiers of one side: solved until they have converged, or as the thesis trains them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from command_line.progress import progress
from eval.probes.classifiers import LinearClassifiers, Trainer
from eval.probes.logistic_regression import TOLERANCE, solve
from eval.probes.protocol import Protocol
from eval.probes.training_set import TrainingSet


@dataclass(frozen=True)
class Trained:
    """The classifiers of one side, and how their training went: everything else is L x S x Q.

    Attributes:
        epochs: passes over the training part that the parameters come from.
        converged: whether the loss had stopped falling: the held-out one for `patience` passes, or, where
            nothing is held out, that of training in the last pass.
        training_accuracy, held_out_accuracy: per token; None where nothing is held out.
    """

    classifiers: LinearClassifiers
    epochs: Tensor
    converged: Tensor
    training_accuracy: Tensor
    held_out_accuracy: Tensor | None


def train(one: TrainingSet, classes: list[int], protocol: Protocol, task: str) -> Trained:
    """Train the classifiers of all layers of one side.

    Args:
        classes: number of classes per question.
        task: for the progress shown.

    Raises:
        InputError: there are too few sentences to hold some out.
    """
    if protocol.converges:
        training, held_out = one.split()
        classifiers, best = solve(one, classes, training, held_out, protocol.epochs, protocol.patience, task)
        epochs, converged = (found.unsqueeze(1) for found in (best.passes, best.done))
    else:
        training, held_out = np.arange(len(one)), None
        classifiers, falls = descend(one, classes, protocol, task)
        epochs, converged = torch.full(falls.shape, protocol.epochs), falls < TOLERANCE
    found = [None if part is None else accuracy(classifiers, one, part) for part in (training, held_out)]
    return Trained(classifiers, epochs, converged, *found)


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
    trainer = Trainer(classifiers, protocol.lr)
    losses = torch.full((protocol.epochs + 1, *classifiers.shape), torch.inf, dtype=torch.float64)
    losses[1:] = 0
    work = batches(len(one), protocol.batch_size, protocol.epochs)
    total = protocol.epochs * len(one)
    for epoch, batch in progress(work, total, task, "sentence", size=lambda item: len(item[1])):
        states, labels = one.batch(batch)
        if states.size(1):
            losses[epoch] += trainer.step(states, labels) * states.size(1)
    return classifiers, (losses[-2] - losses[-1]) / int(one.token_counts().sum())


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
