"""What trainings took: updates, words, arithmetic, processor seconds; beside what those of the papers took.

Each LOG is NAME=FILE, what fairseq-train printed; the same NAME with several files: its seeds. Words are
subwords of targets, the `wpb` of the log times updates. Arithmetic is 6 floating-point operations per
parameter and word (Kaplan et al., 2020, 2.1), as in `python -m fairseq_ext plan`. Systems with losses over a
mirrored batch run the encoder over the targets, too: a second pass, which is not in it. With frozen
parameters, which take a third of it or nothing, it is not known. Processor seconds are those of
`cpu_seconds.txt`, which recipes write beside a log; unlike the time of day they do not depend on what else
the machine did.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.measurements import Measured, numbers
from command_line.option_classes import option
from eval.probes.training_logs import (
    LogOptions,
    log_files,
    measure_logs,
    updates_and_words,
)
from eval.reporting.result_file import publish

KIND = "cost"
OPERATIONS = 6  # per parameter and word, as of `python -m fairseq_ext plan`
MEASURES = ("updates", "words", "parameters", "operations", "encoder_passes", "cpu_seconds")
CPU_SECONDS = "cpu_seconds.txt"
_PARAMETERS = re.compile(
    r"num\. shared model params: (\d[\d,]{0,19}) \(num\. trained: (\d[\d,]{0,19})\)", re.ASCII
)
_LOSSES = re.compile(r"['\"]?losses['\"]?[=:] ?['\"]([\w,]*)['\"]")


@dataclass(frozen=True, kw_only=True)
class Options(LogOptions):
    """Options of the probe; those of the logs are inherited."""

    reference: Path | None = option(
        "what trainings of a paper took, to show beside: rows as `recipes/zero_shot/reference.csv` has",
        metavar="CSV",
    )


def main(options: Options) -> None:
    seconds = dict.fromkeys(log.parent / CPU_SECONDS for _, log in options.logs)
    read = [*log_files(options), *(file for file in seconds if file.is_file())]
    if options.reference:
        read.append(options.reference)
    publish(KIND, options, read, lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    """One run per log, and one per system of the reference."""
    measured = measure_logs(options, lambda log: ({}, numbers(taken(log))))
    if options.reference:
        measured.include(options.reference, MEASURES)
    return measured


def taken(log: Path) -> dict[str, float | None]:
    """What one training took; None for what is not known.

    Raises:
        InputError: no reports of updates, or no number of parameters, in the log.
    """
    reports, (parameters, trained, losses) = updates_and_words(log), _model(log)
    if not reports or parameters is None:
        missing = "report of updates" if not reports else "number of parameters"
        raise InputError(f"{log}: no {missing} in it; expected a log of fairseq-train")
    words, before = 0.0, 0
    for update, per_update in sorted(reports.items()):
        words, before = words + (update - before) * per_update, update
    return {
        "updates": before,
        "words": words,
        "parameters": parameters,
        "operations": OPERATIONS * parameters * words if trained == parameters else None,
        "encoder_passes": 2 if _mirrored(losses) else 1,
        "cpu_seconds": _cpu_seconds(log.parent / CPU_SECONDS),
    }


def _model(log: Path) -> tuple[int | None, int | None, list[str]]:
    """Numbers of parameters, of those that are trained, and names of losses, as the log says them at its
    (last) beginning.
    """
    parameters, trained, losses = None, None, []
    for line in read_lines(log, nul=True):
        if match := _PARAMETERS.search(line):
            parameters, trained = (int(count.replace(",", "")) for count in match.groups())
        if match := _LOSSES.search(line):
            losses = match[1].split(",")
    return parameters, trained, losses


def _mirrored(losses: list[str]) -> bool:
    from fairseq_ext.losses.registry import LOSSES

    return any("mirror" in LOSSES[name].batch_fields for name in losses if name in LOSSES)


def _cpu_seconds(path: Path) -> float | None:
    """Processor time of all starts of a training; None if it was not noted."""
    if not path.is_file():
        return None
    try:
        return sum(float(line) for line in read_lines(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}; expected seconds, a number in every line") from None
