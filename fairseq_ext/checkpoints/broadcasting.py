"""A training on several GPUs or processes goes on from its checkpoint.

The first process reads it and sends it to the others, who read what they are sent as torch reads files, with
`weights_only=True`: fairseq's options, which need not travel (each process has its own), are refused there.
"""

import torch


def let_checkpoints_travel() -> None:
    """From here on, fairseq sends checkpoints to the processes of a training without the options in them."""
    from fairseq.distributed import utils

    torch.serialization.add_safe_globals([utils._TensorPlaceholder])
    broadcast = utils.broadcast_object

    def without_options(obj, *args, **keywords):
        if isinstance(obj, dict) and "cfg" in obj:
            obj = {**obj, "cfg": None}
        return broadcast(obj, *args, **keywords)

    utils.broadcast_object = without_options
