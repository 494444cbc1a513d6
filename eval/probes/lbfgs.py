"""L-BFGS of many independent convex problems at once: each has its own steps, all share every evaluation."""

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

SUFFICIENT = 1e-4  # of the decrease that the slope promises (Armijo)
ROUNDING = 1e-6  # share of a loss below which a rise is rounding: losses are sums of 32-bit numbers


class LBFGS:
    """Minimizes the losses of P problems by two-loop recursion (Nocedal and Wright, 2006, algorithm 7.4).

    A step that does not lower the loss of a problem enough is halved for this problem only, while the others
    go on: every evaluation moves each problem one step or one halving. Usage:

        solver = LBFGS(start, inner, spread, scale)
        while …: solver.update(*losses_and_gradient(solver.candidate))

    Args:
        start: parameters of all problems.
        inner: the inner products of two such tensors, one per problem: P (of any shape).
        spread: P repeated so that it multiplies such a tensor.
        scale: length of the first step over that of the gradient.
        memory: pairs of steps and changes of the gradient that are remembered.

    Attributes:
        candidate: where the losses and their gradient are needed next.
        accepted: P, whether the last candidate was taken.
    """

    def __init__(
        self,
        start: Tensor,
        inner: Callable[[Tensor, Tensor], Tensor],
        spread: Callable[[Tensor], Tensor],
        scale: Tensor,
        memory: int = 10,
    ):
        self.inner, self.spread, self.scale = inner, spread, scale
        self.pairs: deque[tuple[Tensor, Tensor, Tensor]] = deque(maxlen=memory)
        self.at, self.candidate = start, start
        self.losses = torch.full_like(scale, torch.inf)
        self.gradient, self.direction = torch.zeros_like(start), torch.zeros_like(start)
        self.slope, self.length = torch.zeros_like(scale), torch.ones_like(scale)
        self.accepted = torch.ones_like(scale, dtype=torch.bool)

    def update(self, losses: Tensor, gradient: Tensor) -> None:
        """Go on from the losses (P) and the gradient at the candidate."""
        rise = losses - self.losses - SUFFICIENT * self.length * self.slope
        self.accepted = rise <= ROUNDING * losses
        taken = self.spread(self.accepted)
        if self.losses.isfinite().all():
            self._remember(taken * (self.candidate - self.at), taken * (gradient - self.gradient))
        self.at = torch.where(taken, self.candidate, self.at)
        self.gradient = torch.where(taken, gradient, self.gradient)
        self.losses = torch.where(self.accepted, losses, self.losses)
        self.direction = torch.where(taken, -self._newton(self.gradient), self.direction)
        self.slope = self.inner(self.gradient, self.direction)
        self.length = torch.where(self.accepted, 1.0, self.length / 2)
        self.candidate = self.at + self.spread(self.length) * self.direction

    def _remember(self, step: Tensor, change: Tensor) -> None:
        """A pair, for the problems that moved along a curved loss; the others get one without effect."""
        curvature, square = self.inner(step, change), self.inner(change, change)
        curved = curvature > torch.finfo(step.dtype).eps * square
        self.scale = torch.where(curved, curvature / square, self.scale)
        self.pairs.append((step, change, torch.where(curved, 1 / curvature, 0.0)))

    def _newton(self, gradient: Tensor) -> Tensor:
        """The inverse Hessian, as far as it is known, times the gradient."""
        rest, factors = gradient, []
        for step, change, weight in reversed(self.pairs):
            factors.append(weight * self.inner(step, rest))
            rest = rest - self.spread(factors[-1]) * change
        rest = self.spread(self.scale) * rest
        for (step, change, weight), factor in zip(self.pairs, reversed(factors), strict=True):
            rest = rest + self.spread(factor - weight * self.inner(change, rest)) * step
        return rest
