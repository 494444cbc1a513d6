"""Where a number that is measured on a checkpoint comes from: which training, how long, which data."""

import math
from pathlib import Path

from command_line.outputs import checksum
from command_line.provenance import versions
from fairseq_ext.axes.options import option
from fairseq_ext.checkpoints.origin import initialized_from
from fairseq_ext.checkpoints.progress import epoch_of, progress_label, updates_of
from fairseq_ext.inference import LoadedModel

VALIDATION_LOSSES = ("loss", "nll_loss", "nmt_loss")  # of the measures that choose the best checkpoint
ORIGIN = ("file", "sha256", "seed")  # what is no choice of the system


def describe_checkpoint(path, state: dict) -> dict:
    """Which checkpoint, and how long it was trained.

    Args:
        state: its contents; the weights are not needed.
    """
    extra = state.get("extra_state") or {}
    measure = option((state.get("cfg") or {}).get("checkpoint"), "best_checkpoint_metric", "loss")
    loss = extra.get("best") if measure in VALIDATION_LOSSES else None
    origin = initialized_from(state, path)
    return {
        "path": str(path),
        "sha256": checksum(path),
        "epoch": epoch_of(state),
        "updates": updates_of(state),
        "best_valid_loss": loss if loss is None or math.isfinite(loss) else None,  # the training diverged
        "initialized_from": origin and {name: origin[name] for name in ORIGIN if name in origin},
    }


def describe_origin(path, data, loaded: LoadedModel, name: str | None) -> dict:
    """The fields "system", "checkpoint", "data" and "versions" of a result.

    Args:
        name: of the system, by the user; by default it is made from the choices on all axes, and from the
            progress of a checkpoint that was saved amid a training.
    """
    system = loaded.system(name)
    if name is None:
        system["name"] += progress_label(path)
    return {
        "system": system,
        "checkpoint": describe_checkpoint(path, loaded.state),
        "data": {"path": str(Path(data)), "dictionary_sha256": loaded.task.fingerprint},
        "versions": versions("torch", "sacrebleu") | {"fairseq": versions("fairseq-fixed")["fairseq-fixed"]},
    }
