"""Retrieval during training beside the validation loss: does one rise as the other falls? (thesis 5.3.2)

DIR are outputs of `eval probe retrieval` of checkpoints of the same trainings (`checkpoint_*_UPDATES.pt`):
P@1 on top of the encoder, the mean over all pairs of languages; those of one system and seed become one curve
over its updates. The loss of translation after so many updates is that of the validation in `train.log`
beside the checkpoint. r: Pearson's correlation of both over the checkpoints of a training.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from eval.probes.training_logs import LOG, finite, validations
from eval.probes.validation_curves import METRICS
from eval.reporting.exhibits import Section, Table, cells, mean_cell, slug, tidy
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import field, result_file
from eval.results.result_set import ResultSet
from eval.results.systems import (
    MeanStd,
    Run,
    System,
    by_dataset,
    check_one_training,
    check_probed_alike,
)

KIND = "retrieval-curves"
FEWEST = 3  # points: through two there is always a line
MEASURES = {"sentence": "sentence P@1", "word": "word P@1"}
NOTES = [
    "Checkpoints of the same trainings. P@1 on top of the encoder, mean over pairs of languages; loss of"
    " translation on the validation set, in bits per token. r: Pearson's correlation of both over the"
    " checkpoints of a training, mean over seeds; checkpoints of one training are not independent."
]


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        retrieval: outputs of `eval probe retrieval` of checkpoints.
    """

    retrieval: list[Path]


def add_arguments(parser) -> None:
    parser.add_argument(
        "retrieval",
        nargs="+",
        type=types.path,
        metavar="DIR",
        help="outputs of `eval probe retrieval` of checkpoints",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    files = [result_file(path, "retrieval.json") for path in options.retrieval]
    trainings = checkpoints_of(files)
    logs = sorted({log_of(one) for checkpoints in trainings.values() for one in checkpoints.values()})
    publish(KIND, options, [*files, *logs], lambda: measure(trainings), args)


def checkpoints_of(files: list[Path]) -> dict[tuple, dict[int, Run]]:
    """Dataset, system and seed -> updates -> the run of that checkpoint.

    Raises:
        InputError: a file does not say of which checkpoint it is, or two are of the same, or checkpoints of a
            system were measured in different ways.
    """
    found: dict[tuple, dict[int, Run]] = defaultdict(dict)
    first: dict[tuple, Run] = {}
    for path, record in ResultSet.load(files, ["retrieval"]).of_kind("retrieval"):
        for one in record["runs"]:
            run = Run(path, one)
            updates = field(one, "checkpoint.updates", int, path)
            checkpoints = found[run.dataset, run.name, run.seed]
            known = checkpoints.setdefault(updates, run)
            if known is not run:
                raise InputError(f"{path} and {known.path}: both are after {updates} updates")
            check_one_training(next(iter(checkpoints.values())), run)
            check_probed_alike(first.setdefault((run.dataset, run.name), run), run)
    return {key: dict(sorted(runs.items())) for key, runs in found.items()}


def log_of(run: Run) -> Path:
    """The log of a training, beside its checkpoints.

    Raises:
        InputError: there is none.
    """
    path = Path(field(run.record, "checkpoint.path", str, run.path)).parent / LOG
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected the log of the training of {run.path}")
    return path


def measure(trainings: dict[tuple, dict[int, Run]]) -> dict:
    """One run per training."""
    return {"runs": [curve(checkpoints) for checkpoints in trainings.values()]}


def curve(checkpoints: dict[int, Run]) -> dict:
    """One training: per checkpoint the loss, and P@1 from 0 to 1 of the measures that all of them have.

    Raises:
        InputError: no validation after the updates of a checkpoint.
    """
    *_, last = checkpoints.values()
    logs = {updates: log_of(run) for updates, run in checkpoints.items()}
    validated = {log: validations(log) for log in set(logs.values())}
    found = {
        "system": last.system,
        "dataset": last.dataset,
        "updates": list(checkpoints),
        "loss": [loss_after(updates, log, validated[log]) for updates, log in logs.items()],
    }
    for name in MEASURES:
        values = [precision(run, name) for run in checkpoints.values()]
        if None not in values:
            found[name] = values
    found["pearson"] = {name: pearson(found["loss"], found[name]) for name in MEASURES if name in found}
    return found


def loss_after(updates: int, log: Path, after: dict[int, dict[str, float]]) -> float | None:
    """None where it was not a number, or infinite."""
    if updates not in after:
        raise InputError(
            f"{log}: no validation after {updates} updates, only after {', '.join(map(str, after))}"
        )
    return finite(next(after[updates][name] for name in METRICS if name in after[updates]))


def precision(run: Run, name: str) -> float | None:
    """P@1 on top of the encoder, the mean over all pairs; None if it was not measured."""
    values = [entry.get(name) for entry in run.record["pairs"].values()]
    if not values or None in values:
        return None
    return float(np.mean([np.ravel(value)[-1] for value in values]))  # of the layers, the last


def pearson(loss: list[float | None], values: list[float]) -> dict:
    """Number of checkpoints that have a loss, and the correlation: None where they are too few, or where one
    of both is constant.
    """
    from scipy.stats import pearsonr

    points = np.array([pair for pair in zip(loss, values, strict=True) if None not in pair], dtype=float)
    enough = len(points) >= FEWEST and np.ptp(points, axis=0).all()
    return {"n": len(points), "r": float(pearsonr(*points.T).statistic) if enough else None}


# --- the section of the report


def section(results: ResultSet) -> Section:
    systems = by_dataset(results.probed(KIND)).items()
    return Section("Retrieval during training", [table(found, dataset) for dataset, found in systems], NOTES)


def table(systems: list[System], dataset: str) -> Table:
    """Loss and P@1 over the updates, a row each per system; in the CSV file one per seed and checkpoint."""
    updates = sorted({update for system in systems for run in system.records for update in run["updates"]})
    rows = []
    for system in systems:
        for name, title in {"loss": "loss", **MEASURES}.items():
            if not all(name in run for run in system.records):
                continue
            scale, digits = (1, 3) if name == "loss" else (100, 1)
            values = [mean_cell(at(system, name, update, scale), digits) for update in updates]
            r = None if name == "loss" else system.mean("pearson", name, "r")
            rows.append([*cells(system.name, title, len(system.runs)), *values, mean_cell(r, 2)])
    data = [
        [dataset, system.name, seed, update]
        + [run[name][number] if name in run else None for name in ("loss", *MEASURES)]
        for system in systems
        for seed, run in system.labelled()
        for number, update in enumerate(run["updates"])
    ]
    titles = ["dataset", "system", "seed", "updates", "loss", *MEASURES]
    caption = f"Validation loss and retrieval on {dataset} over the updates; deviations over seeds."
    header = [cells("System", "", "Seeds", *updates, "r")]
    return Table(slug("retrieval_curves", dataset), caption, header, rows, data=tidy(titles, data))


def at(system: System, name: str, update: int, scale: float) -> MeanStd | None:
    """Mean over the runs; None where one was not measured."""
    found = MeanStd.of(
        dict(zip(run["updates"], run[name], strict=True)).get(update) for run in system.records
    )
    return found and found.scaled(scale)
