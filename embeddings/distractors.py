"""Further candidates of retrieval that differ from a right one in a detail: xsim++ (Chen et al. 2023).

A text, a sentence per line, whose name ends with its language (`more.en`), or what LASER publishes for
Flores: `eng_Latn_augmented.devtest`, a text, and `eng_Latn_errtype.devtest.json`, an object with what was
changed (`errtype`) in which sentence (`src`) for every distractor. Either file will do; with the second,
errors are counted by type.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.records import read_record
from data_prep.languages import usual_names
from embeddings.test_sets import by_language

MISALIGNED = "misaligned"  # not a changed form of the right sentence, but another one
_LASER = re.compile(r"(?P<language>[A-Za-z]+(_[A-Za-z]+)?)_(augmented\.(?P<split>\w+)|errtype\.\w+\.json)")


class Change(TypedDict):
    """A sentence before it was changed, and how."""

    src: str
    errtype: str


@dataclass(frozen=True)
class Distractors:
    """Further candidates in one language.

    Attributes:
        sentences: of them.
        changes: distractor -> the sentence that it was made from, and the type of change.
    """

    language: str | None = None
    sentences: list[str] = field(default_factory=list)
    changes: dict[str, tuple[str, str]] = field(default_factory=dict)

    def of(self, language: str) -> "Distractors":
        """Those in a language."""
        return self if language == self.language else Distractors()

    def among(self, languages: Iterable[str]) -> "Distractors":
        """The same under the code that a test set has for their language.

        Raises:
            InputError: the set does not have the language.
        """
        if self.language is None:
            return self
        there = set(languages)
        meant = usual_names(self.language, there)
        if len(meant) != 1:
            raise InputError(
                f"--distractors: are in {self.language}, which is not one language of the test set; there are"
                f" {', '.join(sorted(there))}"
            )
        return replace(self, language=meant.pop())

    def record(self) -> dict[str, int]:
        """Their language, and how many there are."""
        return {self.language: len(self.sentences)} if self.language else {}

    def errors_by_type(self, retrieved: Sequence[str], right: Sequence[str]) -> dict[str, int]:
        """How many sentences were taken for each right one, by what was changed in it."""
        types = Counter(
            self._type(given.strip(), other.strip())
            for given, other in zip(retrieved, right, strict=True)
            if given != other
        )
        return dict(sorted(types.items()))

    def _type(self, retrieved: str, right: str) -> str:
        source, change = self.changes.get(retrieved, ("", MISALIGNED))
        return change if source == right else MISALIGNED


def files_of(path: Path | None) -> list[Path]:
    """The files that are read: the one that is given, and the changes beside it."""
    if path is None:
        return []
    match = _LASER.fullmatch(path.name)
    changes = (
        match and match["split"] and path.with_name(f"{match['language']}_errtype.{match['split']}.json")
    )
    return [path, changes] if changes and changes.is_file() else [path]


def read_distractors(path: Path | None) -> Distractors:
    """What a file has; nothing without file.

    Raises:
        InputError: an empty text, a name without language, or a JSON file of another form.
    """
    if path is None:
        return Distractors()
    files = files_of(path)
    changes = _read_changes(file for file in files if file.suffix == ".json")
    sentences = list(changes) if path.suffix == ".json" else list(read_lines(path))
    if not sentences:
        raise InputError(f"{path}: is empty, expected a sentence per line")
    match = _LASER.fullmatch(path.name)
    return Distractors(match["language"] if match else next(iter(by_language([path]))), sentences, changes)


def _read_changes(files: Iterable[Path]) -> dict[str, tuple[str, str]]:
    changes = {}
    for path in files:
        record = read_record(path, dict[str, Change])
        changes |= {text.strip(): (made["src"].strip(), made["errtype"]) for text, made in record.items()}
    return changes
