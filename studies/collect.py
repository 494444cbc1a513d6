"""Add the numbers of finished trainings to studies/trainings.csv.

    python -m studies.collect zero_shot-phrasebook=outputs/zero_shot/phrasebook

reads, of every training in the --output of a recipe (SYSTEM-seedN), the measures of studies/claims.toml that
say where they stand, and what the training took. A number that is there already must be the same.
"""

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from command_line import options as types
from command_line.dispatch import run_script
from command_line.errors import InputError
from command_line.measurements import read_rows
from command_line.option_classes import option, positional
from command_line.outputs import atomic_path
from eval.probes import cost
from eval.probes.training_logs import LOG
from fairseq_ext.training_record import has_ended
from studies.claims import COLUMNS, Measure, read_claims, read_trainings
from studies.verdicts import COST, HERE


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which experiments to collect, and where to."""

    folders: list[tuple[str, Path]] = positional(
        "the --output of a recipe",
        nargs="+",
        type=types.assignment("EXPERIMENT=outputs/recipe/config", types.path),
        metavar="EXPERIMENT=DIR",
    )
    claims: Path = option("what is claimed", HERE / "claims.toml")
    trainings: Path = option("file that gets the numbers", HERE / "trainings.csv")


MODEL = re.compile(r"(?P<system>.+)-seed(?P<seed>\d+)")


def numbers(experiment: str, folder: Path, measures: dict[str, Measure]) -> Iterator[tuple]:
    """`COLUMNS` of everything that the trainings of an experiment have."""
    for training in sorted((folder / "models").iterdir()):
        name = MODEL.fullmatch(training.name)
        if name is None or not has_ended(training):
            continue
        where = experiment, name["system"], int(name["seed"])
        for key, measure in measures.items():
            if measure.file and (file := folder / measure.file.format(model=training.name)).is_file():
                yield *where, key, number(file, measure, where[2])
        if (training / LOG).is_file():
            took = cost.taken(training / LOG)
            yield from ((*where, key, took[key]) for key in COST if took[key] is not None)


def number(file: Path, measure: Measure, seed: int) -> float:
    """The mean of the rows that a measure asks for; nan if there are none.

    Raises:
        InputError: the rows are of another seed than the folder.
    """
    rows = read_rows(file)
    for row in rows:
        if row["seed"] not in (None, seed):
            raise InputError(f"{file}: is of seed {row['seed']}, expected {seed}")
    values = [
        row["value"]
        for row in rows
        if all(fnmatchcase(str(row[name]), pattern) for name, pattern in measure.where.items())
    ]
    return measure.scale * sum(values) / len(values) if values else math.nan


def merged(trainings: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Both, in a fixed order.

    Raises:
        InputError: a number is known, and was another one.
    """
    keys = list(COLUMNS[:-1])
    both = trainings.merge(rows, on=keys, how="outer", suffixes=("", "_now"))
    other = both[both.value.notna() & both.value_now.notna() & (both.value != both.value_now)]
    if len(other):
        first = other.iloc[0]
        named = " ".join(str(first[key]) for key in keys)
        raise InputError(
            f"{named} is {first.value_now:g}, but {first.value:g} is known; a training counts once:"
            " leave the folder out, or remove the number"
        )
    both["value"] = both.value.fillna(both.value_now)
    return both[list(COLUMNS)].sort_values(["dataset", "measure", "system", "seed"])


def main(options: Options) -> None:
    claims, trainings = read_claims(options.claims), read_trainings(options.trainings)
    for experiment, folder in options.folders:
        if experiment not in claims.experiments or not (folder / "models").is_dir():
            expected = ", ".join(claims.experiments)
            given = f"{experiment}={folder}"
            raise InputError(f"{given}: expected a folder with models in it, of one of: {expected}")
        rows = pd.DataFrame(numbers(experiment, folder, claims.measures), columns=list(COLUMNS))
        trainings = merged(trainings, rows)
    with atomic_path(options.trainings) as path:
        trainings.to_csv(path, index=False, na_rep="nan", lineterminator="\n")


if __name__ == "__main__":
    sys.exit(run_script())
