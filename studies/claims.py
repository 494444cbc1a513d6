"""The file of claims, and the numbers of trainings that it is about."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from command_line.errors import InputError, at, check_file

COLUMNS = ("dataset", "system", "seed", "measure", "value")  # of trainings.csv


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Experiment(Strict):
    """A recipe with one configuration; `deviations` over seeds are those that were known before."""

    title: str
    deviations: dict[str, float] = {}


class Measure(Strict):
    """One number of every training.

    Attributes:
        file: rows of one training, in the folder of the experiment; {model} is the folder of the training.
        where: what the columns of the rows hold, with `*` for anything; the number is the mean of these rows,
            times `scale`.
        difference: two measures, in place of a file: the first one minus the second one.
    """

    title: str
    unit: str = ""
    digits: Annotated[int, Field(ge=0, le=10)] = 1
    file: str | None = None
    where: dict[str, str] = {}
    scale: float = 1.0
    difference: tuple[str, str] | None = None


class Claim(Strict):
    """A row of the table, as studies/claims.toml explains it."""

    number: int
    chapter: str
    claim: str
    section: str
    not_tried: str | None = None
    experiment: str = ""
    measure: str = ""
    contrasts: list[dict[str, float]] = []
    correlation: tuple[str, str] | None = None
    systems: list[str] = []
    expect: Literal["above", "below", "alike"] = "above"
    than: float = 0.0
    seeds: str = ""
    paired: bool = False
    family: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _is_complete(self):
        if self.not_tried is None and bool(self.contrasts) == bool(self.correlation):
            raise ValueError("expected either contrasts, a correlation, or not_tried with the reason")
        if self.correlation and len(self.systems) < 4:
            raise ValueError("a correlation needs at least four systems")
        if self.expect == "alike" and self.than <= 0:
            raise ValueError("expect = 'alike' needs a margin above 0, as than")
        return self


class Claims(Strict):
    """The contents of the file."""

    level: Annotated[float, Field(gt=0, lt=1)] = 0.05
    chapters: dict[str, str]
    seeds: dict[str, Annotated[list[int], Field(min_length=2)]]
    experiments: dict[str, Experiment]
    measures: dict[str, Measure]
    claims: list[Claim]

    @model_validator(mode="after")
    def _names_what_there_is(self):
        numbers = [claim.number for claim in self.claims]
        if twice := {number for number in numbers if numbers.count(number) > 1}:
            raise ValueError(f"claim {min(twice)} occurs twice, expected every number once")
        for claim in self.claims:
            named = [("chapter", claim.chapter, self.chapters)]
            if claim.not_tried is None:
                named += [
                    ("experiment", claim.experiment, self.experiments),
                    ("seeds", claim.seeds, self.seeds),
                ]
                measures = claim.correlation or (claim.measure,)
                named += [("measure", measure, self.measures) for measure in measures]
            for what, name, declared in named:
                if name not in declared:
                    raise ValueError(
                        f"claim {claim.number}: {what} {name!r}, expected one of: {', '.join(declared)}"
                    )
        return self

    def family(self, claim: Claim) -> list[Claim]:
        """All claims whose p-values are corrected together with that of this one."""
        if not claim.family:
            return [claim]
        return [other for other in self.claims if other.family == claim.family and other.not_tried is None]


def read_claims(path: Path) -> Claims:
    """Read and check a file.

    Raises:
        InputError: it is missing, no TOML, or not as `Claims` demands; names the field.
    """
    check_file(path, "claims in TOML")
    try:
        return Claims.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path}: {where + ': ' if where else ''}{first['msg']}") from None


def read_trainings(path: Path) -> pd.DataFrame:
    """The numbers of trainings: `COLUMNS`. A number that a training does not have, and never will, is nan.

    Raises:
        InputError: the file is missing or no such table, or a number stands in it twice.
    """
    check_file(path, "the numbers of trainings")
    try:
        rows = pd.read_csv(
            path, dtype={"dataset": str, "system": str, "seed": int, "measure": str, "value": float}
        )
    except ValueError as error:
        raise InputError(f"{path}: {error}; expected CSV with the columns {', '.join(COLUMNS)}") from None
    if tuple(rows.columns) != COLUMNS:
        raise InputError(f"{at(path, 1)}: found {', '.join(rows.columns)}, expected {', '.join(COLUMNS)}")
    twice = rows.duplicated(list(COLUMNS[:-1]))
    if twice.any():
        raise InputError(f"{at(path, twice.argmax() + 2)}: this number stands in an earlier line, too")
    return rows


def numbers_of(
    trainings: pd.DataFrame,
    measures: dict[str, Measure],
    experiment: str,
    measure: str,
    system: str,
    seeds: list[int],
) -> np.ndarray | None:
    """One number per seed; None while one is not there."""
    if pair := measures[measure].difference:
        both = [numbers_of(trainings, measures, experiment, name, system, seeds) for name in pair]
        return None if any(values is None for values in both) else both[0] - both[1]
    rows = trainings[
        (trainings.dataset == experiment) & (trainings.system == system) & (trainings.measure == measure)
    ].set_index("seed")
    return rows.value.loc[seeds].to_numpy() if set(seeds) <= set(rows.index) else None
