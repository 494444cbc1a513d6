"""Validation loss of translation during training, of several systems (thesis 7.4.2, Figure 7.3).

Each LOG is NAME=FILE: what fairseq-train printed with `--log-format simple` or `json`, for instance
`train.log` of a recipe's model; the same NAME with several files: its seeds. The loss is `nmt_loss` where
other losses are added, else `loss`; it is that of teacher forcing, also of the interlingua's length, in
bits per token, label smoothing included.
"""

from pathlib import Path

from eval.probes.training_logs import add_log_arguments, publish_runs, validations

KIND = "validation-curves"
METRICS = ("nmt_loss", "loss")


def add_arguments(parser) -> None:
    add_log_arguments(parser, KIND)


def main(args) -> None:
    from eval.reporting.sections import validation_curves

    publish_runs(args, KIND, validation_curves.section, run)


def run(name: str, path: Path, dataset: str) -> dict:
    """One training.

    Raises:
        InputError: no validation in the log.
    """
    found = dict(sorted(validations(path).items()))
    metrics = [next(name for name in METRICS if name in values) for values in found.values()]
    return {
        "system": {"name": name},
        "dataset": dataset,
        "log": str(path),
        "metric": metrics[-1],
        "updates": list(found),
        "loss": [values[metric] for values, metric in zip(found.values(), metrics, strict=True)],
    }
