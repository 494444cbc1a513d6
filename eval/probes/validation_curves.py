"""Validation loss of translation during training, of several systems (thesis 7.4.2, Figure 7.3).

Each LOG is NAME=FILE: what fairseq-train printed with `--log-format simple` or `json`, for instance
`train.log` of a recipe's model; the same NAME with several files: its seeds. The loss is `nmt_loss` where
other losses are added, else `loss`; it is that of teacher forcing, also of the interlingua's length, in
bits per token, label smoothing included.
"""

from collections.abc import Mapping
from pathlib import Path

from command_line.measurements import Measured, numbers
from eval.probes.training_logs import (
    LOG,
    LogOptions,
    finite,
    publish_logs,
    validations,
    validations_in,
)
from eval.result_set import ResultSet

KIND = "validation-curves"
METRICS = ("nmt_loss", "loss")


def main(options: LogOptions) -> None:
    publish_logs(KIND, options, measure)


def measure(log: Path) -> tuple[dict, list[dict]]:
    """The losses of one training; none where one was not a number, or infinite.

    Raises:
        InputError: no validation in the log.
    """
    by_update = validations(log)
    return {"metric": _metric(next(iter(by_update.values())))}, losses(by_update)


def losses(by_update: Mapping[int, Mapping[str, float]]) -> list[dict]:
    """The rows of one training."""
    return [
        row
        for update, values in sorted(by_update.items())
        for row in numbers({"validation_loss": finite(values[_metric(values)])}, update=update)
    ]


def _metric(values: Mapping[str, float]) -> str:
    return next(name for name in METRICS if name in values)


def of_scored(results: ResultSet) -> Measured:
    """The losses of the trainings whose translations were scored, as far as the log lies beside the
    checkpoint. Nothing where result files of this probe are shown.
    """
    from fairseq_ext.checkpoints.progress import progress_label

    measured, seen = Measured(), set()
    if results.of_kind(KIND):
        return measured
    for run in (run for system in results.systems for run in system.runs):
        checkpoint = run.value("checkpoint", "path")
        if not checkpoint or not (log := Path(checkpoint).parent / LOG).is_file():
            continue
        name = run.system["name"].removesuffix(progress_label(checkpoint))
        system = {"name": name, "seed": run.seed}
        if (run.dataset, *system.values()) not in seen:
            measured.add({"system": system, "dataset": run.dataset}, losses(validations_in(log)))
        seen.add((run.dataset, *system.values()))
    return measured
