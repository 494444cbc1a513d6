"""The number of every training that a claim is about, from result files of recipes.

A key leads from the top of a JSON file to a number, item by item: a name is a field, a whole number an item
of a list, `a|b` the first of these fields that there is, `*` the mean of what is reached through every item,
`["a", "b"]` the mean of what is reached through these, and `{"system.name" = "x"}` the one object of a list
that has these fields. `{seed}` and `{system}` stand for the training's.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from command_line.errors import InputError
from command_line.options import shown
from eval.claims.declared import Value
from eval.probes.training_logs import validations
from eval.results.files import read_result
from eval.results.scores import SCORES, Scores


def measured(value: Value, folder: Path, system: str, seed: int) -> float | None:
    """The number of one training; None if its file is not there yet, NaN if that says that there is none.

    Raises:
        InputError: the file does not say anything of it, or is of another seed.
    """
    names = {"system": system, "seed": seed, "model": model_of(system, seed)}
    path = folder / _filled(value.file, names)
    if not path.exists():
        return None
    if value.log is not None:
        return value.scale * _lowest(path, value.log)
    record = read_result(path)
    if path.name == SCORES:
        record = Scores.load(path).record
    _check_seed(record, seed, path)
    return value.scale * reached(record, value.key, names, path)


def model_of(system: str, seed: int) -> str:
    """The folder of a training, as recipes name it."""
    return f"{'system' if system[0].isdigit() else ''}{system}-seed{seed}"


def _lowest(path: Path, measure: str) -> float:
    known = [values[measure] for values in validations(path).values() if measure in values]
    if not known:
        raise InputError(f"{path}: no {measure!r} in its validations")
    return min(known)


def _check_seed(record: Mapping, seed: int, path: Path) -> None:
    """A file under another seed's name would count a training twice; one of several trainings says which."""
    runs = record.get("runs", [])
    for one in [record, *(runs if len(runs) == 1 else [])]:
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
    elif isinstance(place, str) and isinstance(record, Mapping):
        for name in _filled(place, names).split("|"):
            if name in record:
                return record[name]
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
