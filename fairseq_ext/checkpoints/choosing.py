"""Which checkpoints of a training are averaged: the last n, or the n with the best validation.

A training keeps one state under several names (`checkpoint_best.pt`, `checkpoint_3_9000.pt`); what tells two
checkpoints of it apart is their number of updates, and that is in the file.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line.errors import InputError
from fairseq_ext.axes.options import option
from fairseq_ext.axes.record import describe
from fairseq_ext.checkpoints import origin
from fairseq_ext.checkpoints.averaging import averaged_from
from fairseq_ext.checkpoints.progress import updates_of
from fairseq_ext.checkpoints.reading import as_one_line, read_checkpoint
from fairseq_ext.checkpoints.tasks import languages_of


@dataclass(frozen=True)
class Candidate:
    """What a checkpoint says of itself.

    Attributes:
        updates: of its training so far; None if it does not say.
        validation: the measure that `checkpoint_best.pt` is chosen by; None if there was no validation.
        measure: its name.
        maximized: is a higher value of it better?
        averaged: is it the mean of others?
        system: its choice on every axis but the schedule, its languages and directions, and its dictionary;
            checkpoints are averaged where these are equal.
    """

    path: Path
    updates: int | None
    validation: float | None
    measure: str
    maximized: bool
    averaged: bool
    system: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Candidate":
        """What a file says.

        Raises:
            InputError: as `read_checkpoint` and `of`.
        """
        return cls.of(read_checkpoint(path), path)

    @classmethod
    def of(cls, state: dict, path: Path) -> "Candidate":
        """What a checkpoint says that has been read.

        Args:
            state: its contents, with or without the weights.

        Raises:
            InputError: its options make no sense.
        """
        with as_one_line(path):
            languages = languages_of(state, path)
            started = origin.initialized_from(state, path)
            teacher = origin.teacher_of(state, path)
            record = describe(state["cfg"], languages["language_tags"], started, teacher=teacher)
            record.pop("schedule", None)  # a training that was made longer is one all the same
            fingerprint = languages["data"].pop("dictionary_sha256")
            tags = {name: languages[name] for name in ("languages", "language_tags")}
            tags["directions"] = sorted(languages["directions"])
            value = (state.get("extra_state") or {}).get("val_loss")
            chosen_by = state["cfg"].get("checkpoint")
            return cls(
                path=Path(path),
                updates=updates_of(state),
                validation=None if value is None else float(value),
                measure=str(option(chosen_by, "best_checkpoint_metric", "loss")),
                maximized=bool(option(chosen_by, "maximize_best_checkpoint_metric", False)),
                averaged=bool(averaged_from(state, path)),
                system={**record, **tags, "dictionary": fingerprint},
            )


@dataclass(frozen=True)
class Choice:
    """Checkpoints that are to be combined.

    Attributes:
        known: what they say of themselves, if they had to be read to be chosen.
    """

    paths: list[Path]
    known: list[Candidate] | None = None

    def candidates(self) -> list[Candidate]:
        """What they say of themselves.

        Raises:
            InputError: as `Candidate.read`.
        """
        return self.known or [Candidate.read(path) for path in self.paths]


def checkpoints_in(paths: Iterable[Path]) -> list[Path]:
    """Files as they are given, and all checkpoints of folders.

    Raises:
        InputError: a folder has none.
    """
    checkpoints: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("checkpoint*.pt")) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: no checkpoint*.pt in it; expected the folder of a training")
        checkpoints += inside
    return checkpoints


def last(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """Those of the most updates, in the order of the training.

    Raises:
        InputError: there are not so many.
    """
    distinct = _once([candidate for candidate in candidates if candidate.updates is not None])
    return _enough(
        sorted(distinct, key=lambda candidate: candidate.updates)[-count:],
        count,
        "--last",
        "a number of updates",
    )


def best(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """Those of the best validation, in the order of the training; of equal ones the later, and none that has
    diverged.

    Raises:
        InputError: there are not so many; validations were of several measures.
    """
    validated = [
        candidate
        for candidate in candidates
        if candidate.updates is not None and candidate.validation is not None
    ]
    distinct = _once([candidate for candidate in validated if math.isfinite(candidate.validation)])
    measures = sorted({candidate.measure for candidate in distinct})
    if len(measures) > 1:
        raise InputError(
            f"--best {count}: checkpoints were chosen by {' and by '.join(measures)}; expected one measure,"
            " or files by their names"
        )
    sign = -1 if any(candidate.maximized for candidate in distinct) else 1
    ranked = sorted(distinct, key=lambda candidate: (sign * candidate.validation, -candidate.updates))[:count]
    return _enough(sorted(ranked, key=lambda candidate: candidate.updates), count, "--best", "a validation")


def _once(candidates: Sequence[Candidate]) -> list[Candidate]:
    """One checkpoint of each training and number of updates, and no mean of others."""
    states = {}
    for candidate in reversed(candidates):
        if not candidate.averaged:
            states[candidate.updates, json.dumps(candidate.system, sort_keys=True, default=str)] = candidate
    return list(states.values())


def _enough(checkpoints: list[Candidate], count: int, wanted: str, what: str) -> list[Candidate]:
    if len(checkpoints) < count:
        raise InputError(
            f"{wanted} {count}: found {len(checkpoints)} different checkpoints with {what}, expected {count}"
            " or more; fairseq-train --keep-interval-updates or --keep-last-epochs keeps them"
        )
    return checkpoints


def check_one_training(candidates: Sequence[Candidate]) -> None:
    """Refuse checkpoints whose mean would be no model: of other axes, languages, directions, seeds or
    dictionaries.
    """
    first = candidates[0]
    for other in candidates[1:]:
        for name in first.system | other.system:
            if name != "name" and first.system.get(name) != other.system.get(name):
                raise InputError(
                    f"{other.path}: {name} is {other.system.get(name)!r:.80}, and"
                    f" {first.system.get(name)!r:.80} in {first.path}; checkpoints of one training have a"
                    " mean"
                )
