"""The residual block axis: where layer normalization sits around a sublayer (thesis 8.1, Figure 8.1, E.2).

| placement  | output of a block with input x and sublayer F (self-attention, feed-forward, …) |
|------------|----------------------------------------------------------------------------------|
| `post`     | LN(x + F(x))                                                                     |
| `pre`      | x + F(LN(x))                                                                     |
| `swap-pre` | x + LN(F(x))                                                                     |
| `sandwich` | x + LN(F(LN(x))), with two norms (Ding et al. 2021, CogView)                     |

All but `post` leave the sum of the layers unnormalized, so encoder and decoder end with a norm of their own.
Dropout is the last thing that happens to a block's contribution before it is added; the paper does not say
where it is in `swap-pre`.

A new placement is one entry of `PLACEMENTS`: models, tables, records and the export to ONNX read all they
need there. Other formats refuse a placement that they do not know.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


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


def block_norms(width: int, affine: bool, count: int) -> nn.Module:
    """The norms of a block: one `LayerNorm`, which has fairseq's name in checkpoints, or a list."""
    if count == 1:
        return layer_norm(width, affine)
    return nn.ModuleList(layer_norm(width, affine) for _ in range(count))


Sublayer = Callable[[Tensor], Tensor]  # T x B x C -> T x B x C


def _post(x: Tensor, sublayer: Sublayer, norm: nn.Module, dropout: nn.Module, residual: bool) -> Tensor:
    contribution = dropout(sublayer(x))
    return norm(x + contribution if residual else contribution)


def _pre(x: Tensor, sublayer: Sublayer, norm: nn.Module, dropout: nn.Module, residual: bool) -> Tensor:
    contribution = dropout(sublayer(norm(x)))
    return x + contribution if residual else contribution


def _swap_pre(x: Tensor, sublayer: Sublayer, norm: nn.Module, dropout: nn.Module, residual: bool) -> Tensor:
    contribution = dropout(norm(sublayer(x)))
    return x + contribution if residual else contribution


def _sandwich(
    x: Tensor, sublayer: Sublayer, norms: nn.ModuleList, dropout: nn.Module, residual: bool
) -> Tensor:
    first, last = norms
    contribution = dropout(last(sublayer(first(x))))
    return x + contribution if residual else contribution


@dataclass(frozen=True)
class NormPlacement:
    """Where the norms of a residual block are.

    Attributes:
        label: in tables and names of systems.
        formula: in `--help`.
        final_norm: is the sum of the layers unnormalized, so that encoder and decoder end with a norm?
        apply: function of (x, sublayer, norm, dropout, residual) -> output of the block, all T x B x C.
            Without `residual` the connection around the sublayer is dropped (thesis 8.2.1 (3), "w/o Res.");
            the rest stays.
        norms: of a block; of several, `norm` is the list.
    """

    label: str
    formula: str
    final_norm: bool
    apply: Callable[[Tensor, Sublayer, nn.Module, nn.Module, bool], Tensor]
    norms: int = 1


PLACEMENTS = {  # in the order of Table 8.2, then others
    "pre": NormPlacement("PreNorm", "x+F(LN(x))", final_norm=True, apply=_pre),
    "post": NormPlacement("PostNorm", "LN(x+F(x))", final_norm=False, apply=_post),
    "swap-pre": NormPlacement("Swap-PreNorm", "x+LN(F(x))", final_norm=True, apply=_swap_pre),
    "sandwich": NormPlacement("Sandwich-LN", "x+LN(F(LN(x)))", final_norm=True, apply=_sandwich, norms=2),
}


def placement_of(options) -> str:
    """The placement that a model's options say: `norm_placement`, or else fairseq's
    `encoder_normalize_before`.
    """
    chosen = getattr(options, "norm_placement", None)
    return str(chosen or ("pre" if getattr(options, "encoder_normalize_before", False) else "post"))
