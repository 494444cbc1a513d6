"""Translated and scored folders: runs of which hypotheses are known, and their systems."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.names_in_records import plain_name
from command_line.outputs import checksum
from command_line.records import check
from data_prep.bleu import tokenizer_of
from eval.record_schemas import TranslationRecord
from eval.result_files import read_result, split_direction
from eval.systems import SEARCH_OPTIONS, TOKENIZER, Run

TRANSLATION, SCORES = "translate.json", "scores.json"
COUNTS = {"identified_languages": "identified", "identified_reference_languages": "identified_reference"}
TEXTS = ("kind", "off_target_note", "bleu_signature", "chrf_signature")  # of a direction, with all checksums


@dataclass(frozen=True, eq=False)
class Translation(Run):
    """A folder of translations: the contents of its `translate.json` (or of `scores.json`, which repeats
    them).
    """

    steps: ClassVar[tuple[str, ...]] = ("translate",)  # that write it

    @classmethod
    def load(cls, path) -> "Translation":
        """Read and check the file; `InputError` names the file and the field that is wrong."""
        check_finished(Path(path).parent, *cls.steps)
        return cls.of(Path(path), read_result(path))

    @classmethod
    def of(cls, path: Path, record: dict) -> "Translation":
        """As `load`, of a record that `read_result` has read."""
        check_finished(path.parent, *cls.steps)
        check(record, TranslationRecord, path)
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
    def rows_sha256(self) -> str:
        return self.record["rows_sha256"]

    @property
    def pivot(self) -> str | None:
        return self.record.get("pivot")

    @property
    def name(self) -> str:
        """The system's name; one that translates through a pivot, or whose search is made to avoid
        off-target output, is a system of its own.
        """
        pivot = f" (pivot {self.pivot})" if self.pivot else ""
        return f"{self.system['name']}{pivot}{self.search_label}"

    @cached_property  # a package is compared with its record, file by file
    def dataset(self) -> str:
        """What the test set is called in tables: the field `dataset`, or what the data folder says."""
        if named := self.record.get("dataset"):
            return named
        # With this come tokenizers, which --help does not wait for.
        from data_prep.formats.package import dataset_of

        return dataset_of(self.folder / self.record["data"]["path"])

    @property
    def languages(self) -> set[str]:
        """All that are translated from or to."""
        return {language for direction in self.directions for language in split_direction(direction)}

    def described(self) -> dict:
        """What a run of a probe says of the translation that it has looked at."""
        return {
            "system": self.system | {"name": self.name},
            "dataset": self.dataset,
            "split": self.record["split"],
            "checkpoint": self.record.get("checkpoint"),
            "search": self.search,
            "pivot": self.pivot,
        }


class Scores(Translation):
    """One scored folder: everything of the translation, and how it was scored; the scores are rows beside."""

    steps = ("score", "translate")
    compared_alike = ("kind", "reference_sha256", "bleu_signature")

    @classmethod
    def of(cls, path: Path, record: dict) -> "Scores":
        scores = super().of(path, record)
        if record.get("kind") != "scores":
            raise InputError(f"{path}: kind is {record.get('kind')!r}, expected 'scores'; run: eval score")
        scores._check_translation()
        return scores

    @property
    def measured_with(self) -> dict:
        """The set, how hypotheses were searched, and the kinds of directions."""
        kinds = {direction: entry["kind"] for direction, entry in self.directions.items()}
        search = {name: "none" if value is None else value for name, value in self.search.items()}
        return {"split": self.record["split"], **search, "directions": kinds}

    @property
    def test_sets(self) -> dict[str, dict]:
        """The references, and BLEU's tokens: over others it is another number."""
        return {
            direction: {
                "reference_sha256": entry["reference_sha256"],
                TOKENIZER: tokenizer_of(entry["bleu_signature"]),
            }
            for direction, entry in self.directions.items()
        }

    @property
    def notes(self) -> list[str]:
        """What the identifier cannot tell, by target language."""
        return [
            f"Into {split_direction(direction)[1]}: {entry['off_target_note']}."
            for direction, entry in self.directions.items()
            if entry.get("off_target_note")
        ]

    def _check_translation(self) -> None:
        """Check that a translation beside its scores is the one that was scored."""
        translated = self.folder / TRANSLATION
        if self.path.name != SCORES or not translated.is_file():
            return
        translation = Translation.load(translated)
        fields = ("system", "checkpoint", "data", "split", "pivot", *SEARCH_OPTIONS)
        others = [
            f"field {name!r}" for name in fields if self.record.get(name) != translation.record.get(name)
        ]
        others += [
            f"direction {direction}"
            for direction in sorted(set(self.directions) | set(translation.directions))
            if not self._is_of(translation, direction)
        ]
        if others:
            raise InputError(
                f"{self.path}: is of another translation than {TRANSLATION} beside it ({others[0]}); score"
                " again"
            )

    def _is_of(self, translation: Translation, direction: str) -> bool:
        """Whether a direction was scored as it is translated. Of translations made elsewhere the record does
        not say what is in their files, so that the files are looked at, where they are still there.
        """
        scored, written = (translated.directions.get(direction) for translated in (self, translation))
        if not scored or not written:
            return False
        sha256, file = scored.get("sha256"), translation.folder / f"{direction}.txt"
        if sha256 and written.get("sha256") is None:
            return not file.is_file() or checksum(file) == sha256
        return sha256 == written.get("sha256")


def card_and_rows(record: dict) -> tuple[dict, list[dict]]:
    """What `scores.json` holds, which has no numbers, and the rows of `scores.csv`, from a record of all."""
    measured, card = Measured(), record | {"directions": {}}
    rows = []
    for direction, entry in record["directions"].items():
        texts = {name: value for name, value in entry.items() if name in TEXTS or name.endswith("sha256")}
        card["directions"][direction] = texts
        place = {"kind": entry["kind"], "direction": direction}
        rows += numbers(
            {name: entry[name] for name in entry if name not in texts and name not in COUNTS}, **place
        )
        for name, measure in COUNTS.items():
            for language, count in entry.get(name, {}).items():
                rows += numbers({measure: count}, **place, part=language)
    measured.add(card, rows)
    return card, measured.rows
