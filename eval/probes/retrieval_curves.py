"""Retrieval during training beside the validation loss: does one rise as the other falls? (thesis 5.3.2)

DIR are outputs of `eval probe retrieval` of checkpoints of the same trainings (`checkpoint_*_UPDATES.pt`):
P@1 on top of the encoder, the mean over all pairs of languages; those of one system and seed become one curve
over its updates. The loss of translation after so many updates is that of the validation in `train.log`
beside the checkpoint. r: Pearson's correlation of both over the checkpoints of a training.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import positional
from eval.checks import check_lines, lines_of, only_seeds
from eval.probes.learning_curves import by_training, runs_in, training_of
from eval.probes.parallel import OUTPUT
from eval.probes.training_logs import LOG, finite, validations
from eval.probes.validation_curves import METRICS
from eval.reporting.result_file import Written, publish
from eval.result_files import field, result_file
from eval.systems import Run

KIND = "retrieval-curves"
FEWEST = 3  # points: through two there is always a line
MEASURES = ("sentence", "word")
LOSS = "validation_loss"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    retrieval: list[Path] = positional(
        "outputs of `eval probe retrieval` of checkpoints", nargs="+", metavar="DIR"
    )
    written: Written


def main(options: Options) -> None:
    files = [result_file(path, "retrieval.json") for path in options.retrieval]
    trainings = checkpoints_of(files)
    logs = sorted({log_of(run) for checkpoints in trainings.values() for run in checkpoints.values()})
    publish(KIND, options, [*files, *logs], lambda: measure(trainings), options.written)


def checkpoints_of(files: list[Path]) -> dict[tuple, dict[int, Run]]:
    """Dataset, system and seed -> updates -> the run of that checkpoint.

    Raises:
        InputError: as `by_training`; or other lines.
    """
    from eval.measurements import rows_of  # with pandas

    runs = runs_in(files, "retrieval")
    trainings, first = by_training(runs), {}
    for run in runs:
        lines = lines_of(rows_of(run))
        other, expected = first.setdefault((run.dataset, training_of(run)["name"]), (run, lines))
        check_lines(other, run, expected, lines, only_seeds(run))
    return trainings


def log_of(run: Run) -> Path:
    """The log of a training, beside its checkpoints.

    Raises:
        InputError: there is none.
    """
    path = Path(field(run.record, "checkpoint.path", str, run.path)).parent / LOG
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected the log of the training of {run.path}")
    return path


def measure(trainings: dict[tuple, dict[int, Run]]) -> Measured:
    """One run per training."""
    measured = Measured()
    for checkpoints in trainings.values():
        *_, last = checkpoints.values()
        run = {"system": training_of(last), "dataset": last.dataset, "split": last.value("split")}
        measured.add(run, curve(checkpoints))
    return measured


def curve(checkpoints: dict[int, Run]) -> list[dict]:
    """One training: of every checkpoint the loss, and P@1 of the measures that all of them have; and the
    correlations of these with the loss.

    Raises:
        InputError: no validation after the updates of a checkpoint.
    """
    logs = {updates: log_of(run) for updates, run in checkpoints.items()}
    validated = {log: validations(log) for log in set(logs.values())}
    losses = {updates: loss_after(updates, log, validated[log]) for updates, log in logs.items()}
    rows = [row for updates, loss in losses.items() for row in numbers({LOSS: loss}, update=updates)]
    precisions = {updates: precision(run) for updates, run in checkpoints.items()}
    for name in MEASURES:
        values = [of_checkpoint.get(name) for of_checkpoint in precisions.values()]
        if None not in values:
            for updates, value in zip(checkpoints, values, strict=True):
                rows += numbers({name: value}, update=updates)
            rows += numbers({f"{name}_r": pearson(list(losses.values()), values)})
    return rows


def loss_after(updates: int, log: Path, after: dict[int, dict[str, float]]) -> float | None:
    """None where it was not a number, or infinite."""
    if updates not in after:
        raise InputError(
            f"{log}: no validation after {updates} updates, only after {', '.join(map(str, after))}"
        )
    return finite(next(after[updates][name] for name in METRICS if name in after[updates]))


def precision(run: Run) -> dict[str, float]:
    """P@1 on top of the encoder, mean over all pairs, of what was measured."""
    from eval.measurements import rows_of

    rows = rows_of(run)
    return rows[rows.layer == OUTPUT].groupby("measure").value.mean().to_dict()


def pearson(loss: list[float | None], values: list[float]) -> float | None:
    """Over the checkpoints that have a loss; None where they are too few, or one of both is constant."""
    from scipy.stats import pearsonr

    points = np.array([pair for pair in zip(loss, values, strict=True) if None not in pair], dtype=float)
    enough = len(points) >= FEWEST and np.ptp(points, axis=0).all()
    return float(pearsonr(*points.T).statistic) if enough else None
