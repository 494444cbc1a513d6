"""The result files that commands hand to each other, read with one-line errors.

`translate` writes `OUT/translate.json`, `score` adds `OUT/scores.json`, `compare` writes a comparison. Every
file says `"format": 1` and, from `score` on, its `"kind"`, so that the report can be given any mixture of
files.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError, at
from command_line.names_in_records import plain_name

FORMAT = 1
TRANSLATION, SCORES = "translate.json", "scores.json"
KIND_NAMES = {
    str: "a string",
    int: "a whole number",
    dict: "an object",
    list: "a list",
    (int, float): "a number",
}


def read_result(path) -> dict:
    """Read one result file.

    Raises:
        InputError: the file is missing, not UTF-8 JSON, not an object, or of another format version.
    """
    path = Path(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected a result file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}), expected JSON") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{at(path, error.lineno)}: not JSON: {error.msg} (column {error.colno})") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: found a JSON {type(value).__name__}, expected an object")
    if value.get("format") != FORMAT:
        raise InputError(f"{path}: found format {value.get('format')!r}, expected {FORMAT}")
    return value


def field(record: dict, name: str, kind, path):
    """The value of a dotted `name` ("data.path") in `record`; an `InputError` if it is missing or not a
    `kind`.
    """
    value = record
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            raise InputError(f"{path}: field {name!r} is missing")
        value = value[part]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{path}: field {name!r} is {value!r:.60}, expected {KIND_NAMES[kind]}")
    return value


def split_direction(direction: str, path="direction") -> tuple[str, str]:
    """`"de-fr"` -> `("de", "fr")`: from de to fr."""
    source, dash, target = direction.partition("-")
    if not (source and dash and target) or "-" in target or source == target:
        raise InputError(f"{path}: {direction!r} is not a direction such as 'de-fr' or 'eng_Latn-zh_Hans'")
    plain_name(direction, f"{path}: direction")
    return source, target


@dataclass(frozen=True, eq=False)
class Translation:
    """A folder of translations: the contents of its `translate.json` (or of `scores.json`, which repeats
    them).
    """

    path: Path  # the JSON file
    record: dict

    @classmethod
    def load(cls, path) -> "Translation":
        """Read and check the file; `InputError` names the file and the field that is wrong."""
        path = Path(path)
        record = read_result(path)
        field(record, "system.name", str, path)
        field(record, "data.path", str, path)
        plain_name(field(record, "split", str, path), f"{path}: field split")
        for direction, entry in field(record, "directions", dict, path).items():
            split_direction(direction, path)
            if field(entry, "kind", str, f"{path}: direction {direction}") not in ("supervised", "zero-shot"):
                raise InputError(
                    f"{path}: direction {direction}: kind is {entry['kind']!r},"
                    " expected 'supervised' or 'zero-shot'"
                )
        if not record["directions"]:
            raise InputError(f"{path}: no directions")
        return cls(path, record)

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def directions(self) -> dict[str, dict]:
        return self.record["directions"]

    @property
    def system(self) -> dict:
        return self.record["system"]

    @property
    def seed(self):
        return self.system.get("seed")

    @property
    def pivot(self) -> str | None:
        return self.record.get("pivot")

    @property
    def name(self) -> str:
        """The system's name; one that translates through a pivot is a system of its own."""
        return f"{self.system['name']} (pivot {self.pivot})" if self.pivot else self.system["name"]

    @property
    def dataset(self) -> str:
        """What the test set is called in tables: the field `dataset`, or the name of the data folder."""
        return str(self.record.get("dataset") or Path(self.record["data"]["path"]).name)


class Scores(Translation):
    """One scored folder: everything of the translation plus scores per direction and their averages."""

    @classmethod
    def load(cls, path) -> "Scores":
        scores = super().load(path)
        if scores.record.get("kind") != "scores":
            raise InputError(
                f"{path}: kind is {scores.record.get('kind')!r}, expected 'scores'; run: eval score"
            )
        for direction, entry in scores.directions.items():
            for measure in ("bleu", "chrf"):
                field(entry, measure, (int, float), f"{path}: direction {direction}")
        field(scores.record, "averages", dict, path)
        field(scores.record, "scoring", dict, path)
        return scores

    def average(self, group: str, measure: str) -> float | None:
        """Mean over the directions of a group ("zero-shot", "supervised", "from-en", "to-en", "all")."""
        return self.record["averages"].get(group, {}).get(measure)


def result_file(path, name: str) -> Path:
    """A result file, given itself or the folder that holds it under `name`."""
    path = Path(path)
    return path / name if path.is_dir() else path
