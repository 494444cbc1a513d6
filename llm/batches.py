"""Rows of different lengths as one tensor."""

from collections.abc import Sequence

import torch
from torch import Tensor


def padded(rows: Sequence[Sequence[int]], fill: int, left: bool = False) -> Tensor:
    """B x T, T the longest row; padded at the ends of the rows, or at their beginnings."""
    width = max(map(len, rows))
    missing = [[fill] * (width - len(row)) for row in rows]
    pairs = zip(missing, rows, strict=True) if left else zip(rows, missing, strict=True)
    return torch.tensor([[*first, *second] for first, second in pairs])
