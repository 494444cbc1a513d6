"""Dropout that does not wait for the random number generator on a CPU."""

import torch
from fairseq.modules import FairseqDropout, MultiheadAttention
from torch import Tensor, nn

LEVELS = 1 << 16


def cheap_dropout(x: Tensor, p: float) -> Tensor:
    """Inverted dropout with 16 random bits per element, four elements to each draw of torch's CPU generator.

    torch draws one number per element there, which costs a tenth of a bfloat16 training step. The
    probability is rounded to a multiple of 2^-16.
    """
    level = round(p * LEVELS)
    if level == LEVELS:  # nothing is kept, and there is nothing to scale up
        return x * 0
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
    keep = bits >= level - LEVELS // 2
    return x * keep.to(x.dtype).mul_(1 / (1 - p))


class Dropout(FairseqDropout):
    """fairseq's dropout module; on a CPU with `cheap_dropout`."""

    def __init__(self, p: float, module_name: str | None = None):
        if not 0 <= p <= 1:
            raise ValueError(f"dropout is {p}, expected a share from 0 to 1")
        super().__init__(p, module_name)

    def forward(self, x: Tensor, inplace: bool = False) -> Tensor:
        if x.device.type != "cpu" or not (self.training or self.apply_during_inference):
            return super().forward(x, inplace)
        if self.p == 0:
            return x
        return cheap_dropout(x, self.p)


class EmbeddingDropout(Dropout):
    """Dropout of the embeddings, where states take the type of the computation before the layers.

    Under bfloat16 autocast on a CPU the states between layers are bfloat16 from here on, so that nothing
    has to convert them to and fro; see `residual_block.LayerNorm`.
    """

    def forward(self, x: Tensor, inplace: bool = False) -> Tensor:
        x = super().forward(x, inplace)
        if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            return x.to(torch.get_autocast_dtype("cpu"))
        return x


def set_dropout(model: nn.Module, p: float) -> None:
    """Give a Transformer, ours or fairseq's, another `--dropout`; attention and activations keep theirs."""
    for module in model.modules():
        if hasattr(module, "dropout_module") and not isinstance(module, MultiheadAttention):
            module.dropout_module.p = p
