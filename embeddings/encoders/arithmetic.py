"""The arithmetic of a model: float32, bfloat16, or products of 8-bit integers."""

import warnings

import torch
from torch import nn

from command_line.errors import InputError

BFLOAT16, INT8 = "bfloat16", "int8"


def for_inference(
    model: nn.Module,
    precision: str,
    device: torch.device,
    below: str = "",
    whole: tuple[type[nn.Module], ...] = (),
) -> nn.Module:
    """The model in evaluation mode on a device. With bfloat16 it is called within `autocast`.

    Args:
        precision: "int8" makes 8-bit products of linear layers, whose weights are quantized once and whose
            inputs at every call.
        below: names of linear layers that are quantized begin so.
        whole: modules that read the weights of the layers in them themselves, which then stay as they are.

    Raises:
        InputError: int8 on a GPU.
    """
    model = model.eval().to(device)
    if precision != INT8:
        return model
    if device.type != "cpu":
        raise InputError("--precision int8: only on a CPU; give --cpu, or --precision bfloat16")
    inside = {
        id(layer) for module in model.modules() if isinstance(module, whole) for layer in module.modules()
    }
    names = {
        name
        for name, layer in model.named_modules()
        if type(layer) is nn.Linear and name.startswith(below) and id(layer) not in inside
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this interface of torch will move to another package
        return torch.ao.quantization.quantize_dynamic(model, names, dtype=torch.qint8)


def autocast(precision: str, device: torch.device):
    """The context in which the model is called."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == BFLOAT16)
