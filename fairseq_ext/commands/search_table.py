"""The table of a search over options: the best value in validation of every training, the best one first.

A training of fairseq is better if its `--best-checkpoint-metric` is, of the checkpoint that is best by it. Of
`embeddings calibrate` and `finetune`, it is the score by which their best checkpoint was chosen.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.option_classes import output_folder, positional
from command_line.options import path
from command_line.outputs import write_text
from command_line.records import field, read_record
from fairseq_ext.training_record import LOG, RECORD

CALIBRATION = "calibration.json"  # of `embeddings calibrate`
_UPDATES = re.compile(r"num_updates (\d+)")


@dataclass(frozen=True, kw_only=True)
class Search:
    """The trainings."""

    trainings: list[Path] = positional("their folders", nargs="+", type=path)
    output: Path = output_folder("search.md and search.tsv")


@dataclass(frozen=True)
class BestValidation:
    """The best validation of a training."""

    name: str
    measure: str
    value: float
    updates: int
    is_larger_better: bool


def main(search: Search) -> None:
    above = os.path.commonpath([folder.absolute().parent for folder in search.trainings])
    results = [best_validation(folder, os.path.relpath(folder, above)) for folder in search.trainings]
    if len({result.measure for result in results}) > 1:
        raise InputError("trainings: are validated by different measures; expected the same one")
    results.sort(key=lambda entry: -entry.value if entry.is_larger_better else entry.value)
    rows = [(entry.name, f"{entry.value:g}", str(entry.updates)) for entry in results]
    head = ("training", results[0].measure, "updates")
    search.output.mkdir(parents=True, exist_ok=True)
    write_text(search.output / "search.tsv", "".join("\t".join(row) + "\n" for row in (head, *rows)))
    lines = [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]
    write_text(search.output / "search.md", "\n".join(lines) + "\n")
    print("\n".join(lines))


def best_validation(folder: Path, name: str) -> BestValidation:
    """What the record of a training says, or its log, if it is one of fairseq.

    Raises:
        InputError: there is no training, or it has not been validated.
    """
    record = next(filter(Path.is_file, (folder / RECORD, folder / CALIBRATION)), None)
    if record is None:
        raise InputError(f"{folder / RECORD}: no such file; expected the folder of a training of a recipe")
    training = read_record(record, dict)
    if "score" not in training:
        return _best_of_log(folder / LOG, name, field(training, "options", dict, record))
    measure = field(training, "score", str, record)
    value, updates = (field(training, f"best.{key}", float, record) for key in (measure, "update"))
    return BestValidation(name, measure, value, int(updates), is_larger_better=True)


def _best_of_log(log: Path, name: str, given: dict) -> BestValidation:
    if not log.is_file():
        raise InputError(f"{log}: no such file; expected that of a training of a recipe")
    measure = given.get("--best-checkpoint-metric", "loss")
    is_larger_better = "--maximize-best-checkpoint-metric" in given
    validation = re.compile(rf"\| valid \|.*\| {re.escape(measure)} (-?[\d.]+(?:e[+-]?\d+)?)")
    values = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        match = validation.search(line)
        if match and (updates := _UPDATES.search(line)):
            values.append((float(match[1]), int(updates[1])))
    if not values:
        raise InputError(f"{log}: has no validation with {measure}; expected a training that was validated")
    value, updates = (max if is_larger_better else min)(values, key=lambda pair: pair[0])
    return BestValidation(name, measure, value, updates, is_larger_better)
