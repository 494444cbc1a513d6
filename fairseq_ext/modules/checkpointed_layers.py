"""Layers whose states are computed again in the backward pass, in place of kept (Chen et al. 2016).

fairseq's wrapper differentiates inside the backward pass: outside of autocast, and DistributedDataParallel
refuses it where a layer is called twice in an update (a mirrored batch, a second pass of the decoder).
"""

import contextlib
import functools

from torch import nn
from torch.autograd.graph import save_on_cpu
from torch.utils.checkpoint import checkpoint


def checkpointed(layer: nn.Module, cfg) -> nn.Module:
    """The layer, as `--checkpoint-activations` and `--offload-activations` have it."""
    if cfg.checkpoint_activations:
        layer.forward = functools.partial(_recomputed, layer.forward, bool(cfg.offload_activations))
    return layer


def _recomputed(forward, offloaded: bool, *arguments, **named):
    """What is kept, the arguments, lies in main memory if it is offloaded."""
    with save_on_cpu() if offloaded else contextlib.nullcontext():
        return checkpoint(forward, *arguments, use_reentrant=False, **named)
