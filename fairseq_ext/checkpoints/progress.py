"""How far a training had come when its checkpoint was saved, and under which names, as fairseq has both."""

import re
from pathlib import Path

LAST, BEST = "checkpoint_last.pt", "checkpoint_best.pt"  # the first: fairseq's own --restore-file, too


def updates_of(state: dict) -> int | None:
    """Updates of the optimizer that the checkpoint comes from; None where it does not say."""
    history = (state.get("optimizer_history") or [{}])[-1]
    return history.get("num_updates")


def epoch_of(state: dict) -> int | None:
    """The epoch, from 1, that the checkpoint was saved in; None where it does not say."""
    extra = state.get("extra_state") or {}
    return (extra.get("train_iterator") or {}).get("epoch")


def progress_label(path) -> str:
    """What ends the name of a system whose checkpoint was saved amid a training, as in ", 480 updates".

    fairseq calls such files `checkpoint_EPOCH_UPDATES.pt` and `checkpointEPOCH.pt`; others have no label.
    """
    saved = re.fullmatch(r"checkpoint(?:_\d+_(?P<updates>\d+)|(?P<epoch>\d+))\.pt", Path(path).name)
    if not saved:
        return ""
    return f", {saved['updates']} updates" if saved["updates"] else f", epoch {saved['epoch']}"


def trained_for(updates: int) -> dict:
    """The entry of the history of optimizers of a checkpoint that no training goes on from."""
    return {"num_updates": updates, "optimizer_name": "none", "lr_scheduler_state": {}}
