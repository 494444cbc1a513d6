"""Multilayer perceptrons with tanh over frozen vectors, several at once: each from a random initialization.

A perceptron of ten units computes less in an update than a call of a library costs. So all of them share the
calls: their parameters are the rows of one array, and no row depends on another.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from command_line.progress import progress


def teach(options, train, valid, seeds: Sequence[int], task: str = "teach") -> Callable:
    """A perceptron for each seed, of the epoch that is best on the validation part; the last of equals.

    Args:
        train, valid: vectors, n x C, and labels, n.

    Returns:
        Function from vectors, m x C, to labels, R x m, of R seeds.
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=options.standardize, with_std=options.standardize).fit(train[0])
    (vectors, labels), (held_out, gold) = ((scaler.transform(part), of) for part, of in (train, valid))
    classes, targets = np.unique(labels, return_inverse=True)
    widths = [vectors.shape[1], *filter(None, options.hidden), len(classes)]
    best, highest = np.zeros(()), np.full((len(seeds), 1), -1.0)
    epochs = learn(options, widths, vectors, targets, seeds)
    for parameters in progress(epochs, options.epochs, task, "epoch"):
        right = classes[predictions(parameters, widths, held_out)] == gold
        accuracy = right.mean(axis=1, keepdims=True)
        best = np.where(accuracy >= highest, parameters, best)
        highest = np.maximum(highest, accuracy)
    return lambda given: classes[predictions(best, widths, scaler.transform(given))]


def learn(options, widths: Sequence[int], vectors, targets, seeds: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield the parameters after every epoch, R x P; the array is the same one, and goes on changing.

    Args:
        widths: of the layers, from that of the vectors to the number of classes.
        vectors, targets: n x C, and the numbers of their classes, n.
    """
    import torch
    from torch.nn.functional import cross_entropy

    generators = [np.random.default_rng(seed) for seed in seeds]
    parameters = torch.from_numpy(np.stack([initial(widths, generator) for generator in generators]))
    adam = torch.optim.Adam(
        [parameters.requires_grad_()], options.learning_rate, weight_decay=options.weight_decay
    )
    vectors = torch.from_numpy(np.asarray(vectors, dtype=np.float32))
    targets = torch.from_numpy(np.asarray(targets))
    for _ in range(options.epochs):
        orders = torch.from_numpy(np.stack([generator.permutation(len(targets)) for generator in generators]))
        for rows in orders.split(options.batch, dim=1):  # R x B
            adam.zero_grad()
            scores = logits(parameters, widths, vectors[rows])
            # of every perceptron the mean over its batch
            loss = cross_entropy(scores.flatten(0, 1), targets[rows].flatten(), reduction="sum")
            (loss / rows.shape[1]).backward()
            adam.step()
        yield parameters.detach().numpy()


def initial(widths: Sequence[int], generator: np.random.Generator) -> np.ndarray:
    """P parameters, between -1 / sqrt(I) and 1 / sqrt(I) in a layer of I inputs, as those of torch."""
    bounds = [np.full((inputs + 1) * outputs, inputs**-0.5) for inputs, outputs in pairwise(widths)]
    bound = np.concatenate(bounds).astype(np.float32)
    return bound * generator.uniform(-1, 1, len(bound)).astype(np.float32)


def logits(parameters, widths: Sequence[int], vectors):
    """R x n x classes, of tensors.

    Args:
        parameters: R x P; of every layer the weights, inputs x outputs, and the biases.
        vectors: R x n x C, or n x C for all.
    """
    sizes = [(inputs + 1) * outputs for inputs, outputs in pairwise(widths)]
    for number, layer in enumerate(parameters.split(sizes, dim=1), start=2):
        inputs = vectors.shape[-1]
        weights, biases = layer.unflatten(1, (inputs + 1, -1)).split((inputs, 1), dim=1)
        vectors = vectors @ weights + biases
        if number < len(widths):
            vectors = vectors.tanh()
    return vectors


def predictions(parameters: np.ndarray, widths: Sequence[int], vectors: np.ndarray) -> np.ndarray:
    """n x C -> numbers of classes, R x n."""
    import torch

    read = torch.from_numpy(np.asarray(vectors, dtype=np.float32))
    return logits(torch.from_numpy(parameters), widths, read).argmax(dim=2).numpy()
