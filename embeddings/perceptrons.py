"""Multilayer perceptrons with tanh over frozen vectors, several at once: each from a random initialization.

A perceptron of ten units computes less in an update than a call of a library costs. So all of them share the
calls: their parameters are the rows of one array, and no row depends on another.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from command_line.progress import progress

BETAS, EPSILON = (0.9, 0.999), 1e-8  # of Adam (Kingma and Ba 2015)


def teach(options, train, valid, seeds: Sequence[int], task: str = "teach") -> Callable:
    """A perceptron for each seed, of the epoch that is best on the validation part; the last of equals.

    Args:
        options: `embeddings.classify.Perceptron`.
        train, valid: vectors, n x C, and labels, n.
        task: what is shown meanwhile.

    Returns:
        Function from vectors, m x C, to labels, R x m, of R seeds.
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=options.standardize, with_std=options.standardize).fit(train[0])
    (vectors, labels), (held_out, gold) = ((scaler.transform(one), of) for one, of in (train, valid))
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
    generators = [np.random.default_rng(seed) for seed in seeds]
    parameters = np.stack([initial(widths, generator) for generator in generators])
    means, squares = np.zeros_like(parameters), np.zeros_like(parameters)
    update = 0
    for _ in range(options.epochs):
        orders = np.stack([generator.permutation(len(targets)) for generator in generators])
        for start in range(0, len(targets), options.batch):
            rows = orders[:, start : start + options.batch]  # R x B
            slope = gradient(parameters, widths, vectors[rows], targets[rows])
            slope += options.weight_decay * parameters
            update += 1
            means += (1 - BETAS[0]) * (slope - means)
            squares += (1 - BETAS[1]) * (slope * slope - squares)
            rate = options.learning_rate / (1 - BETAS[0] ** update)
            parameters -= rate * means / (np.sqrt(squares / (1 - BETAS[1] ** update)) + EPSILON)
        yield parameters


def initial(widths: Sequence[int], generator: np.random.Generator) -> np.ndarray:
    """P parameters, between -1 / sqrt(I) and 1 / sqrt(I) in a layer of I inputs, as those of torch."""
    bounds = [np.full((inputs + 1) * outputs, inputs**-0.5) for inputs, outputs in pairwise(widths)]
    bound = np.concatenate(bounds).astype(np.float32)
    return bound * generator.uniform(-1, 1, len(bound)).astype(np.float32)


def layers_of(parameters: np.ndarray, widths: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights, R x inputs x outputs, and biases, R x 1 x outputs, as views of the parameters, R x P."""
    layers, start = [], 0
    for inputs, outputs in pairwise(widths):
        end = start + inputs * outputs
        weight, bias = parameters[:, start:end], parameters[:, end : end + outputs]
        layers.append((weight.reshape(-1, inputs, outputs), bias[:, None]))
        start = end + outputs
    return layers


def logits(parameters: np.ndarray, widths: Sequence[int], vectors: np.ndarray) -> list[np.ndarray]:
    """What every layer reads, R x n x inputs, and at last the logits, R x n x classes.

    Args:
        vectors: R x n x C, or n x C for all.
    """
    states = [vectors]
    for number, (weight, bias) in enumerate(layers_of(parameters, widths), start=2):
        read = states[-1] @ weight + bias
        states.append(np.tanh(read) if number < len(widths) else read)
    return states


def predictions(parameters: np.ndarray, widths: Sequence[int], vectors: np.ndarray) -> np.ndarray:
    """n x C -> numbers of classes, R x n."""
    return logits(parameters, widths, vectors)[-1].argmax(axis=2)


def gradient(parameters: np.ndarray, widths: Sequence[int], vectors, targets) -> np.ndarray:
    """Of the mean cross-entropy of each batch, R x P.

    Args:
        vectors, targets: R x B x C, and the numbers of their classes, R x B.
    """
    *states, scores = logits(parameters, widths, vectors)
    scores = np.exp(scores - scores.max(axis=2, keepdims=True))
    slope = scores / scores.sum(axis=2, keepdims=True)
    slope -= targets[..., None] == np.arange(widths[-1])
    slope /= targets.shape[1]
    found = np.empty_like(parameters)
    layers = zip(layers_of(parameters, widths), layers_of(found, widths), states, strict=True)
    for (weight, _), (of_weight, of_bias), state in reversed(list(layers)):
        np.matmul(state.transpose(0, 2, 1), slope, out=of_weight)
        slope.sum(axis=1, keepdims=True, out=of_bias)
        if state is not vectors:
            slope = (slope @ weight.transpose(0, 2, 1)) * (1 - state * state)
    return found
