"""The result files that commands hand to each other, read with one-line errors.

`translate` writes `OUT/translate.json`, `score` adds `OUT/scores.json`, `compare` writes a comparison. Every
file says `"format": 1` and, from `score` on, its `"kind"`, so that the report can be given any mixture of
files.
"""

from dataclasses import dataclass
from pathlib import Path

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.names_in_records import plain_name
from command_line.options import shown
from command_line.records import check, field, read_json
from eval.results.record_schemas import SCHEMAS, check_result
from eval.results.record_schemas import TRANSLATION as TRANSLATION_RECORD

FORMAT = 1
TRANSLATION, SCORES = "translate.json", "scores.json"


def read_result(path) -> dict:
    """Read one result file.

    Raises:
        InputError: the file is missing, not UTF-8 JSON, of another format version, or not as its
            kind demands.
    """
    record = read_json(path)
    check(record, {}, path)
    if record.get("format") != FORMAT:
        raise InputError(f"{path}: found format {shown(record.get('format'))}, expected {FORMAT}")
    if "kind" in record and field(record, "kind", str, path) in SCHEMAS:
        check_result(record, record["kind"], path)
    return record


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
        check_finished(path.parent, "translate")
        record = read_result(path)
        check(record, TRANSLATION_RECORD, path)
        plain_name(record["split"], f"{path}: field split")
        for direction in record["directions"]:
            split_direction(direction, path)
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
        check_finished(Path(path).parent, "score")
        scores = super().load(path)
        if scores.record.get("kind") != "scores":
            raise InputError(
                f"{path}: kind is {scores.record.get('kind')!r}, expected 'scores'; run: eval score"
            )
        scores._check_translation()
        return scores

    def _check_translation(self) -> None:
        """Where the translation lies beside its scores, it is the one that was scored."""
        beside = self.folder / TRANSLATION
        if self.path.name != SCORES or not beside.is_file():
            return
        translation = Translation.load(beside)
        for name in ("system", "checkpoint", "data", "split", "beam", "pivot"):
            if self.record.get(name) != translation.record.get(name):
                raise self._refusal(f"field {name!r}")
        for direction in sorted(set(self.directions) | set(translation.directions)):
            scored, written = (one.directions.get(direction) for one in (self, translation))
            if not scored or not written or scored.get("sha256") != written.get("sha256"):
                raise self._refusal(f"direction {direction}")

    def _refusal(self, where: str) -> InputError:
        return InputError(
            f"{self.path}: is of another translation than {TRANSLATION} beside it ({where}); score again"
        )

    def average(self, group: str, measure: str) -> float | None:
        """Mean over the directions of a group ("zero-shot", "supervised", "from-en", "to-en", "all")."""
        return self.record["averages"].get(group, {}).get(measure)


def result_file(path, name: str) -> Path:
    """A result file, given itself (`.json`) or the folder that holds it under `name`."""
    path = Path(path)
    return path if path.suffix == ".json" and not path.is_dir() else path / name
