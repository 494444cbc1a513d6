"""The mean of several checkpoints of one training as a checkpoint of its own, without an optimizer.

What inference needs of a checkpoint is its weights, its options and what its task says of languages and
dictionary; the state of optimizer, criterion and data is half or more of the file, and stays behind.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from typing_extensions import NotRequired, TypedDict

from command_line.errors import InputError
from command_line.outputs import checksum
from command_line.records import check
from fairseq_ext.checkpoints.finite import check_values
from fairseq_ext.checkpoints.option_values import shown
from fairseq_ext.checkpoints.parameters import BUFFERS
from fairseq_ext.checkpoints.progress import epoch_of, trained_for, updates_of
from fairseq_ext.checkpoints.reading import read_state

FIELD = "averaged"  # of a checkpoint: the files that it is the mean of
_KEPT = ("args", "cfg", "model", "task_state", "initialized_from", FIELD)


class AveragedFile(TypedDict):
    """One of the files."""

    file: str
    sha256: str
    updates: NotRequired[int | None]


def averaged_from(state: dict, path) -> list[dict]:
    """The files that a checkpoint is the mean of: name, checksum, updates; empty for any other checkpoint.

    Raises:
        InputError: what it says makes no sense.
    """
    check(state.get(FIELD), list[AveragedFile] | None, path, FIELD)
    return state.get(FIELD) or []


def for_inference(state: dict) -> dict:
    """A checkpoint without what only its training needs; fairseq's commands read it as any other.

    Args:
        state: of a checkpoint, its options through the gate.
    """
    extra = state.get("extra_state") or {}
    return {
        **{name: state[name] for name in _KEPT if name in state},
        "optimizer_history": [trained_for(updates_of(state) or 0)],
        "extra_state": {
            "train_iterator": {"epoch": epoch_of(state) or 1, "iterations_in_epoch": 0},
            **{name: extra[name] for name in ("best", "val_loss") if name in extra},
        },
        "last_optimizer_state": None,
    }


def mean_of(paths: Sequence[Path]) -> dict:
    """The mean of the weights of checkpoints; what else a checkpoint says is as in the last one.

    The sum is one of float64, the mean has the type of the weights. One checkpoint is in memory at a time,
    beside the sum.

    Args:
        paths: at least two, of equal architectures.

    Raises:
        InputError: as `read_state`; names or shapes of weights differ, or one is no number; names the file
            and the weight.
    """
    sums: dict[str, Tensor] = {}
    entries: list[dict[str, Any]] = []
    state: dict[str, Any] = {}
    for path in paths:
        state.clear()  # the weights of the one before
        state = for_inference(read_state(path))
        if sums:
            _check_alike(sums, state["model"], path, paths[0])
        check_values(_parameters(state["model"]), path)
        _add(sums, state["model"])
        entries.append({"file": Path(path).name, "sha256": checksum(path), "updates": updates_of(state)})
    return {**state, "model": _means(sums, len(paths), state["model"]), FIELD: entries}


def _parameters(weights: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    return ((name, values) for name, values in weights.items() if not name.endswith(BUFFERS))


def _add(sums: dict[str, Tensor], weights: dict[str, Tensor]) -> None:
    for name, values in weights.items():
        sums[name] = values.to(torch.float64) + sums[name] if name in sums else values.to(torch.float64)


def _means(sums: dict[str, Tensor], count: int, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The means; weights that are one tensor, such as shared embeddings, stay one, written once."""
    means: dict[str, Tensor] = {}
    mean_at: dict[tuple, Tensor] = {}
    for name, last in weights.items():
        place = (last.data_ptr(), last.shape, last.stride(), last.dtype)
        means[name] = mean_at.setdefault(place, _mean(sums[name], count, last))
    return means


def _mean(total: Tensor, count: int, last: Tensor) -> Tensor:
    """Whole numbers are counters, of which the last one counts."""
    return (total / count).to(last.dtype) if last.is_floating_point() else last


def _check_alike(sums: dict[str, Tensor], weights: dict[str, Tensor], path, first) -> None:
    for name in (*weights, *sums):
        shape, expected = (
            tuple(tensors[name].shape) if name in tensors else None for tensors in (weights, sums)
        )
        if shape != expected:
            raise InputError(
                f"{path}: weight {shown(name)} has the shape {shape}, expected {expected} as in {first};"
                " checkpoints of one training have a mean"
            )
