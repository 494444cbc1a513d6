"""The number of every training that a claim is about, from result files of recipes.

A key leads from the top of a JSON file to a number, item by item: a name is a field, a whole number an item
of a list, `a|b` the first of these fields that there is, `*` the mean of what is reached through every item,
`["a", "b"]` the mean of what is reached through these, and `{"system.name" = "x"}` the one object of a list
that has these fields. `{seed}` and `{system}` stand for the training's. A file of several trainings may lack
one of them: an object that is chosen by its fields, or a field that is named by the seed.

With `course`, numbers of updates, the number is that of a learning curve: where the number under `along`
reaches `level` for the first time, between two checkpoints by linear interpolation.
"""

import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from command_line.completion import CHECKPOINT
from command_line.errors import InputError
from command_line.options import shown
from command_line.outputs import checksum
from eval.claims.declared import Value
from eval.probes.equal_supervised import crossing
from eval.probes.training_logs import validations
from eval.results.files import checkpoint_now, is_overwritten, read_result
from eval.results.scores import SCORES, Scores
from fairseq_ext.checkpoints.progress import BEST
from fairseq_ext.training_record import has_ended

CURVES = "curves"  # folder of a recipe, with what was measured of checkpoints of the course
PROBED = "probes"  # folder of a recipe, with one for every training that was translated


class NotThereYet(Exception):
    """A file or its part of a training."""


def measured(value: Value, folder: Path, system: str, seed: int) -> float | None:
    """The number of one training; None if it is not finished or measured yet, NaN if there is none.

    Raises:
        InputError: a file does not say anything of it, or is of another seed or checkpoint.
    """
    names = {"system": system, "seed": seed, "model": model_of(system, seed)}
    path = folder / _filled(value.file, names)
    training = folder / "models" / names["model"]
    if training.is_dir() and not has_ended(training):
        return None
    try:
        if value.log is not None:
            return value.scale * _lowest(path, value.log)
        if value.course:
            return value.scale * _at_level(value, path, names, folder)
        found = value.scale * _number(path, value, value.key, names)
    except NotThereYet:
        return None
    if path.parent.parent.name == PROBED:
        _check_scored(path, folder / "translations" / names["model"] / SCORES)
    check_inputs(path, folder)
    check_checkpoint(path, folder, training)
    return found


def _number(path: Path, value: Value, key: Sequence, names: Mapping) -> float:
    if not path.exists():
        raise NotThereYet
    record = read_result(path)
    if path.name == SCORES:
        record = Scores.load(path).record
    _check_seed(record, names["seed"], path, is_alone="{model}" in value.file or "{seed}" in value.file)
    return reached(record, key, names, path)


def _check_scored(path: Path, scores: Path) -> None:
    """What a probe found of a training that was made anew since is not of the model with these scores."""
    runs = read_result(path).get("runs", [])
    found = {_checkpoint(one).get("sha256") for one in runs} - {None}
    scored = _checkpoint(read_result(scores)).get("sha256") if scores.exists() else None
    if len(found) == 1 and scored not in (None, *found):
        raise InputError(f"{path}: is of another checkpoint than {scores}; run the stage probe again")


def _checkpoint(record: Mapping) -> Mapping:
    return record.get("checkpoint") or {}


@functools.cache
def check_inputs(path: Path, folder: Path) -> None:
    """A result is of its inputs as they are now: of those results of the experiment that are still where it
    was made. (The same path from another place may be a file of something else.)
    """
    for one in read_result(path).get("inputs", []):
        file = Path(one["path"])
        is_own = file.suffix in (".json", ".log") and file.resolve().is_relative_to(folder.resolve())
        if is_own and file.exists() and checksum(file) != one["sha256"]:
            raise InputError(f"{path}: {file} has changed since; run the stage that makes this result again")


@functools.cache
def check_checkpoint(path: Path, folder: Path, training: Path) -> None:
    """A training that was made anew leaves results of the one before behind.

    Raises:
        InputError: the result is of another checkpoint than the training's.
    """
    record = read_result(path)
    known = _checksums(record)
    for checkpoint in _checkpoints_now(path, record, folder, training) if known else ():
        if is_overwritten(checkpoint, path, known):
            raise InputError(f"{path}: is of another checkpoint than {checkpoint}; run its stage again")


def _checkpoints_now(path: Path, record: Mapping, folder: Path, training: Path) -> list[Path]:
    """Those that lie where a result's were. A system that uses the model of another has no training: where
    the result says that it is.
    """
    runs = [record, *record.get("runs", [])]
    if not training.is_dir():
        return [checkpoint for checkpoint in map(checkpoint_now, runs) if checkpoint]
    of_course = path.is_relative_to(folder / CURVES)
    updates = {_checkpoint(one)["updates"] for one in runs if "updates" in _checkpoint(one)}
    patterns = [f"checkpoint_*_{one}.pt" for one in updates] if of_course else [BEST]
    return [checkpoint for pattern in patterns for checkpoint in training.glob(pattern)]


def _checksums(record: Mapping) -> set[str]:
    """Of the checkpoints that a result is of, as far as it says so."""
    found = {_checkpoint(one).get("sha256") for one in (record, *record.get("runs", []))}
    inputs = {one["sha256"] for one in record.get("inputs", []) if one["path"].endswith(CHECKPOINT)}
    return (found | inputs) - {None}


def _at_level(value: Value, path: Path, names: Mapping, folder: Path) -> float:
    """NaN for a curve that begins above the level or ends below it. What comes after the level may still be
    missing.
    """
    along, numbers = [], []
    for updates in value.course:
        file = Path(_filled(str(path), {"updates": updates}))
        _check_updates(file, updates)
        if file.exists():
            check_checkpoint(file, folder, folder / "models" / names["model"])
        for curve, key in ((along, value.along), (numbers, value.key)):
            one = _number(file, value, key, names)
            curve.append(None if math.isnan(one) else one)
        if along[-1] is not None and along[-1] >= value.level:
            break
    there = crossing(along, value.level)
    found = there and there.of(numbers)
    return math.nan if found is None else found


def _check_updates(file: Path, updates: int) -> None:
    found = _checkpoint(read_result(file)).get("updates", updates) if file.exists() else updates
    if found != updates:
        raise InputError(f"{file}: is of the checkpoint after {found} updates, expected {updates}")


def model_of(system: str, seed: int) -> str:
    """The folder of a training, as recipes name it."""
    return f"{'system' if system[0].isdigit() else ''}{system}-seed{seed}"


def _lowest(path: Path, measure: str) -> float:
    """Of a training that has ended: before, its log may have lower ones still to come."""
    if not path.exists() or not has_ended(path.parent):
        raise NotThereYet
    known = [values[measure] for values in validations(path).values() if measure in values]
    if not known:
        raise InputError(f"{path}: no {measure!r} in its validations")
    return min((one for one in known if math.isfinite(one)), default=math.nan)


def _check_seed(record: Mapping, seed: int, path: Path, is_alone: bool) -> None:
    """A file under another seed's name would count a training twice; one of several trainings says which.

    Args:
        is_alone: is the file that of a single training?
    """
    for one in [record, *(record.get("runs", []) if is_alone else [])]:
        system = one.get("system")
        found = system.get("seed") if isinstance(system, Mapping) else None
        if found not in (None, seed):
            raise InputError(f"{path}: is of seed {found}, expected {seed}")


def reached(record, key: Sequence, names: Mapping, path: Path) -> float:
    """The number that a key leads to; NaN where there is null on the way."""
    if record is None:
        return math.nan
    if not key:
        if isinstance(record, bool) or not isinstance(record, int | float) or not math.isfinite(record):
            raise InputError(f"{path}: found {shown(record)}, expected a number")
        return float(record)
    first, rest = key[0], key[1:]
    if isinstance(first, list) or first == "*":
        chosen = first if isinstance(first, list) else _places(record)
        if not chosen:
            raise InputError(f"{path}: found {shown(record)}, expected numbers in it")
        return statistics.fmean(reached(_step(record, one, names, path), rest, names, path) for one in chosen)
    return reached(_step(record, first, names, path), rest, names, path)


def _places(record) -> list:
    if isinstance(record, Mapping):
        return list(record)
    return list(range(len(record))) if isinstance(record, list) else []


def _step(record, place, names: Mapping, path: Path):
    if isinstance(place, Mapping):
        fields = {name: str(_filled(value, names)) for name, value in place.items()}
        objects = [one for one in record if isinstance(one, Mapping)] if isinstance(record, list) else []
        found = [one for one in objects if all(_field(one, name) == value for name, value in fields.items())]
        if len(found) == 1:
            return found[0]
        if isinstance(record, list) and not found:
            raise NotThereYet
    elif isinstance(place, str) and isinstance(record, Mapping):
        for name in _filled(place, names).split("|"):
            if name in record:
                return record[name]
        if "{seed}" in place:
            raise NotThereYet
    elif isinstance(place, int) and isinstance(record, list) and -len(record) <= place < len(record):
        return record[place]
    raise InputError(f"{path}: no {place!r} where a claim looks for it")


def _field(record, name: str) -> str:
    """`system.seed`: a field of a field."""
    for part in name.split("."):
        record = record.get(part) if isinstance(record, Mapping) else None
    return str(record)


def _filled(value, names: Mapping):
    for name, filled in names.items() if isinstance(value, str) else ():
        value = value.replace(f"{{{name}}}", str(filled))
    return value
