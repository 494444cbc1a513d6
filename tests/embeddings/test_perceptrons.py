"""Perceptrons that learn at once, against networks of torch that learn one by one."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from embeddings.classify import Perceptron
from embeddings.perceptrons import initial, learn, teach

PERCEPTRON = Perceptron(hidden=[8], epochs=40, batch=16, learning_rate=0.01, weight_decay=0.0)


def two_moons(count, seed):
    """What no linear classifier separates: the sign of a product."""
    vectors = np.random.default_rng(seed).normal(size=(count, 2)).astype(np.float32)
    return vectors, np.where(vectors[:, 0] * vectors[:, 1] > 0, "same", "other")


def accuracy(classify, part):
    return float((classify(part[0]) == part[1]).mean())


def test_a_perceptron_learns_what_a_linear_classifier_cannot():
    train, valid, test = two_moons(400, 1), two_moons(200, 2), two_moons(400, 3)
    assert accuracy(teach(PERCEPTRON, train, valid, [1]), test) > 0.9
    linear = Perceptron(hidden=[0], epochs=40, batch=16, learning_rate=0.01, weight_decay=0.0)
    assert accuracy(teach(linear, train, valid, [1]), test) < 0.7


def test_weight_decay_keeps_a_perceptron_from_learning():
    """Of weights next to zero nothing is left to tell the classes apart."""
    train, valid, test = two_moons(400, 1), two_moons(200, 2), two_moons(400, 3)
    free, small, large = (
        accuracy(teach(replace(PERCEPTRON, weight_decay=decay), train, valid, [1]), test)
        for decay in (0.0, 1e-4, 100.0)
    )
    assert min(free, small) > 0.9 and large < 0.7


def test_the_epoch_is_chosen_on_the_validation_part():
    """With validation labels turned round, the best epoch is the one that has learned least."""
    train, (vectors, labels) = two_moons(400, 1), two_moons(200, 2)
    turned = vectors, np.where(labels == "same", "other", "same")
    assert accuracy(teach(PERCEPTRON, train, turned, [1]), (vectors, labels)) < 0.75
    assert accuracy(teach(PERCEPTRON, train, (vectors, labels), [1]), (vectors, labels)) > 0.9


def test_of_epochs_that_are_as_good_the_last_is_chosen():
    """On a validation part that every epoch gets wrong."""
    train, test = two_moons(400, 1), two_moons(400, 3)
    hopeless = two_moons(200, 2)[0], np.array(["neither"] * 200)
    first, last = (teach(replace(PERCEPTRON, epochs=epochs), train, hopeless, [1]) for epochs in (1, 40))
    assert accuracy(first, test) < 0.9 < accuracy(last, test)


def test_vectors_may_be_standardized_by_the_training_part():
    """Of whatever size they are, and whatever the validation part is."""
    train, valid, test = (
        (50 + 0.1 * vectors, labels) for vectors, labels in (two_moons(400, seed) for seed in (1, 2, 3))
    )
    standardized = replace(PERCEPTRON, standardize=True)
    assert accuracy(teach(PERCEPTRON, train, valid, [1]), test) < 0.7
    assert accuracy(teach(standardized, train, valid, [1]), test) > 0.9
    once, others = replace(standardized, epochs=1), (7 * valid[0] - 3, valid[1])
    predicted, other = (teach(once, train, held_out, [1])(test[0]) for held_out in (valid, others))
    assert (predicted == other).all()


def network_of_torch(widths, parameters) -> torch.nn.Sequential:
    modules, start = [], 0
    for inputs, outputs in pairwise(widths):
        linear, end = torch.nn.Linear(inputs, outputs), start + inputs * outputs
        linear.weight.data = torch.from_numpy(parameters[start:end].reshape(inputs, outputs).T.copy())
        linear.bias.data = torch.from_numpy(parameters[end : end + outputs].copy())
        modules += [linear, torch.nn.Tanh()]
        start = end + outputs
    return torch.nn.Sequential(*modules[:-1])


@pytest.mark.parametrize("hidden", [[], [5], [5, 4]])
def test_each_learns_as_a_network_of_torch_does(hidden):
    """Weights after three epochs, the last batch of which is smaller; with weight decay."""
    draw = np.random.default_rng(5)
    vectors, targets = draw.normal(size=(22, 6)).astype(np.float32), draw.integers(0, 3, 22)
    options = Perceptron(hidden, epochs=3, batch=8, learning_rate=0.02, weight_decay=0.01)
    widths, seeds = [6, *hidden, 3], (3, 7)
    *_, learned = learn(options, widths, vectors, targets, seeds)
    for seed, parameters in zip(seeds, learned, strict=True):
        generator = np.random.default_rng(seed)
        network = network_of_torch(widths, initial(widths, generator))
        optimizer = torch.optim.Adam(network.parameters(), 0.02, weight_decay=0.01)
        for _ in range(3):
            for rows in torch.from_numpy(generator.permutation(22)).split(8):
                optimizer.zero_grad()
                scores = network(torch.from_numpy(vectors)[rows])
                torch.nn.functional.cross_entropy(scores, torch.from_numpy(targets)[rows]).backward()
                optimizer.step()
        expected = network_of_torch(widths, parameters)
        for name, weights in network.state_dict().items():
            torch.testing.assert_close(weights, expected.state_dict()[name], rtol=1e-4, atol=1e-5)


def test_initial_weights_are_those_of_torch_in_size():
    """Uniform between -1 / 4 and 1 / 4 where 16 are read, and between -1 / 30 and 1 / 30 where 900 are."""
    parameters = initial([16, 900, 2], np.random.default_rng(1))
    first, second = parameters[: 17 * 900], parameters[17 * 900 :]
    assert len(second) == 901 * 2
    for part, bound in ((first, 1 / 4), (second, 1 / 30)):
        assert 0.99 * bound < np.abs(part).max() <= bound
        assert part.std() == pytest.approx(bound / 3**0.5, rel=0.05)


def test_a_run_is_that_of_its_seed():
    """Whatever learns beside it, and never that of another."""
    train, valid, test = two_moons(200, 1), two_moons(200, 2), two_moons(400, 3)
    few = replace(PERCEPTRON, epochs=2)
    together = teach(few, train, valid, [1, 2, 3])(test[0])
    alone = teach(few, train, valid, [2])(test[0])
    assert together.shape == (3, 400) and (together[1] == alone[0]).all()
    assert (together[0] != together[1]).any() and (together[1] != together[2]).any()
