"""What half precision is too coarse for: similarities, norms and logarithms."""

import torch
from torch import Tensor


def at_least_float32(x: Tensor) -> Tensor:
    """As float32, float64 as it is."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
