"""Weights are numbers: a training that diverged leaves others, and a model of them writes empty lines."""

from collections.abc import Iterable

import torch
from torch import Tensor

from command_line.errors import InputError


def check_weights(model: torch.nn.Module, name) -> None:
    """Refuse a model whose weights are no numbers.

    Args:
        name: of the model in the error, as a rule the path of its checkpoint.

    Raises:
        InputError: a parameter has a value that is NaN or infinite. Buffers may: fairseq has one that it
            never fills.
    """
    check_values(model.named_parameters(), name)


def check_values(weights: Iterable[tuple[str, Tensor]], name) -> None:
    """The same of named tensors.

    Raises:
        InputError: as `check_weights`.
    """
    for parameter, values in weights:
        count = int((~torch.isfinite(values.detach())).sum())
        if count:
            raise InputError(
                f"{name}: {count} of {values.numel()} weights of {parameter} are NaN or infinite; expected a"
                " checkpoint from before the training diverged"
            )
