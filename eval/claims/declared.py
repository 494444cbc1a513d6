"""A file of claims in TOML: what is measured, and what each claim says of it, written before the trainings.

    [seeds]
    five = [1, 10, 20, 30, 40]

    [experiments.lab]
    title = "laboratory"
    one_budget = true           # of all its systems: the cost of one may stand for another's; default: false
    deviations.zero-shot = 6.7  # of seeds, as far as known before

    [values.zero-shot]
    title = "zero-shot BLEU"
    file = "translations/{model}/scores.json"
    key = ["averages", "zero-shot", "bleu"]
    unit = "BLEU"

    [[claims]]
    number = 1
    chapter = 8
    claim = "PostNorm is better than PreNorm"
    section = "8.2.2"
    experiment = "lab"
    value = "zero-shot"
    contrasts = ["2 - 1"]       # systems; `2:other - 2` takes another value of the first
    expect = "above"            # or "below", or "alike"; than = 0
    seeds = "five"
    family = "placement"        # of tests that are corrected together

`docs/claims.md` has what else a claim may have.
"""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_line.errors import InputError
from command_line.records import AnyOf, Anything, Objects, OneOf, Optional, check, refuse_unknown
from eval.claims.verdicts import Expectation

SCHEMA = {
    "level": Optional(float),
    "chapters": Objects({"title": str}),
    "seeds": Objects([int]),
    "experiments": Objects(
        {"title": str, "one_budget": Optional(bool), "deviations": Optional(Objects(float))}
    ),
    "values": Objects(
        {
            "title": str,
            "file": str,
            "key": Optional([Anything]),
            "log": Optional(str),
            "course": Optional([int]),
            "along": Optional([Anything]),
            "level": Optional(float),
            "scale": Optional(float),
            "unit": Optional(str),
            "digits": Optional(int),
        }
    ),
    "claims": [
        {
            "number": int,
            "chapter": AnyOf(int, str),
            "claim": str,
            "section": str,
            "not_tried": Optional(str),
            "note": Optional(str),
            "experiment": Optional(str),
            "value": Optional(str),
            "contrasts": Optional([str]),
            "correlation": Optional([str]),
            "systems": Optional([str]),
            "expect": Optional(OneOf("above", "below", "alike")),
            "than": Optional(float),
            "seeds": Optional(str),
            "paired": Optional(bool),
            "mean": Optional(bool),
            "family": Optional(str),
        }
    ],
}
MOST_DIGITS = 10  # behind the point
_TERM = re.compile(r"(?P<system>[^:\s]+)(:(?P<value>\S+))?")


@dataclass(frozen=True, eq=False)
class Value:
    """One number of every training.

    Attributes:
        file: in the experiment's folder; {model} is the folder of a training, such as system1-seed10 or
            mlsc-seed1, {system} and {seed} its parts.
        key: where the number stands in a JSON file, see `eval.claims.measured`.
        log: in place of a key, the measure of a training's log whose lowest validation counts.
        course: updates of checkpoints, {updates} of the file; the number is where `along` is `level`.
        scale: from the stored to the shown number.
    """

    name: str
    title: str
    file: str
    key: tuple = ()
    log: str | None = None
    course: tuple[int, ...] = ()
    along: tuple = ()
    level: float = 0.0
    scale: float = 1.0
    unit: str = ""
    digits: int = 1


@dataclass(frozen=True)
class Term:
    """A system's mean in a contrast."""

    coefficient: float
    system: str
    value: Value


@dataclass(frozen=True)
class Claim:
    """One row.

    Attributes:
        contrasts: linear combinations of systems, in all of which the claim must hold.
        correlation: two values, over the means of `systems`; in place of contrasts.
        family: claims whose tests are corrected together; a claim without is one of its own.
        not_tried: why; in place of all that is measured.
        deviation: of the value over seeds, where it was known before; None otherwise.
        one_budget: have all systems of the experiment the same one?
    """

    number: int
    chapter: str
    claim: str
    section: str
    not_tried: str | None = None
    note: str | None = None
    experiment: str = ""
    place: str = ""
    value: Value | None = None
    contrasts: tuple[tuple[Term, ...], ...] = ()
    shown: tuple[str, ...] = ()
    correlation: tuple[Value, ...] = ()
    systems: tuple[str, ...] = ()
    expectation: Expectation | None = None
    seeds: tuple[int, ...] = ()
    paired: bool = False
    family: str = ""
    deviation: float | None = None
    one_budget: bool = False

    @property
    def key(self) -> str:
        """Of the family of tests."""
        return self.family or f"claim {self.number}"


@dataclass(frozen=True)
class Claims:
    """The contents of a file.

    Attributes:
        chapters: key -> title.
        experiments: name -> title.
    """

    path: Path
    level: float
    chapters: dict[str, str]
    experiments: dict[str, str]
    claims: list[Claim] = field(default_factory=list)

    def family(self, claim: Claim) -> list[Claim]:
        """All claims that are corrected together with this one."""
        return [one for one in self.claims if one.key == claim.key and not one.not_tried]


def read_claims(path: Path) -> Claims:
    """Read and check a file.

    Raises:
        InputError: the file is missing or no TOML, lacks a field, has one that means nothing, or names what
            it does not declare.
    """
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected claims in TOML") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected claims in TOML") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: no TOML: {error}") from None
    check(record, SCHEMA, path)
    refuse_unknown(record, SCHEMA, path)  # without `familly` a claim would be tested without correction
    for name, experiment in record["experiments"].items():
        for value in experiment.get("deviations", {}):
            _among(value, record["values"], f"{path}: experiments.{name}", "deviations of the value")
    level = float(record.get("level", 0.05))
    if not 0 < level < 1:
        raise InputError(f"{path}: level {level:g}, expected a number between 0 and 1")
    values = {name: _value(name, entry, path) for name, entry in record["values"].items()}
    read = [_claim(entry, record, values, f"{path}: claim {entry['number']}") for entry in record["claims"]]
    for number, claim in enumerate(read):
        if claim.number in {one.number for one in read[:number]}:
            raise InputError(f"{path}: claim {claim.number} occurs twice, expected every number once")
    return Claims(
        path,
        level,
        {key: chapter["title"] for key, chapter in record["chapters"].items()},
        {name: one["title"] for name, one in record["experiments"].items()},
        read,
    )


def _value(name: str, entry: dict, path: Path) -> Value:
    if ("key" in entry) == ("log" in entry):
        raise InputError(f"{path}: values.{name}: expected either a key or a log")
    of_curves = [field in entry for field in ("course", "along", "level")]
    if any(of_curves) and not all((*of_curves, "key" in entry, entry.get("course"))):
        raise InputError(
            f"{path}: values.{name}: expected a key, course, along and level together, of a curve"
        )
    if not 0 <= entry.get("digits", 0) <= MOST_DIGITS:
        raise InputError(
            f"{path}: values.{name}: digits {entry['digits']}, expected a number from 0 to {MOST_DIGITS}"
        )
    lists = {field: tuple(entry.get(field, ())) for field in ("key", "course", "along")}
    return Value(name, **entry | lists)


def _claim(entry: dict, record: dict, values: dict[str, Value], where: str) -> Claim:
    said: dict[str, Any] = {
        "number": entry["number"],
        "chapter": _among(str(entry["chapter"]), record["chapters"], where, "chapter"),
        "claim": entry["claim"],
        "section": entry["section"],
        "note": entry.get("note"),
    }
    if "not_tried" in entry:
        return Claim(**said, not_tried=entry["not_tried"])
    for name in ("experiment", "seeds", "expect"):
        if name not in entry:
            raise InputError(f"{where}: no {name}; expected one, or not_tried with the reason")
    place = _among(entry["experiment"], record["experiments"], where, "experiment")
    seeds = record["seeds"][_among(entry["seeds"], record["seeds"], where, "seeds")]
    if len(seeds) < 2 or len(set(seeds)) < len(seeds):
        raise InputError(f"{where}: seeds {seeds}, expected at least two different ones")
    if entry["expect"] == "alike" and entry.get("than", 0) <= 0:
        raise InputError(f"{where}: expect = 'alike' needs a margin above 0, as than")
    said |= {
        "experiment": record["experiments"][place]["title"],
        "place": place,
        "one_budget": record["experiments"][place].get("one_budget", False),
        "seeds": tuple(seeds),
        "expectation": Expectation(entry["expect"], float(entry.get("than", 0))),
        "paired": entry.get("paired", False),
        "family": entry.get("family", ""),
    }
    if ("contrasts" in entry) == ("correlation" in entry):
        raise InputError(f"{where}: expected either contrasts or a correlation")
    if "correlation" in entry:
        pair = [values[_among(name, values, where, "correlation")] for name in entry["correlation"]]
        systems = tuple(entry.get("systems", ()))
        if len(pair) != 2 or len(systems) < 4:
            raise InputError(f"{where}: expected a correlation of two values over at least four systems")
        return Claim(**said, correlation=tuple(pair), systems=systems)
    value = values[_among(entry.get("value", ""), values, where, "value")]
    if not entry["contrasts"]:
        raise InputError(f"{where}: no contrasts, expected one or more")
    terms = tuple(
        _contrast(text, value, values, entry.get("mean", False), where) for text in entry["contrasts"]
    )
    deviation = record["experiments"][place].get("deviations", {}).get(value.name)
    claim = Claim(**said, value=value, contrasts=terms, shown=tuple(entry["contrasts"]), deviation=deviation)
    for contrast in () if claim.paired else terms:
        if len({term.system for term in contrast}) < len(contrast):
            raise InputError(f"{where}: a system occurs twice in a contrast; expected paired = true")
    return claim


def _among(name: str, known, where: str, what: str) -> str:
    if name not in known:
        raise InputError(f"{where}: {what} {name!r}; expected one of: {', '.join(known)}")
    return name


def _contrast(text: str, value: Value, values: dict[str, Value], mean: bool, where: str) -> tuple[Term, ...]:
    """`2 - 1` or `a + b - c - d`, with blanks around the signs.

    Args:
        mean: divide by the number of systems with +.
    """
    words = text.split()
    if words and words[0] not in "+-":
        words.insert(0, "+")
    signs, systems = words[::2], [_TERM.fullmatch(word) for word in words[1::2]]
    if not systems or len(signs) != len(systems) or None in systems or not set(signs) <= {"+", "-"}:
        raise InputError(f"{where}: contrast {text!r}; expected systems such as 2 - 1, or 2:value - 1")
    if mean and "+" not in signs:
        raise InputError(f"{where}: contrast {text!r}: a mean of no systems, expected one with +")
    share = 1 / signs.count("+") if mean else 1.0
    return tuple(
        Term(
            share if sign == "+" else -share,
            found["system"],
            values[_among(found["value"], values, where, "value")] if found["value"] else value,
        )
        for sign, found in zip(signs, systems, strict=True)
    )
