"""How long 1,000 updates of every system took (thesis 2.4.7).

Each LOG is NAME=FILE: what fairseq-train printed with `--log-format simple` or `json`; the same NAME with
several files: its seeds. Time is that of updates alone, without validation and saving. Other work of the
machine slows updates, so compare only trainings that ran side by side.
"""

from itertools import pairwise
from pathlib import Path
from statistics import fmean

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from eval.probes.training_logs import (
    LogOptions,
    log_files,
    measure_logs,
    updates_and_seconds,
)
from eval.reporting.result_file import publish

KIND = "training-speed"
OUTLIERS = 0.25  # share of the reports, at either end, that are left out
SECONDS = "seconds_per_1000_updates"


def main(options: LogOptions) -> None:
    publish(KIND, options, log_files(options), lambda: measure(options), options.written)


def measure(options: LogOptions) -> Measured:
    """One run per log; its time, also by that of the first system."""
    measured = measure_logs(options, time_of)
    first, _ = options.logs[0]
    times = [row for row in measured.rows if row["measure"] == SECONDS]
    unit = fmean(row["value"] for row in times if row["system"] == first)
    measured.rows += [row | {"measure": "time_ratio", "value": row["value"] / unit} for row in times]
    return measured


def time_of(log: Path) -> tuple[dict, list[dict]]:
    """The time of one training.

    The first report after a restart also counts updates before it. It is an outlier, which the trimmed mean
    leaves out.

    Raises:
        InputError: fewer than two reports of updates in the log.
    """
    from scipy.stats import trim_mean

    reports = updates_and_seconds(log)
    rates = [
        1000 * seconds / (update - before)
        for (before, _), (update, seconds) in pairwise(reports)
        if update > before and seconds > 0
    ]
    if not rates:
        raise InputError(f"{log}: no two reports of updates in it; expected a log of fairseq-train")
    seconds = float(trim_mean(rates, OUTLIERS))
    return {}, numbers({"updates": max(update for update, _ in reports), SECONDS: seconds})
