"""Linear layers and norms as tensors."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Affine:
    """y = W x + b of a linear layer, or gain and bias of a norm."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, module: nn.Module) -> "Affine":
        """The weights of a layer; a norm without any has gain 1 and bias 0."""
        if module.weight is None:
            return cls(torch.ones(module.normalized_shape), torch.zeros(module.normalized_shape))
        weight = module.weight.detach().float()
        bias = weight.new_zeros(len(weight)) if module.bias is None else module.bias.detach().float()
        return cls(weight, bias)

    @classmethod
    def of_block(cls, norm: nn.Module) -> "Affine | list[Affine]":
        """The norm of a residual block, or its norms."""
        return [cls.of(each) for each in norm] if isinstance(norm, nn.ModuleList) else cls.of(norm)

    @classmethod
    def if_any(cls, module: nn.Module | None) -> "Affine | None":
        """None of a layer that is not there."""
        return None if module is None else cls.of(module)
