"""The validations that `--patience` has counted, for a training that goes on.

fairseq counts them in attributes of its function `should_stop_early`, and saves them nowhere: a training that
was stopped would have as many validations before it again, and take the first of them for an improvement.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import TypedDict

NAME = "patience"
# Of `python -m`, of its processes, of the program fairseq-train.
_MODULES = ("__main__", "__mp_main__", "fairseq_cli.train")


class SavedPatience(TypedDict):
    """What a checkpoint keeps."""

    best: Any  # a number; a loss may be infinite
    validations: int


def state_dict() -> dict:
    """What the training of this process has counted; empty without `--patience`."""
    count = _counting()
    if count is None or getattr(count, "best", None) is None:
        return {}
    return {NAME: {"best": float(count.best), "validations": count.num_runs}}


def go_on(state: Mapping) -> None:
    """Count on from a checkpoint's state of the task; one without a count changes nothing."""
    count, saved = _counting(), state.get(NAME)
    if count is not None and saved:
        count.best, count.num_runs = saved["best"], saved["validations"]


def _counting() -> Callable | None:
    """fairseq's function, if a training runs in this process."""
    functions = (getattr(sys.modules.get(name), "should_stop_early", None) for name in _MODULES)
    return next((function for function in functions if function is not None), None)
