"""Accuracy and perplexity of every pre-training task (thesis 4.5.5, Tables 4.12 and 4.13).

Each LOG is NAME=FILE: what fairseq-train printed with `--task linguistic_pretraining` and `--log-format
simple` or `json`, for instance `pretrained/jass-seed1/train.log` of the recipe; the same NAME with several
files: its seeds. The numbers are those of the validation with the lowest perplexity, whose checkpoint is
fine-tuned.
"""

import math
from pathlib import Path

from command_line.errors import InputError
from command_line.measurements import numbers
from eval.probes.training_logs import (
    LogOptions,
    finite,
    publish_logs,
    validations,
)

KIND = "pretraining-accuracy"
MEASURES = ("accuracy", "ppl")
ALL = "all"  # tasks of a language


def main(options: LogOptions) -> None:
    publish_logs(KIND, options, measure)


def measure(log: Path) -> tuple[dict, list[dict]]:
    """One pre-training: accuracy (%) and perplexity of every language, by task.

    Raises:
        InputError: no validation of pre-training in the log.
    """
    by_update = validations(log)
    update = min(by_update, key=lambda update: (perplexity(by_update[update]), update))
    rows = []
    for name, value in by_update[update].items():
        measure, _, component = name.partition("_")
        if measure in MEASURES and component:
            language, _, task = component.partition("-")
            rows += numbers({measure: finite(value)}, direction=language, part=task or ALL, update=update)
    if not rows:
        raise InputError(f"{log}: no accuracies of tasks in it; expected a log of linguistic_pretraining")
    return {}, rows


def perplexity(values: dict[str, float]) -> float:
    """The perplexity of a validation; infinite if it was not measured, or diverged: NaN compares with
    nothing.
    """
    value = values.get("ppl", math.inf)
    return math.inf if math.isnan(value) else value
