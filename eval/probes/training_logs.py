"""Updates and validations in logs of trainings, NAME=FILE on the command line: what several probes read."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.measurements import Measured
from command_line.option_classes import option, positional
from eval.reporting.result_file import Written, publish

LOG = "train.log"  # in the folder of a training, as recipes name it
VALID, UPDATES = "| valid | ", "| train_inner | "
EPOCHS = "| train | "  # means of an epoch


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Logs of trainings, each with the name of its system, and the name of the data in tables."""

    logs: list[tuple[str, Path]] = positional(
        "log of a training",
        nargs="+",
        type=types.assignment("MNMT=train.log", types.path),
        metavar="NAME=FILE",
    )
    dataset: str = option("name of the data in tables", required=True)
    written: Written


def measure_logs(options: LogOptions, measure: Callable[[Path], tuple[dict, list[dict]]]) -> Measured:
    """One run per log.

    Args:
        measure: log -> what the run has besides system, dataset and log; and its rows.
    """
    measured = Measured()
    for name, log in options.logs:
        run, rows = measure(log)
        measured.add({"system": {"name": name}, "dataset": options.dataset, "log": str(log)} | run, rows)
    return measured


def publish_logs(kind: str, options: LogOptions, measure: Callable[[Path], tuple[dict, list[dict]]]) -> None:
    """Write what `measure` says of every log."""
    publish(kind, options, log_files(options), lambda: measure_logs(options, measure), options.written)


def log_files(options: LogOptions) -> list[Path]:
    """The logs; an `InputError` for one that does not exist."""
    paths = [path for _, path in options.logs]
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected the log of a training")
    return paths


def validations(path: Path) -> dict[int, dict[str, float]]:
    """Update -> what was measured in the validation after it, by name without fairseq's prefix `valid_`.

    A validation that was repeated after a restart counts once, the last time.

    Raises:
        InputError: no validation in the log.
    """
    by_update = validations_in(path)
    if not by_update:
        raise InputError(f"{path}: no validation in it; expected a log of fairseq-train (simple or json)")
    return by_update


def validations_in(path: Path) -> dict[int, dict[str, float]]:
    """The same of a log that may have none."""
    by_update = {}
    for line in read_lines(path, nul=True):
        if VALID in line:
            values = _values(line.split(VALID, 1)[1], "valid_")
            updates = _updates(values)
            if "loss" in values and updates is not None:
                by_update[updates] = values
    return by_update


def updates_and_seconds(path: Path) -> list[tuple[int, float]]:
    """For every report during the training: the number of updates, and the seconds of those since the last
    report.
    """
    return list(_reports(path, "train_wall"))


def updates_and_words(path: Path) -> dict[int, float]:
    """Update -> words of one update, mean since the last report; of repeated ones the last counts. What comes
    after the last report of updates is in those of epochs, as is all of a training that is shorter than its
    log interval.
    """
    by_update = dict(_reports(path, "wpb"))
    last = max(by_update, default=0)
    return by_update | {update: words for update, words in _reports(path, "wpb", EPOCHS) if update > last}


def _reports(path: Path, measured: str, kind: str = UPDATES) -> Iterator[tuple[int, float]]:
    """Number of updates and what was measured, of every report of a kind that has both."""
    for line in read_lines(path, nul=True):
        if kind in line:
            values = _values(line.split(kind, 1)[1], "train_" if kind == EPOCHS else "")
            updates = _updates(values)
            if updates is not None and math.isfinite(values.get(measured, math.nan)):
                yield updates, values[measured]


def finite(value: float) -> float | None:
    """What a result can hold: a training that diverges logs NaN or infinity."""
    return value if math.isfinite(value) else None


def _updates(values: Mapping[str, float]) -> int | None:
    """After how many updates a line was logged; None where it does not say a whole number."""
    number = values.get("num_updates", math.nan)
    return int(number) if number >= 0 and number.is_integer() else None


def _values(text: str, prefix: str) -> dict[str, float]:
    """The values of one line; names in JSON have the prefix, those of the other format do not."""
    if text.startswith("{"):
        try:
            entries = [(name.removeprefix(prefix), value) for name, value in json.loads(text).items()]
        except (ValueError, RecursionError):  # of a line that was cut off when the training was killed
            return {}
    else:
        entries = re.findall(r"([\w.-]+)=([^,\s]+)", text)  # of updates; of validations:
        entries = entries or re.findall(r"(?:^|\| )([\w.-]+) ([^|\s]+)", text)
    values = {}
    for name, value in entries:
        try:
            values[name] = float(value)
        except (OverflowError, TypeError, ValueError):
            continue  # "epoch 001 | valid on 'valid' subset" are words
    return values
