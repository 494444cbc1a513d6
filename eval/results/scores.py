"""Translated and scored folders: runs of which hypotheses are known, and their systems."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.names_in_records import plain_name
from command_line.outputs import checksum
from command_line.records import check
from data_prep.bleu import tokenizer_of
from eval.results.files import read_result, split_direction
from eval.results.record_schemas import TranslationRecord
from eval.results.systems import SEARCH_OPTIONS, Run, System, check_same, group_runs

TRANSLATION, SCORES = "translate.json", "scores.json"
COUNTS = {"identified_languages": "identified", "identified_reference_languages": "identified_reference"}
TEXTS = ("kind", "off_target_note", "bleu_signature", "chrf_signature")  # of a direction, with all checksums


@dataclass(frozen=True, eq=False)
class Translation(Run):
    """A folder of translations: the contents of its `translate.json` (or of `scores.json`, which repeats
    them).
    """

    @classmethod
    def load(cls, path) -> "Translation":
        """Read and check the file; `InputError` names the file and the field that is wrong."""
        path = Path(path)
        check_finished(path.parent, "translate")
        record = read_result(path)
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

    @property
    def dataset(self) -> str:
        """What the test set is called in tables: the field `dataset`, or the name of the data folder."""
        return str(self.record.get("dataset") or Path(self.record["data"]["path"]).name)

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

    compared_alike = ("kind", "reference_sha256", "bleu_signature")

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

    @property
    def notes(self) -> list[str]:
        """What the identifier cannot tell, by target language."""
        return [
            f"Into {split_direction(direction)[1]}: {entry['off_target_note']}."
            for direction, entry in self.directions.items()
            if entry.get("off_target_note")
        ]

    def _check_translation(self) -> None:
        """Where the translation lies beside its scores, it is the one that was scored."""
        translated = self.folder / TRANSLATION
        if self.path.name != SCORES or not translated.is_file():
            return
        translation = Translation.load(translated)
        for name in ("system", "checkpoint", "data", "split", "pivot", *SEARCH_OPTIONS):
            if self.record.get(name) != translation.record.get(name):
                raise self._refusal(f"field {name!r}")
        for direction in sorted(set(self.directions) | set(translation.directions)):
            if not self._is_of(translation, direction):
                raise self._refusal(f"direction {direction}")

    def _is_of(self, translation: Translation, direction: str) -> bool:
        """Whether a direction was scored as it is translated. Of translations made elsewhere the record does
        not say what is in their files, so that the files are looked at, where they are still there.
        """
        scored, written = (one.directions.get(direction) for one in (self, translation))
        if not scored or not written:
            return False
        known, file = scored.get("sha256"), translation.folder / f"{direction}.txt"
        if known and written.get("sha256") is None:
            return not file.is_file() or checksum(file) == known
        return known == written.get("sha256")

    def _refusal(self, where: str) -> InputError:
        return InputError(
            f"{self.path}: is of another translation than {TRANSLATION} beside it ({where}); score again"
        )


def card_and_rows(record: dict) -> tuple[dict, list[dict]]:
    """What `scores.json` holds, which has no numbers, and the rows of `scores.csv`.

    Args:
        record: with the numbers and the texts of every direction.
    """
    measured, card = Measured(), record | {"directions": {}}
    rows = []
    for direction, entry in record["directions"].items():
        texts = {name: one for name, one in entry.items() if name in TEXTS or name.endswith("sha256")}
        card["directions"][direction] = texts
        place = {"kind": entry["kind"], "direction": direction}
        rows += numbers({name: entry[name] for name in entry.keys() - texts.keys() - COUNTS.keys()}, **place)
        for name, measure in COUNTS.items():
            for language, count in entry.get(name, {}).items():
                rows += numbers({measure: count}, **place, part=language)
    measured.add(card, rows)
    return card, measured.rows


def group_scores(scores: Iterable[Scores]) -> list[System]:
    """Systems of scored folders, in the order in which they first appear.

    Raises:
        InputError: one run is given twice, or runs under one name are not the same system, or do not have the
            same directions, or one direction of a dataset was scored with different references, or BLEU with
            different tokenizers; names both files.
    """
    scores = list(scores)
    seen = set()
    for run in scores:
        if run.path.resolve() in seen:
            raise InputError(f"{run.path}: given twice")
        seen.add(run.path.resolve())
    _check_tokenizers(scores)
    check_references(scores)
    systems = group_runs(scores)
    for system in systems:
        for run in system.runs[1:]:
            check_measured_alike(system.runs[0], run)
    return systems


def check_measured_alike(first: Run, run: Run) -> None:
    """Two scored folders of a system are of the same set, search and directions; else an `InputError`."""
    check_same(first, run, "split", first.record["split"], run.record["split"])
    for option in SEARCH_OPTIONS:
        check_same(first, run, option, first.search[option], run.search[option])
    check_same(first, run, "directions", _kinds(first), _kinds(run))


def _kinds(run: Run) -> dict:
    return {direction: entry["kind"] for direction, entry in run.directions.items()}


def _conflicts(found: Iterable[tuple[Scores, str, Any]]) -> Iterator[tuple[Scores, str, Any, Any, Scores]]:
    """Of what is said of directions, what differs from what an earlier run says of the same one.

    Args:
        found: run, direction, and what the run says of it.

    Yields:
        also what the first run of the dataset's direction says, and that run.
    """
    seen: dict[tuple[str, str], tuple[Any, Scores]] = {}
    for run, direction, value in found:
        expected, first = seen.setdefault((run.dataset, direction), (value, run))
        if value != expected:
            yield run, direction, value, expected, first


def _check_tokenizers(scores: list[Scores]) -> None:
    """BLEU over other tokens is another number: it stands in no table and no mean beside this one."""
    tokenizers = (
        (run, direction, tokenizer_of(entry["bleu_signature"]))
        for run in scores
        for direction, entry in run.directions.items()
    )
    for run, direction, found, expected, first in _conflicts(tokenizers):
        raise InputError(
            f"{run.path}: direction {direction}: BLEU with the tokenizer {found!r}, but"
            f" {expected!r} in {first.path}; score both with the same --tokenize"
        )


def check_references(scores: Iterable[Scores]) -> None:
    """A dataset is one test set: neither seeds nor columns of a table are of another one of its name.

    Raises:
        InputError: a direction of a dataset has other references; names both files.
    """
    references = (
        (run, direction, entry["reference_sha256"])
        for run in scores
        for direction, entry in run.directions.items()
    )
    for run, direction, found, expected, first in _conflicts(references):
        raise InputError(
            f"{run.path}: direction {direction}: reference_sha256 is {found}, but {expected} in {first.path};"
            f" expected one test set of {run.dataset}, others under another --dataset"
        )


def check_identifier(scores: Iterable[Scores]) -> None:
    """Languages of all that is shown together were identified by one model.

    Raises:
        InputError: they were by two; names both files.
    """
    first: Scores | None = None
    for run in scores:
        first = first or run
        found, expected = (one.value("scoring", "identifier") for one in (run, first))
        if found != expected:
            raise InputError(
                f"{run.path}: languages were identified by {found}, but by {expected} in {first.path}; score"
                " both by one --identifier, or give them apart"
            )


def check_comet(scores: Iterable[Scores]) -> None:
    """COMET of all that is shown or compared together is of one model, wherever that is stored.

    Raises:
        InputError: it is of two; names both files.
    """
    first: tuple[Scores, str, str | None] | None = None
    for run in scores:
        model = run.value("scoring", "comet_model")
        if model is None:
            continue
        sha256 = run.value("scoring", "comet", "sha256")
        first = first or (run, model, sha256)
        differ = sha256 != first[2] if sha256 and first[2] else model != first[1]
        if differ:
            found, expected = (
                f"{name!r}" + (f" ({digest[:12]})" if digest else "")
                for name, digest in ((model, sha256), first[1:])
            )
            raise InputError(
                f"{run.path}: COMET by {found}, but {expected} in {first[0].path}; score both by one"
                " --comet-model, or give them apart"
            )
