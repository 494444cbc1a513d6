"""Exponential moving averages of a module's weights: the momentum encoder of MoCo (He et al. 2020)."""

import torch
from torch import Tensor, nn


class MovingAverage:
    """For every parameter theta_q of a module that is trained,

        theta_k = m theta_k + (1 - m) theta_q

    after every update; theta_k begins as theta_q. Parameters that are not trained are their own average. Not
    a module: averages are float32 also where a model is in half precision, which would round away what an
    update adds.

    Args:
        momentum: m, from 0 to below 1.

    Attributes:
        weights: theta_k by the name of the module and of the parameter.
    """

    def __init__(self, momentum: float):
        self.momentum = momentum
        self.weights: dict[str, Tensor] = {}

    @torch.no_grad()
    def of(self, name: str, module: nn.Module) -> dict[str, Tensor]:
        """The averages, for `torch.func.functional_call`: of the parameters' type, on their device."""
        return {
            key: self._average(f"{name}.{key}", parameter).to(parameter.dtype)
            for key, parameter in _trained(module)
        }

    @torch.no_grad()
    def update(self, name: str, module: nn.Module) -> None:
        """The module has learned."""
        for key, parameter in _trained(module):
            self._average(f"{name}.{key}", parameter).lerp_(parameter.float(), 1 - self.momentum)

    def _average(self, key: str, parameter: Tensor) -> Tensor:
        average = self.weights.get(key)
        if average is None:
            average = parameter.detach().float().clone()
        self.weights[key] = average.to(parameter.device)
        return self.weights[key]


def _trained(module: nn.Module):
    return ((name, parameter) for name, parameter in module.named_parameters() if parameter.requires_grad)
