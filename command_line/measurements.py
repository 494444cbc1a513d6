"""Every number that a command measures is one row of a table.

`KIND.csv` holds the rows, `KIND.examples.jsonl` sentences, with what is said of each. `KIND.json` beside them
says where they come from: the trainings that were measured, the files that were read, the command. The column
`run` is the place of a row's training among the "runs" of `KIND.json`. A file has the columns that it needs;
all are optional but `run`, `dataset`, `system`, `measure` and `value`.

| column | what the number is of |
|---|---|
| `run` | one training, as the number of its entry in "runs", from 0 |
| `dataset`, `system`, `seed` | for readers: as the entry in "runs" has them |
| `split` | the set of sentences |
| `kind` | "supervised" or "zero-shot" directions; "training": what a classifier learned from |
| `direction` | a direction or a pair of languages (`de-en`), or a language |
| `part` | of a measure: a task, an identified language, a group of languages |
| `group` | of tokens: their kind (`tags`, `word 1`, …), or the label of a classifier; published: the table |
| `layer` | of the network, as `eval/probes/store.py` names them |
| `update` | of the training |
| `repeat` | one of several repetitions: the seed of a classifier, a permutation of sentences |
| `measure` | what was measured, its name in `eval/report.toml` |
| `value` | the number; there is no row where there is none |

`KIND.npz` holds arrays, where a command has them: numbers of single lines, which tests of significance draw,
or the parameters of classifiers.
"""

import csv
import io
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from typing_extensions import TypedDict

from command_line.errors import InputError, at
from command_line.lines import BYTE_ORDER_MARK, decode, read_lines
from command_line.outputs import atomic_path, checksum
from command_line.records import check, parse_json
from command_line.spreadsheets import csv_text

WHOLE = ("run", "seed", "update", "repeat")  # columns of whole numbers
NAMES = ("dataset", "system", "split", "kind", "direction", "part", "group", "layer", "measure")
COLUMNS = (
    *("run", "dataset", "system", "seed", "split", "kind", "direction"),
    *("part", "group", "layer", "update", "repeat", "measure", "value"),
)
EXAMPLES = ".examples.jsonl"  # ends the name of the file
REQUIRED = ("run", "dataset", "system", "measure", "value")


class Example(TypedDict):
    """An example from a run, whatever else it holds."""

    run: int


@dataclass
class Measured:
    """What a command has measured.

    Attributes:
        runs: an entry per training that was measured: "system" (name, seed and axes), "dataset", and how it
            was measured; no numbers. "variant" ends the name of a curve of its own, as ", only words".
            "notes" are sentences for readers of the report.
        rows: the numbers, a dictionary of `COLUMNS` each.
        examples: sentences, with what is said of each; "run" and names as in rows.
        about: what holds for all runs.
        arrays: by name: a number per line, of which tests of significance are made, or parameters.
    """

    runs: list[dict] = field(default_factory=list)
    rows: list[dict] = field(default_factory=list)
    examples: list[dict] = field(default_factory=list)
    about: dict = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, run: dict, rows: Iterable[Mapping], examples: Iterable[Mapping] = ()) -> None:
        """One more training with its rows and examples, which take their names, seed and set from it."""
        names = {
            "dataset": run["dataset"],
            "system": run["system"]["name"] + run.get("variant", ""),
            "seed": run["system"].get("seed"),
        }
        number = len(self.runs)
        self.runs.append(run)
        self.rows += [
            {"split": run.get("split"), **row, "run": number, **names, "value": float(row["value"])}
            for row in rows
        ]
        self.examples += [{"run": number, **names, **example} for example in examples]

    def include(self, reference: Path, measures: Collection[str]) -> None:
        """What a file of rows says of published systems, of these measures: a run for each system."""
        systems: dict[tuple[str, str], list[dict]] = {}
        for row in read_rows(reference):
            if row["measure"] in measures:
                systems.setdefault((row["dataset"], row["system"]), []).append(row)
        for (dataset, name), rows in systems.items():
            self.add({"system": {"name": name}, "dataset": dataset, "reference": str(reference)}, rows)

    @property
    def record(self) -> dict:
        """What `KIND.json` says beside the inputs and the command."""
        return {**self.about, "runs": self.runs}


def numbers(values: Mapping[str, float | None], **columns) -> list[dict]:
    """Rows of several measures that have the other columns in common; None is no row."""
    return [
        {**columns, "measure": name, "value": value} for name, value in values.items() if value is not None
    ]


def low(measure: str) -> str:
    """The measure that is the lower end of the interval of another."""
    return f"{measure}_low"


def high(measure: str) -> str:
    """The measure that is the upper end of the interval of another."""
    return f"{measure}_high"


def write_rows(path: Path, rows: list[dict]) -> str:
    """Write rows as CSV, atomically, with the columns that any of them has. Returns the SHA-256 of the
    file, by which `KIND.json` knows its rows.

    Raises:
        InputError: a number is NaN or infinite; names its row.
    """
    for row in rows:
        if not math.isfinite(row["value"]):
            named = ", ".join(f"{name} {row[name]}" for name in NAMES if row.get(name) is not None)
            raise InputError(f"{path}: {row['value']} was measured, expected a number: {named}")
    columns = [name for name in COLUMNS if name in REQUIRED or any(row.get(name) is not None for row in rows)]
    with atomic_path(path) as temporary:
        table = [columns, *([row.get(name) for name in columns] for row in rows)]
        temporary.write_text(csv_text(table), encoding="utf-8")
    return checksum(path)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Write arrays by their names in numpy's compressed format, atomically; returns the SHA-256."""
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(stream, **arrays)
    return checksum(path)


def read_arrays(path: Path, names: Iterable[str], sha256: str) -> dict[str, np.ndarray]:
    """The arrays of these names that `write_arrays` has written; those that it has not are left out.

    Args:
        sha256: as the file beside it says.

    Raises:
        InputError: the file is missing, or another one.
    """
    check_written(path, sha256)
    with np.load(path) as stored:
        return {name: stored[name] for name in names if name in stored}


def write_examples(path: Path, examples: list[dict]) -> None:
    """Write examples as JSON, one a line, atomically."""
    with atomic_path(path) as temporary:
        lines = (json.dumps(example, ensure_ascii=False) for example in examples)
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_examples(path: Path) -> list[dict]:
    """The examples of a file, if there is one.

    Raises:
        InputError: a line of it is no example; names the line.
    """
    examples = []
    for number, line in enumerate(read_lines(path) if path.exists() else (), 1):
        examples.append(parse_json(line.encode(), path, number))
        check(examples[-1], Example, at(path, number))
    return examples


def read_rows(path: Path, sha256: str | None = None) -> list[dict]:
    """The rows of a file, as dictionaries of all `COLUMNS`; None where one is empty.

    Args:
        sha256: as the file beside it says; None for a table that was not measured.

    Raises:
        InputError: the file is missing, another one, or not such a table, or a number stands in it twice;
            names the line.
    """
    columns = read_columns(path, sha256)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def read_columns(path: Path, sha256: str | None = None) -> dict[str, list]:
    """As `read_rows`, but column -> its values, which takes half the time."""
    check_written(path, sha256)
    text = decode(path.read_bytes().removeprefix(BYTE_ORDER_MARK), path)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = next(reader, [])
        _check_columns(path, columns)
        rows = [(reader.line_num, texts) for texts in reader if texts]
    except csv.Error as error:
        raise InputError(f"{at(path, reader.line_num)}: not CSV: {error}; {_remedy(sha256)}") from None
    first_lines: dict[tuple[str, ...], int] = {}
    place_of_value = columns.index("value")
    for line, texts in rows:
        if len(texts) != len(columns):
            raise InputError(f"{at(path, line)}: another number of fields than line 1 has")
        place = (*texts[:place_of_value], *texts[place_of_value + 1 :])
        if (first := first_lines.setdefault(place, line)) != line:
            raise InputError(f"{at(path, line)}: this number stands in line {first}, too; remove one of them")
    values = {
        name: [_value(path, line, name, texts[place]) for line, texts in rows]
        for place, name in enumerate(columns)
    }
    return {name: values.get(name, [None] * len(rows)) for name in COLUMNS}


def check_written(path: Path, sha256: str | None) -> None:
    """A file is there, and the one that the record beside it was written with."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; {_remedy(sha256)}")
    if sha256 is not None and checksum(path) != sha256:
        raise InputError(
            f"{path}: is not the file that {path.with_suffix('.json').name} beside it was written with;"
            " measure again (--force)"
        )


def _remedy(sha256: str | None) -> str:
    """What helps against a missing or damaged file of rows."""
    return (
        "expected rows such as those of recipes/zero_shot/reference.csv"
        if sha256 is None
        else "measure again (--force)"
    )


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    optional = [name for name in COLUMNS if name not in REQUIRED]
    if not set(REQUIRED) <= set(columns) <= set(COLUMNS) or len(set(columns)) < len(columns):
        raise InputError(
            f"{at(path, 1)}: found the columns {', '.join(columns) or 'none'};"
            f" expected {', '.join(REQUIRED)}, and any of {', '.join(optional)}"
        )


def _value(path: Path, line: int, name: str, text: str):
    if not text and name not in REQUIRED:
        return None
    if text and name in NAMES:
        return text
    try:
        value = int(text) if name in WHOLE else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{at(path, line)}: {name} is {text!r}, expected a {'name' if name in NAMES else 'number'}"
        )
    return value
