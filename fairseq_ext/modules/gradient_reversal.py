"""Gradient reversal (Ganin et al. 2016): what is below learns the opposite of what is above."""

import torch
from torch import Tensor

STEEPNESS = 10.0  # gamma of Ganin et al. 2016


class _Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, states: Tensor, strength: Tensor) -> Tensor:
        ctx.save_for_backward(strength)
        return states.view_as(states)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        (strength,) = ctx.saved_tensors
        return -strength.type_as(gradient) * gradient, None


def reverse_gradient(states: Tensor, strength: Tensor) -> Tensor:
    """The states themselves, whose gradient is multiplied by -strength (a scalar) on its way down."""
    return _Reversed.apply(states, strength)


def rising_strength(updates: Tensor, over: int) -> Tensor:
    """lambda_p of Ganin et al. 2016, 2 / (1 + exp(-10 p)) - 1, where p goes from 0 to 1 in so many updates
    and stays there.

    Args:
        updates: number of updates, a scalar.
        over: 0: always 1.
    """
    if over == 0:
        return torch.ones_like(updates, dtype=torch.float32)
    progress = (updates / over).clamp(max=1)
    return 2 / (1 + torch.exp(-STEEPNESS * progress)) - 1
