"""Weights are numbers: a training that diverged leaves others, and a model of them writes empty lines."""

import torch

from command_line.errors import InputError


def check_weights(model: torch.nn.Module, name) -> None:
    """Refuse a model whose weights are no numbers.

    Args:
        name: of the model in the error, as a rule the path of its checkpoint.

    Raises:
        InputError: a parameter has a value that is NaN or infinite. Buffers may: fairseq has one that it
            never fills.
    """
    for parameter, values in model.named_parameters():
        count = int((~torch.isfinite(values.detach())).sum())
        if count:
            raise InputError(
                f"{name}: {count} of {values.numel()} weights of {parameter} are NaN or infinite; expected a"
                " checkpoint from before the training diverged"
            )
