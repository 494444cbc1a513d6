"""Classifiers of layer-wise language recognition: scikit-learn's optimum, blind to scale and shift."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from command_line.errors import InputError
from eval.probes.classifiers import LinearClassifiers, accuracy, train
from eval.probes.lbfgs import LBFGS
from eval.probes.logistic_regression import EarlyStopping, Objective, Questions, Whitening, stop_early
from eval.probes.protocol import Protocol
from eval.probes.store import StatePart
from eval.probes.storing import PartWriter
from eval.probes.training_set import TrainingSet
from tests.eval.probes.stores import per_token

SENTENCES, LENGTH, CLASSES, WIDTH = 200, 5, 4, 16
DEFAULT, EARLY, PAPER = (
    Protocol(protocol=name).complete() for name in ("optimum", "early-stopping", "paper")
)


def states_of(seed: int, distance: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """States (L x T x C) and classes of sentences. Two layers of overlapping classes, in dimensions that are
    strongly correlated and of very different sizes; the classes of the second layer are harder.
    """
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(0)
    means = distance * fixed.normal(size=(2, CLASSES, WIDTH)) * np.array([1, 0.5])[:, None, None]
    mixing = fixed.normal(size=(2, WIDTH, WIDTH)) * 10.0 ** -np.linspace(0, 2, WIDTH)
    labels = rng.integers(CLASSES, size=SENTENCES)
    tokens = np.repeat(labels, LENGTH)
    return (means[:, tokens] + rng.normal(size=(2, len(tokens), WIDTH))) @ mixing, labels


@pytest.fixture
def side(tmp_path):
    """A set of one part with these states."""
    numbers = iter(range(100))

    def write(states, labels, name=None, dtype="float32") -> TrainingSet:
        path = tmp_path / f"{next(numbers)}"
        tokens = [np.full(LENGTH, 10) for _ in labels]
        writer = PartWriter(path, tokens, len(states), states.shape[2], dtype)
        writer.write(range(len(labels)), states)
        writer.close()
        part = StatePart(path, [f"L{i}" for i in range(len(states))], [50], 2)
        return TrainingSet([part], per_token([part], np.stack([labels, labels % 2], axis=1)), "all")

    return write


def scores(sentences: TrainingSet, test: TrainingSet, protocol=DEFAULT) -> torch.Tensor:
    """Accuracy on other sentences, L x S x Q."""
    return accuracy(train(sentences, [CLASSES, 2], protocol, "train").classifiers, test, np.arange(len(test)))


# --- against independent references


def by_scikit_learn(
    states: np.ndarray, gold: np.ndarray, strength: float, test: np.ndarray, class_weight=None
) -> np.ndarray:
    """Its class probabilities of other states, from a tight optimum of standardized states.

    Of two classes scikit-learn has one column of weights and so half the penalty of softmax regression.
    """
    strength = 2 * strength if len(set(gold)) == 2 else strength
    regression = LogisticRegression(C=strength, tol=1e-8, max_iter=10000, class_weight=class_weight)
    reference = make_pipeline(StandardScaler(), regression)
    return reference.fit(states, gold).predict_proba(test)


def test_the_optimum_is_that_of_scikit_learn(side):
    (states, labels), (other, _) = states_of(1), states_of(2)
    trained = train(side(states, labels), [CLASSES, 2], DEFAULT, "train")
    assert trained.converged.all() and (trained.gradient_norm <= DEFAULT.gradient_norm).all()
    answers = trained.classifiers(torch.tensor(other, dtype=torch.float32))
    for layer, question in np.ndindex(2, 2):
        gold = np.repeat(labels % (2 if question else CLASSES), LENGTH)
        expected = by_scikit_learn(
            states[layer], gold, trained.regularization[layer, 0, question].item(), other[layer]
        )
        assert expected.max(axis=1).mean() < 0.99
        ours = answers[question][layer, :, 0].softmax(dim=1).detach().numpy()
        assert np.abs(ours - expected).max() < 0.01
        assert (ours.argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.997


def test_balanced_classes_are_those_of_scikit_learn(side):
    """The first class has four times as many sentences as the others."""
    (states, labels), (other, _) = states_of(1), states_of(2)
    kept = (labels == 0) | (np.arange(SENTENCES) % 4 == 0)
    states, labels = states[:, np.repeat(kept, LENGTH)], labels[kept]
    balanced, plain = (
        train(side(states, labels), [CLASSES, 2], DEFAULT, "train", balance) for balance in (True, False)
    )
    ours, unbalanced = (
        trained.classifiers(torch.tensor(other, dtype=torch.float32))[0][0, :, 0].softmax(1).detach().numpy()
        for trained in (balanced, plain)
    )
    expected = by_scikit_learn(
        states[0],
        np.repeat(labels, LENGTH),
        balanced.regularization[0, 0, 0].item(),
        other[0],
        class_weight="balanced",
    )
    assert np.abs(ours - expected).max() < 0.01
    assert np.abs(unbalanced - expected).max() > 0.05


def test_held_out_sentences_choose_the_regularization(side):
    """Of every classifier by itself, as by scikit-learn for every value of the grid."""
    states, labels = states_of(1)
    sentences = side(states, labels)
    trained = train(sentences, [CLASSES, 2], DEFAULT, "train")
    training, held_out = (
        np.isin(np.repeat(np.arange(SENTENCES), LENGTH), part) for part in sentences.split()
    )
    for layer, question in np.ndindex(2, 2):
        gold = np.repeat(labels % (2 if question else CLASSES), LENGTH)
        accuracies = {
            strength: (
                by_scikit_learn(
                    states[layer, training], gold[training], strength, states[layer, held_out]
                ).argmax(axis=1)
                == gold[held_out]
            ).mean()
            for strength in DEFAULT.grid
        }
        chosen = trained.regularization[layer, 0, question].item()
        assert accuracies[chosen] >= max(accuracies.values()) - 0.015
        assert trained.held_out_accuracy[layer, 0, question].item() == pytest.approx(
            accuracies[chosen], abs=0.015
        )


def test_gradient_and_loss_are_those_of_autograd(side):
    states, labels = states_of(1)
    sentences, questions = side(states, labels), Questions([CLASSES, 2])
    whitening = Whitening(sentences, np.arange(SENTENCES))
    generator = torch.Generator().manual_seed(1)
    weights = torch.randn(2, WIDTH + 1, 6, generator=generator, dtype=torch.float64).requires_grad_()
    examples = np.arange(0, SENTENCES, 3)
    penalty = torch.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=torch.float64)
    objective = Objective(sentences, questions, whitening, examples)
    evaluation = objective(weights.detach(), penalty)
    tokens = torch.tensor(np.isin(np.repeat(np.arange(SENTENCES), LENGTH), examples))
    standardized = whitening.of_standardized @ weights[:, :-1]
    standardized.retain_grad()
    bias = weights[:, -1:]
    logits = ((torch.tensor(states) - whitening.mean) / whitening.deviation @ standardized + bias)[:, tokens]
    gold = torch.tensor(np.repeat(labels, LENGTH))[tokens]
    for layer in range(2):
        for question, part in enumerate(logits[layer].split([CLASSES, 2], dim=1)):
            expected = torch.nn.functional.cross_entropy(part, gold % 2 if question else gold)
            columns = slice(CLASSES, None) if question else slice(CLASSES)
            squares = standardized[layer, :, columns].square().sum()
            expected = expected + penalty[layer, question] / 2 * squares
            assert evaluation.losses[layer, question].item() == pytest.approx(expected.item(), abs=1e-5)
            expected.backward(retain_graph=True)
            derivatives = standardized.grad[layer, :, columns], weights.grad[layer, -1:, columns]
            largest = torch.cat(derivatives).abs().max()
            assert evaluation.gradient_norm[layer, question].item() == pytest.approx(largest.item(), abs=1e-5)
    assert torch.allclose(evaluation.gradient, weights.grad, atol=1e-5)
    assert torch.allclose(objective.losses(weights.detach()), objective(weights.detach(), 0 * penalty).losses)


def test_whitened_states_have_unit_covariance(side):
    states, labels = states_of(1)
    states[:, :, 3] = 7  # a constant dimension
    whitening = Whitening(side(states, labels), np.arange(SENTENCES))
    centred = (torch.tensor(states, dtype=torch.float32) - whitening.mean).double()
    white = (centred @ whitening.of_centred)[0].numpy()
    kept = np.arange(WIDTH) != 3
    assert np.abs(white[:, 3]).max() < 1e-3
    standardized = (states[0] - states[0].mean(0))[:, kept] / states[0].std(0)[kept]
    values, vectors = np.linalg.eigh(np.cov(standardized.T, bias=True))
    ridge = 0.01 + WIDTH / (SENTENCES * LENGTH)
    expected = vectors * values / (values + ridge) @ vectors.T  # ridge regularized, up to a rotation
    assert np.linalg.eigvalsh(np.cov(white[:, kept].T, bias=True)) == pytest.approx(
        np.linalg.eigvalsh(expected), abs=1e-3
    )


def test_many_problems_are_minimized_at_once_as_by_scipy():
    """Convex problems of very different curvature, the loss of each a sum of log(1 + exp)."""
    generator = torch.Generator().manual_seed(3)
    points = torch.randn(3, 2, 40, 5, generator=generator, dtype=torch.float64)
    points *= torch.tensor([0.01, 1.0, 30.0], dtype=torch.float64)[:, None, None, None]
    signs = torch.randn(3, 2, 40, generator=generator, dtype=torch.float64).sign()

    def losses(x):
        margins = signs * torch.einsum("abnc,abc->abn", points, x)
        return torch.nn.functional.softplus(-margins).mean(-1) + 1e-3 * x.square().sum(-1)

    inner, spread = (lambda x, y: (x * y).sum(-1)), (lambda value: value[..., None])
    start = torch.zeros(3, 2, 5, dtype=torch.float64)
    solver = LBFGS(start, inner, spread, torch.ones(3, 2, dtype=torch.float64))
    for _ in range(150):
        at = solver.candidate.clone().requires_grad_()
        ours = losses(at)
        ours.sum().backward()
        solver.update(ours.detach(), at.grad)

    def loss_of(x, problem):
        full = start.clone()
        full[problem] = torch.tensor(x)
        return losses(full)[problem].item()

    for problem in np.ndindex(3, 2):
        expected = minimize(loss_of, np.zeros(5), args=(problem,), method="BFGS", options={"gtol": 1e-8})
        assert solver.losses[problem].item() == pytest.approx(expected.fun, abs=1e-7)


# --- what may not matter, and does with three epochs on states as they are


@pytest.mark.parametrize("change", ["scale", "shift", "dimension"])
def test_scale_shift_and_units_of_dimensions_change_nothing(side, change):
    factor, constant = np.ones(WIDTH), np.zeros(WIDTH)
    if change == "scale":
        factor = factor * 10
    elif change == "shift":
        constant = constant + 20
    else:
        factor[::3], factor[1::3] = 1000, 1e-3
    train_set, test_set = states_of(1), states_of(2)
    expected = scores(side(*train_set), side(*test_set))
    changed = [side(states * factor + constant, labels) for states, labels in (train_set, test_set)]
    assert (scores(*changed) - expected).abs().max() <= 0.002


def test_three_epochs_measure_the_norm_and_fail_where_the_default_reads_everything(side):
    """States that tell the languages apart nearly perfectly, and the same ones with ten times the norm."""
    train_set, test_set = states_of(1, distance=8.0), states_of(2, distance=8.0)
    small, large = (
        [side(norm * states, labels) for states, labels in (train_set, test_set)] for norm in (0.1, 1.0)
    )
    paper, paper_large = (scores(*sets, PAPER)[0, :, 0] for sets in (small, large))
    assert paper.mean() < 0.6 and (paper - paper_large).abs().max() > 0.1
    assert scores(*small)[0, 0, 0] > 0.99
    assert (scores(*small) - scores(*large)).abs().max() <= 0.002


def test_three_epochs_are_said_not_to_have_converged(side):
    sentences = side(*states_of(1))
    assert not train(sentences, [CLASSES, 2], PAPER, "train").converged.any()
    assert train(sentences, [CLASSES, 2], DEFAULT, "train").converged.all()


# --- stopping


def test_each_classifier_stops_by_itself():
    def stopped(patience: int, course) -> tuple[EarlyStopping, list]:
        stopping = EarlyStopping((1, 2), patience)
        better = [
            stopping.update(torch.tensor([losses]).double(), number)[0].tolist()
            for number, losses in enumerate(course, 1)
        ]
        return stopping, better

    course = [(1.0, 1.0), (0.9, 0.5), (0.9, 0.6), (0.8995, 0.7), (0.1, 0.1), (0.1, 0.1)]
    stopping, better = stopped(2, course)
    assert stopping.done.all() and better[4:] == [[False, False]] * 2  # a loss that falls later is not seen
    assert stopping.passes.tolist() == [[2, 2]]
    stopping, better = stopped(3, [(1.0, 1.0), (0.9, 0.5), (0.8, 0.6), (0.8, 0.4)])
    assert better == [[True, True], [True, True], [True, False], [False, True]]
    assert stopping.passes.tolist() == [[3, 4]] and not stopping.done.any()


def test_training_stops_where_the_held_out_loss_is_lowest(side):
    """As many dimensions as sentences: without stopping, 100% in training, and nothing learned."""
    rng = np.random.default_rng(4)
    labels = rng.integers(CLASSES, size=30)
    states = rng.normal(size=(1, 150, 90)) + np.eye(90)[np.repeat(labels, LENGTH)]
    sentences = side(states, labels)
    training, held_out = sentences.split()
    (early, stopping), (patient, going_on) = (
        stop_early(sentences, Questions([CLASSES, 2]), training, held_out, 60, patience, "train")
        for patience in (4, 60)
    )
    assert stopping.done.all() and not going_on.done.any()
    assert 1 < stopping.passes[0, 0] < 15
    assert torch.equal(stopping.passes, going_on.passes)
    assert all(torch.equal(*both) for both in zip(early, patient, strict=True))
    assert accuracy(LinearClassifiers.of(*early, [CLASSES, 2]), sentences, training)[0, 0, 0] < 1


@pytest.mark.parametrize("protocol", [DEFAULT, EARLY], ids=lambda protocol: protocol.name)
def test_classifiers_solved_together_are_those_solved_alone(side, protocol):
    states, labels = states_of(1)
    together = train(side(states, labels), [CLASSES, 2], protocol, "train")
    assert together.epochs.unique().numel() > 1  # they stop at different times
    for layer in range(2):
        alone = train(side(states[layer : layer + 1], labels), [CLASSES, 2], protocol, "train")
        assert torch.equal(alone.epochs[0], together.epochs[layer])
        assert torch.allclose(alone.classifiers.weight[0], together.classifiers.weight[layer], atol=1e-4)


@pytest.mark.parametrize("protocol", [replace(DEFAULT, epochs=3), replace(EARLY, epochs=3)])
def test_too_few_passes_are_not_convergence(side, protocol):
    ours = train(side(*states_of(1)), [CLASSES, 2], protocol, "train")
    assert not ours.converged.any()
    assert ours.epochs.max() <= 3


def test_held_out_are_whole_sentences_of_the_same_lines_of_all_directions(side):
    states, labels = states_of(1)
    sentences = side(states, labels)
    both = TrainingSet(sentences.parts * 2, sentences.labels * 2, "all")
    training, held_out = both.split()
    assert sorted([*training, *held_out]) == list(range(2 * SENTENCES))
    assert len(held_out) == 2 * SENTENCES // 10
    assert set(both.sentences[training]).isdisjoint(both.sentences[held_out])
    with pytest.raises(InputError, match="found 5 sentences, too few to hold out one in 10; extract more"):
        side(states[:, : 5 * LENGTH], labels[:5]).split()
