"""Print the checkpoints of the course of a training: a line "UPDATES PATH" for each, the end last."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.option_classes import positional
from command_line.options import path
from fairseq_ext.checkpoints.progress import LAST
from fairseq_ext.training_record import LOG

_KEPT = re.compile(r"checkpoint_\d+_(\d+)\.pt")
_UPDATES = re.compile(r"num_updates (\d+)")


@dataclass(frozen=True, kw_only=True)
class Course:
    """A training."""

    training: Path = positional("its folder", type=path)


def main(course: Course) -> None:
    if not course.training.is_dir():
        raise InputError(f"{course.training}: no such folder, expected that of a training")
    for updates, checkpoint in checkpoints_of(course.training):
        print(updates, checkpoint)


def checkpoints_of(training: Path) -> Iterator[tuple[int, Path]]:
    """Updates and checkpoint, in their order; none if the training keeps only its best and its last one."""
    kept = {
        int(match[1]): path
        for path in training.glob("checkpoint_*.pt")
        if (match := _KEPT.fullmatch(path.name))
    }
    if not kept:
        return
    yield from sorted(kept.items())
    log = training / LOG
    made = _UPDATES.findall(log.read_text(encoding="utf-8", errors="replace")) if log.exists() else []
    if made and int(made[-1]) not in kept:
        yield int(made[-1]), training / LAST
