"""The arithmetic of a model: float32, bfloat16, or products of 8-bit integers."""

import warnings
from collections.abc import Iterable

import torch
from torch import nn

from command_line.errors import InputError

BFLOAT16, INT8 = "bfloat16", "int8"


def for_inference(
    model: nn.Module,
    precision: str,
    device: torch.device,
    layers: Iterable[nn.Module] | None = None,
    whole: tuple[type[nn.Module], ...] = (),
) -> nn.Module:
    """The model in evaluation mode on a device. With bfloat16 it is called within `autocast`.

    Args:
        precision: "int8" makes 8-bit products of linear layers, whose weights are quantized once and whose
            inputs at every call.
        layers: in which linear layers are quantized; None for the whole model.
        whole: modules that read the weights of the layers in them themselves, which then stay as they are.

    Raises:
        InputError: int8 on a GPU, or there is nothing to quantize.
    """
    model = model.eval().to(device)
    if precision != INT8:
        return model
    if device.type != "cpu":
        raise InputError("--precision int8: only on a CPU; give --cpu, or --precision bfloat16")
    possible = {id(module) for layer in ([model] if layers is None else layers) for module in layer.modules()}
    read = {
        id(inner) for module in model.modules() if isinstance(module, whole) for inner in module.modules()
    }
    names = {
        name
        for name, module in model.named_modules()
        if type(module) is nn.Linear and id(module) in possible and id(module) not in read
    }
    if not names:
        raise InputError(
            "--precision int8: the encoder has no linear layer for it; give --precision bfloat16"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this interface of torch will move to another package
        return torch.ao.quantization.quantize_dynamic(model, names, dtype=torch.qint8)


def autocast(precision: str, device: torch.device):
    """The context in which the model is called."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == BFLOAT16)
