"""Multinomial logistic regression of tokens on standardized states, of all layers and questions at once.

The loss of a linear classifier is convex: one solution, whatever it starts from, and no learning rate. States
are read in a stream, once per evaluation of the loss and its gradient. Within a layer, the dimensions of
states are so correlated that a step along the gradient of the loss barely moves the weak ones; the weights
are therefore those of whitened states (zero mean, unit covariance), where the first step is Newton's.
"""

import itertools
from collections.abc import Iterable

import torch
from torch import Tensor

from command_line.progress import progress
from eval.probes.lbfgs import LBFGS
from eval.probes.training_set import TrainingSet

TOLERANCE = 1e-3  # nats: a held-out loss that falls by less does not improve
RIDGE = 1e-2  # the least that is added to the correlations of dimensions, whose diagonal is 1
TOKENS_PER_DIMENSION = 50  # that correlations are estimated from


class Whitening:
    """Mean, and the map to whitened states, of every layer.

    Attributes:
        mean: L x 1 x C.
        map: L x C x C; of weights for whitened states to weights for centred ones, or of centred states to
            whitened ones from the right.
    """

    def __init__(self, one: TrainingSet, examples):
        """Of some sentences. Dimensions are standardized first, so that the ridge does not depend on their
        units; constant ones stay as they are.
        """
        self.mean, deviation = moments(states for states, _ in one.blocks(examples))
        width = self.mean.size(2)
        tokens = int(one.token_counts()[examples].sum())
        sample = examples[:: max(1, tokens // (TOKENS_PER_DIMENSION * width))]
        products = 0
        for states, _ in one.blocks(sample):
            states = (states - self.mean) / deviation
            products = products + (states.transpose(1, 2) @ states).double()
        counted = int(one.token_counts()[sample].sum())
        # Few tokens do not determine the weak directions, and whitened by themselves, these would be noise.
        ridge = RIDGE + width / counted
        correlation = products / counted + ridge * torch.eye(width, dtype=torch.float64)
        triangle = torch.linalg.cholesky(correlation)  # L L' = correlation; states L'^-1 are white
        identity = torch.eye(width, dtype=torch.float64).expand_as(triangle)
        inverse = torch.linalg.solve_triangular(triangle, identity, upper=False)
        self.map = inverse.transpose(1, 2) / deviation.double().transpose(1, 2)


def moments(blocks: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of every dimension, L x 1 x C; the deviation of a constant one is 1.

    Sums are taken around the first state: far from zero, the difference of large squares would be noise.
    """
    origin, tokens = None, 0
    for states in blocks:
        if origin is None and states.size(1):
            origin = states[:, :1]
            sums = squares = torch.zeros_like(origin, dtype=torch.float64)
        if states.size(1):
            around = states - origin
            sums = sums + around.sum(dim=1, keepdim=True, dtype=torch.float64)
            squares = squares + around.square().sum(dim=1, keepdim=True, dtype=torch.float64)
            tokens += states.size(1)
    mean = sums / tokens
    deviation = (squares / tokens - mean.square()).clamp(min=0).sqrt()
    return (origin + mean).float(), deviation.masked_fill(deviation == 0, 1.0).float()


class Questions:
    """Which columns of the K of a layer's weights belong to which of its Q classifiers.

    Args:
        classes: number of classes of each question.
    """

    def __init__(self, classes: list[int]):
        self.classes = classes
        self.questions = torch.arange(len(classes)).repeat_interleave(torch.tensor(classes))

    def spread(self, values: Tensor) -> Tensor:
        """L x Q repeated for every column, L x 1 x K."""
        return values[:, None, self.questions]

    def inner(self, first: Tensor, second: Tensor) -> Tensor:
        """Inner products of the weights of every classifier: twice L x C + 1 x K to L x Q."""
        products = (first * second).sum(dim=1)
        return torch.stack([columns.sum(dim=1) for columns in products.split(self.classes, dim=1)], dim=1)

    def losses(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropies, L x Q, and their derivative by the logits, L x T x K: sums over tokens, in nats.

        Args:
            logits: L x T x K.
            labels: Q x T.
        """
        sums, derivatives = [], []
        for columns, gold in zip(logits.split(self.classes, dim=2), labels, strict=True):
            logarithms = columns.log_softmax(dim=2)
            chosen = gold[None, :, None].expand(len(columns), -1, 1)
            sums.append(-logarithms.gather(2, chosen).sum(dim=(1, 2), dtype=torch.float64))
            one = torch.ones_like(chosen, dtype=logits.dtype)
            derivatives.append(logarithms.exp_().scatter_add_(2, chosen, -one))
        return torch.stack(sums, dim=1), torch.cat(derivatives, dim=2)


class Objective:
    """Mean cross-entropy of every classifier of whitened states, over some sentences.

    Args:
        one: sentences of a side.
        whitening: of their states.
        examples: numbers of the sentences that count.
    """

    def __init__(self, one: TrainingSet, questions: Questions, whitening: Whitening, examples):
        self.one, self.questions, self.whitening, self.examples = one, questions, whitening, examples
        self.tokens = int(one.token_counts()[examples].sum())

    def __call__(self, weights: Tensor, with_gradient: bool = True) -> tuple[Tensor, Tensor | None]:
        """Losses, L x Q, and their gradient, as `weights`.

        Args:
            weights: L x C + 1 x K, the bias last.
        """
        centred = (self.whitening.map @ weights[:, :-1]).float()
        bias = weights[:, -1:].float()
        losses, by_weight, by_bias = 0, 0, 0
        for states, labels in self.one.blocks(self.examples):
            states -= self.whitening.mean
            found, derivative = self.questions.losses(torch.baddbmm(bias, states, centred), labels)
            losses = losses + found
            if with_gradient:
                by_weight = by_weight + states.transpose(1, 2) @ derivative
                by_bias = by_bias + derivative.sum(dim=1, keepdim=True)
        if not with_gradient:
            return losses / self.tokens, None
        whitened = self.whitening.map.transpose(1, 2) @ by_weight.double()
        return losses / self.tokens, torch.cat([whitened, by_bias.double()], dim=1) / self.tokens


def of_states(weights: Tensor, whitening: Whitening) -> tuple[Tensor, Tensor]:
    """Weights (L x C x K) and bias (L x 1 x K) for states as they are that answer as `weights` do on whitened
    ones.
    """
    by_state = whitening.map @ weights[:, :-1]
    return by_state, weights[:, -1:] - whitening.mean.double() @ by_state


class Best:
    """Of every classifier by itself, the weights with the lowest held-out loss until it was done.

    Args:
        patience: passes without a lower loss after which a classifier is done, whatever comes later.
    """

    def __init__(self, weights: Tensor, questions: Questions, patience: int):
        self.weights, self.questions, self.patience = weights, questions, patience
        shape = len(weights), len(questions.classes)
        self.losses = torch.full(shape, torch.inf, dtype=torch.float64)
        self.passes = torch.zeros(shape, dtype=torch.long)  # that the weights come from
        self.waited = torch.zeros(shape, dtype=torch.long)

    @property
    def done(self) -> Tensor:
        return self.waited >= self.patience

    def update(self, weights: Tensor, losses: Tensor, number: int) -> None:
        """Take the weights of the classifiers whose loss (L x Q) in this pass is lower than ever."""
        better = ~self.done & (losses < self.losses - TOLERANCE)
        self.weights = torch.where(self.questions.spread(better), weights, self.weights)
        self.losses = torch.where(better, losses, self.losses)
        self.passes = torch.where(better, number, self.passes)
        self.waited = torch.where(better, 0, self.waited + 1)


def solve(
    one: TrainingSet, classes: list[int], training, held_out, passes: int, patience: int, task: str
) -> tuple[tuple[Tensor, Tensor], Best]:
    """L-BFGS on the sentences to train on, each classifier until its held-out loss stops falling.

    Args:
        classes: number of classes per question.
        training, held_out: numbers of sentences.
        passes: over the sentences to train on, at most.

    Returns:
        Weights and bias for states as they are, and when each classifier was done.
    """
    questions, whitening = Questions(classes), Whitening(one, training)
    fitted, watched = (Objective(one, questions, whitening, examples) for examples in (training, held_out))
    layers, _, width = whitening.map.shape
    start = torch.zeros(layers, width + 1, sum(classes), dtype=torch.float64)
    # At weights of zero, the Hessian of K classes of white states is 1 / K.
    scale = torch.tensor(classes, dtype=torch.float64).repeat(layers, 1)
    solver, best = LBFGS(start, questions.inner, questions.spread, scale), Best(start, questions, patience)
    work = itertools.takewhile(lambda _: not best.done.all(), range(1, passes + 1))
    for number in progress(work, None, task, "epoch"):
        candidate = solver.candidate
        solver.update(*fitted(candidate))
        best.update(candidate, watched(candidate, with_gradient=False)[0], number)
    return of_states(best.weights, whitening), best
