"""Layers that torch.compile turns into kernels of their own."""

from torch import nn

from command_line.errors import InputError
from fairseq_ext.modules.transformer_layers import Layer


def compile_layers(model: nn.Module, backend: str = "inductor") -> None:
    """Compile every layer of ours, for any length and number of sentences; what it computes and the names of
    its parameters stay.

    One layer and not the model: all layers of a side share what was compiled, and what fairseq does around
    them (caches of a search, lists of states) is no part of it.

    Raises:
        InputError: the model has no layer of ours.
    """
    layers = [module for module in model.modules() if isinstance(module, Layer)]
    if not layers:
        raise InputError(
            "--compile: the model has no layer of this project; expected one of its architectures"
        )
    for layer in layers:
        layer.compile(dynamic=True, backend=backend)
