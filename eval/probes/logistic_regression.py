"""Multinomial logistic regression of tokens on standardized states, of all layers and questions at once.

The loss of a linear classifier is convex: it has one minimum, whatever the start, and needs no learning rate.
Every evaluation of the loss and its gradient streams the states once. Within a layer, dimensions of states
are strongly correlated, so a step along the gradient barely moves the weak ones. The solver therefore works
on the weights of whitened states (zero mean, unit covariance), where the first step is Newton's.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from command_line.progress import progress
from eval.probes.lbfgs import LBFGS
from eval.probes.training_set import TrainingSet

TOLERANCE = 1e-3  # nats: a held-out loss that falls by less does not improve
RIDGE = 1e-2  # the least that is added to the correlations of dimensions, whose diagonal is 1
TOKENS_PER_DIMENSION = 50  # that correlations are estimated from
KEPT_BYTES = 2**30  # of states in memory


class Whitening:
    """Mean and deviation of the states of every layer, and the maps to whitened states.

    Attributes:
        mean, deviation: L x 1 x C; the deviation of a constant dimension is 1.
        of_standardized: L x C x C; maps weights for whitened states to weights for standardized states.
        of_centred: the same, to weights for centred states.
    """

    def __init__(self, sentences: TrainingSet, examples):
        """Of some sentences. Dimensions are standardized first, so that the ridge does not depend on their
        units; constant ones stay as they are.
        """
        self.mean, self.deviation = moments(states for states, _ in sentences.blocks(examples))
        width = self.mean.size(2)
        tokens = int(sentences.token_counts()[examples].sum())
        sample = examples[:: max(1, tokens // (TOKENS_PER_DIMENSION * width))]
        products = 0
        for states, _ in sentences.blocks(sample):
            states = (states - self.mean) / self.deviation
            products = products + (states.transpose(1, 2) @ states).double()
        counted = int(sentences.token_counts()[sample].sum())
        # Few tokens do not determine the weak directions, and whitened by themselves, these would be noise.
        ridge = RIDGE + width / counted
        correlation = products / counted + ridge * torch.eye(width, dtype=torch.float64)
        triangle = torch.linalg.cholesky(correlation)  # L L' = correlation; states L'^-1 are white
        identity = torch.eye(width, dtype=torch.float64).expand_as(triangle)
        inverse = torch.linalg.solve_triangular(triangle, identity, upper=False)
        self.of_standardized = inverse.transpose(1, 2)
        self.of_centred = self.of_standardized / self.deviation.double().transpose(1, 2)

    def zero_weights(self, columns: int) -> Tensor:
        """L x C + 1 x columns."""
        layers, _, width = self.mean.shape
        return torch.zeros(layers, width + 1, columns, dtype=torch.float64)


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
        weights: of the tokens of every class, per question; 1 without any.
    """

    def __init__(self, classes: list[int], weights: Sequence[Tensor] | None = None):
        self.classes = classes
        self.weights = weights or [None] * len(classes)
        self.questions = torch.arange(len(classes)).repeat_interleave(torch.tensor(classes))

    def solver(self, start: Tensor) -> LBFGS:
        """L-BFGS of all classifiers, from weights for whitened states of L x C + 1 x K."""
        # At weights of zero, the Hessian of K classes of white states is 1 / K.
        scale = torch.tensor(self.classes, dtype=torch.float64).repeat(len(start), 1)
        return LBFGS(start, self.inner, self.spread, scale)

    def spread(self, values: Tensor) -> Tensor:
        """L x Q repeated for every column, L x 1 x K."""
        return values[:, None, self.questions]

    def inner(self, first: Tensor, second: Tensor) -> Tensor:
        """Inner products of the weights of every classifier: twice L x C + 1 x K to L x Q."""
        products = (first * second).sum(dim=1)
        return torch.stack([columns.sum(dim=1) for columns in products.split(self.classes, dim=1)], dim=1)

    def largest(self, values: Tensor) -> Tensor:
        """The largest absolute value of every classifier: L x C + 1 x K to L x Q."""
        columns = values.abs().amax(dim=1).split(self.classes, dim=1)
        return torch.stack([of_question.amax(dim=1) for of_question in columns], dim=1)

    def losses(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Of logits L x T x K and labels Q x T: cross-entropies, L x Q, and their derivative by the logits,
        sums over tokens, in nats.
        """
        sums, derivatives = [], []
        of_questions = zip(logits.split(self.classes, dim=2), labels, self.weights, strict=True)
        for columns, gold, weights in of_questions:
            logarithms = columns.log_softmax(dim=2)
            chosen = gold[None, :, None].expand(len(columns), -1, 1)
            of_gold = logarithms.gather(2, chosen)
            ones = torch.ones_like(chosen, dtype=logits.dtype)
            derivative = logarithms.exp_().scatter_add_(2, chosen, -ones)
            if weights is not None:
                of_tokens = weights[gold, None].to(logits.dtype)
                of_gold, derivative = of_gold * of_tokens, derivative * of_tokens
            sums.append(-of_gold.sum(dim=(1, 2), dtype=torch.float64))
            derivatives.append(derivative)
        return torch.stack(sums, dim=1), torch.cat(derivatives, dim=2)


@dataclass(frozen=True)
class Evaluation:
    """The loss of every classifier at some weights.

    Attributes:
        losses: L x Q, in nats per token, with the penalty.
        gradient: by the weights for whitened states, L x C + 1 x K.
        gradient_norm: L x Q, the largest absolute derivative by a weight for standardized states or a bias.
    """

    losses: Tensor
    gradient: Tensor
    gradient_norm: Tensor


class Objective:
    """Mean cross-entropy of every classifier over some sentences, plus `penalty` / 2 times the squared norm
    of its weights for standardized states, without the bias.

    With penalty 1 / (C N) of N tokens it is the multinomial `LogisticRegression(C=C)` of scikit-learn. States
    stay in memory if they fit into `KEPT_BYTES`, since reading them takes longer than multiplying them.

    Classes that weigh more have larger shares of the mean.
    """

    def __init__(
        self,
        sentences: TrainingSet,
        questions: Questions,
        whitening: Whitening,
        examples,
    ):
        self.sentences, self.questions, self.examples = sentences, questions, examples
        self.whitening, self.tokens = whitening, int(sentences.token_counts()[examples].sum())
        fits = 4 * self.tokens * whitening.mean.numel() <= KEPT_BYTES
        self.kept = list(self._centred()) if fits else None

    def __call__(self, weights: Tensor, penalty: Tensor) -> Evaluation:
        """Of weights for whitened states, L x C + 1 x K, the bias last, with a penalty of L x Q."""
        losses, by_weight, by_bias = 0, 0, 0
        for states, labels, logits in self._logits(weights):
            sums, derivative = self.questions.losses(logits, labels)
            losses = losses + sums
            by_weight = by_weight + states.transpose(1, 2) @ derivative
            by_bias = by_bias + derivative.sum(dim=1, keepdim=True)
        standardized = self.whitening.of_standardized @ weights[:, :-1]
        by_standardized = by_weight.double() / self.whitening.deviation.double().transpose(1, 2) / self.tokens
        by_standardized += self.questions.spread(penalty) * standardized
        by_bias = by_bias.double() / self.tokens
        return Evaluation(
            losses / self.tokens + penalty / 2 * self.questions.inner(standardized, standardized),
            torch.cat([self.whitening.of_standardized.transpose(1, 2) @ by_standardized, by_bias], dim=1),
            self.questions.largest(torch.cat([by_standardized, by_bias], dim=1)),
        )

    def losses(self, weights: Tensor) -> Tensor:
        """L x Q: the losses alone, without a penalty."""
        sums = sum(self.questions.losses(logits, labels)[0] for _, labels, logits in self._logits(weights))
        return sums / self.tokens

    def _logits(self, weights: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Blocks of centred states (L x T x C), labels (Q x T) and logits (L x T x K)."""
        centred = (self.whitening.of_centred @ weights[:, :-1]).float()
        bias = weights[:, -1:].float()
        for states, labels in self.kept or self._centred():
            yield states, labels, torch.baddbmm(bias, states, centred)

    def _centred(self) -> Iterator[tuple[Tensor, Tensor]]:
        for states, labels in self.sentences.blocks(self.examples):
            yield states - self.whitening.mean, labels


def of_states(weights: Tensor, whitening: Whitening) -> tuple[Tensor, Tensor]:
    """Weights (L x C x K) and bias (L x 1 x K) for states as they are that answer as `weights` do on whitened
    ones.
    """
    by_state = whitening.of_centred @ weights[:, :-1]
    return by_state, weights[:, -1:] - whitening.mean.double() @ by_state


@dataclass(frozen=True)
class Minimum:
    """Where the minimization of an objective ended, for every classifier.

    Attributes:
        weights: for whitened states, L x C + 1 x K.
        gradient_norm: L x Q, at these weights.
        passes: L x Q, evaluations of the objective until then.
    """

    weights: Tensor
    gradient_norm: Tensor
    passes: Tensor


def minimize(
    objective: Objective, penalty: Tensor, start: Tensor, gradient_norm: float, passes: int, task: str
) -> Minimum:
    """L-BFGS until the gradient norm of every classifier is at most `gradient_norm`, with a penalty of L x Q
    and at most so many passes, from weights for whitened states (L x C + 1 x K).
    """
    questions = objective.questions
    solver = questions.solver(start)
    weights, norms = start, torch.full_like(penalty, torch.inf)
    needed = torch.zeros_like(penalty, dtype=torch.long)
    work = itertools.takewhile(lambda _: not (norms <= gradient_norm).all(), range(1, passes + 1))
    for number in progress(work, None, task, "iteration"):
        candidate = solver.candidate
        evaluation = objective(candidate, penalty)
        solver.update(evaluation.losses, evaluation.gradient)
        moves = solver.accepted & (norms > gradient_norm)
        weights = torch.where(questions.spread(moves), candidate, weights)
        norms = torch.where(moves, evaluation.gradient_norm, norms)
        needed = torch.where(moves, number, needed)
    return Minimum(weights, norms, needed)


class EarlyStopping:
    """The pass with the lowest held-out loss, for every classifier by itself, until it was done.

    Args:
        patience: passes without a lower loss after which a classifier is done, whatever comes later.
    """

    def __init__(self, shape: tuple[int, ...], patience: int):
        self.patience = patience
        self.losses = torch.full(shape, torch.inf, dtype=torch.float64)
        self.passes = torch.zeros(shape, dtype=torch.long)
        self.waited = torch.zeros(shape, dtype=torch.long)

    @property
    def done(self) -> Tensor:
        return self.waited >= self.patience

    def update(self, losses: Tensor, number: int) -> Tensor:
        """Note the losses of a pass; returns of which classifiers they are lower than ever."""
        better = ~self.done & (losses < self.losses - TOLERANCE)
        self.losses = torch.where(better, losses, self.losses)
        self.passes = torch.where(better, number, self.passes)
        self.waited = torch.where(better, 0, self.waited + 1)
        return better


def stop_early(
    sentences: TrainingSet, questions: Questions, training, held_out, passes: int, patience: int, task: str
) -> tuple[tuple[Tensor, Tensor], EarlyStopping]:
    """L-BFGS without a penalty, each classifier until its held-out loss stops falling: weights and bias for
    states as they are, and when each was done.
    """
    whitening = Whitening(sentences, training)
    fitted, watched = (
        Objective(sentences, questions, whitening, examples) for examples in (training, held_out)
    )
    best = whitening.zero_weights(sum(questions.classes))
    solver = questions.solver(best)
    stopping = EarlyStopping((len(best), len(questions.classes)), patience)
    work = itertools.takewhile(lambda _: not stopping.done.all(), range(1, passes + 1))
    for number in progress(work, None, task, "iteration"):
        candidate = solver.candidate
        evaluation = fitted(candidate, torch.zeros_like(solver.scale))
        solver.update(evaluation.losses, evaluation.gradient)
        is_better = stopping.update(watched.losses(candidate), number)
        best = torch.where(questions.spread(is_better), candidate, best)
    return of_states(best, whitening), stopping
