"""Validation loss of translation during training, of several systems (thesis 7.4.2, Figure 7.3).

Each LOG is NAME=FILE: what fairseq-train printed with `--log-format simple` or `json`, for instance
`train.log` of a recipe's model; the same NAME with several files: its seeds. The loss is `nmt_loss` where
other losses are added, else `loss`; it is that of teacher forcing, also of the interlingua's length, in
bits per token, label smoothing included.
"""

from pathlib import Path

from command_line.measurements import numbers
from eval.probes.training_logs import (
    LogOptions,
    finite,
    log_files,
    measure_logs,
    validations,
)
from eval.reporting.result_file import publish

KIND = "validation-curves"
METRICS = ("nmt_loss", "loss")


def main(options: LogOptions) -> None:
    publish(
        KIND,
        options,
        log_files(options),
        lambda: measure_logs(options, measure),
        options.written,
    )


def measure(log: Path) -> tuple[dict, list[dict]]:
    """The losses of one training; none where one was not a number, or infinite.

    Raises:
        InputError: no validation in the log.
    """
    rows = []
    for update, values in sorted(validations(log).items()):
        metric = next(name for name in METRICS if name in values)
        rows += numbers({"validation_loss": finite(values[metric])}, update=update)
    return {"metric": metric}, rows
