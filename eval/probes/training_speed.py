"""How long 1,000 updates of every system took (thesis 2.4.7).

Each LOG is NAME=FILE: what fairseq-train printed with `--log-format simple` or `json`; the same NAME with
several files: its seeds. Time is that of updates alone, without validation and saving. What else the machine
did meanwhile is in it: ratios of systems hold for trainings that ran side by side.
"""

from itertools import pairwise
from pathlib import Path

from command_line.errors import InputError
from command_line.option_classes import from_arguments
from eval.probes.training_logs import LogOptions, add_log_arguments, probe_logs, updates_and_seconds
from eval.reporting.exhibits import Section, Table, cells, mean_cell, slug
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System, by_dataset

KIND = "training-speed"
OUTLIERS = 0.25  # share of the reports, at either end, that are left out
NOTES = [
    "Seconds of 1,000 updates: mean of the middle half of the reports in the log, without validation and"
    " saving. Ratios hold for systems that were trained side by side on one machine."
]


def add_arguments(parser) -> None:
    add_log_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(LogOptions, args)
    probe_logs(KIND, options, measure, args)


def measure(log: Path) -> dict:
    """Of one training.

    The first report after a restart counts updates of before it; it is far off, and among the outliers.

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
    return {
        "updates": max(update for update, _ in reports),
        "seconds_per_1000_updates": float(trim_mean(rates, OUTLIERS)),
    }


# --- the section of the report


def section(results: ResultSet) -> Section:
    systems = by_dataset(results.probed(KIND))
    return Section("Training speed", [table(dataset, found) for dataset, found in systems.items()], NOTES)


def table(dataset: str, systems: list[System]) -> Table:
    """A row per system; the ratio is that to the first one."""
    times = [one.mean("seconds_per_1000_updates") for one in systems]
    rows = [
        [*cells(one.name, len(one.runs)), mean_cell(time, 1), mean_cell(_ratio(time, times[0]), 2)]
        for one, time in zip(systems, times, strict=True)
    ]
    titles = cells("System", "Seeds", "Seconds per 1,000 updates", f"Times {systems[0].name}")
    return Table(slug("training_speed", dataset), f"Speed of training on {dataset}.", [titles], rows)


def _ratio(time: MeanStd, first: MeanStd) -> MeanStd:
    return MeanStd(time.mean / first.mean, None)
