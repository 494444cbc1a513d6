"""The residual block axis: where layer normalization sits around a sublayer (thesis 8.1, Figure 8.1, E.2).

| placement  | output of a block with input x and sublayer F (self-attention, feed-forward, …) |
|------------|----------------------------------------------------------------------------------|
| `post`     | LN(x + F(x))                                                                     |
| `pre`      | x + F(LN(x))                                                                     |
| `swap-pre` | x + LN(F(x))                                                                     |

`pre` and `swap-pre` leave the sum of the layers unnormalized, so encoder and decoder end with a norm of
their own. Dropout is the last thing that happens to a block's contribution before it is added; the paper
does not say where it is in `swap-pre`.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

PLACEMENTS = ("post", "pre", "swap-pre")


class LayerNorm(nn.LayerNorm):
    """LayerNorm of equation 8.1; without affine parameters LayerNorm-simple (Xu et al. 2019; thesis E.3).

    On a CPU, states that are bfloat16 stay bfloat16: the kernel computes in float32 inside, while autocast
    would convert the states to float32 and every product after it would convert them back.
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type == "cpu" and x.dtype == torch.bfloat16:
            with torch.autocast("cpu", enabled=False):
                return super().forward(x)
        return super().forward(x)


def layer_norm(width: int, affine: bool = True) -> LayerNorm:
    return LayerNorm(width, elementwise_affine=affine)


def residual_block(
    x: Tensor,
    sublayer: Callable[[Tensor], Tensor],
    norm: nn.Module,
    dropout: nn.Module,
    placement: str,
    residual: bool = True,
) -> Tensor:
    """Apply one sublayer with its residual connection and norm.

    Args:
        x: T x B x C.
        residual: False drops the connection around the sublayer (thesis 8.2.1 (3), "w/o Res."); the rest
            stays.
    """
    contribution = sublayer(norm(x) if placement == "pre" else x)
    if placement == "swap-pre":
        contribution = norm(contribution)
    contribution = dropout(contribution)
    total = x + contribution if residual else contribution
    return norm(total) if placement == "post" else total
