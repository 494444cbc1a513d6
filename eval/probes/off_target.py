"""Where off-target translations end: intended against identified languages, and the worst lines.

Reads folders of `python -m eval translate` and the raw test set beside the data (thesis 8.2.2, 8.2.3). The
same identifier on the references gives its own error: what it calls another language there is its mistake,
not the model's. The worst lines of a direction are those that it is surest about being in another language,
first of all those whose reference it identifies rightly. Shares of words by script show output that mixes
languages inside a line.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import at
from command_line.measurements import Measured, numbers
from command_line.option_classes import option
from command_line.progress import progress
from data_prep.language_identification import EMPTY, NO_LETTERS, LanguageIdentifier, identifier_of
from eval.probes.word_scripts import script_rows
from eval.reporting.result_file import Written, publish
from eval.result_files import split_direction
from eval.scored import Translation
from eval.scoring.off_target import (
    IDENTIFIER,
    Intended,
    by_number,
    check_identifier,
    intended,
    labels_of_languages,
    names_of_labels,
)
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, paths_of

KIND = "off-target"
PLACES = ("source", "english", "empty", "other", "no_letters")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    folders: TranslatedFolders
    identifier: Path | None = option(IDENTIFIER, metavar="FILE")
    worst: int = option("lines to list per direction; 0: none", 5, type=types.natural)
    written: Written


def main(options: Options) -> None:
    translated = options.folders.files()
    inputs = [*paths_of(translated), *([options.identifier] if options.identifier else [])]
    for translation, _ in translated:
        check_identifier(options.identifier, translation.languages)
    publish(KIND, options, inputs, lambda: measure(options, translated), options.written)


def measure(options: Options, translated: list[tuple[Translation, list[DirectionFiles]]]) -> Measured:
    """One run per folder, with the worst lines as examples."""
    measured = Measured()
    for translation, files in translated:
        measured.add(*of_folder(translation, files, options))
    return measured


def of_folder(
    translation: Translation, files: list[DirectionFiles], options: Options
) -> tuple[dict, list[dict], list[dict]]:
    """The run of one folder, its rows and its examples."""
    identifier = identifier_of(options.identifier)
    labels = labels_of_languages(identifier, translation.languages)
    rows, examples, notes = [], [], set()
    for test_set in progress(files, len(files), "identify", "direction"):
        place = {"kind": translation.directions[test_set.direction]["kind"], "direction": test_set.direction}
        identified = Identified.of(test_set, identifier, labels)
        hypotheses, _, references = identified.texts
        of_scripts = script_rows(hypotheses, references, split_direction(test_set.direction)[1])
        rows += [place | row for row in (*identified.rows, *of_scripts)]
        examples += [place | example for example in identified.worst_lines[: options.worst]]
        if identified.goal.note:
            notes.add(f"Into {split_direction(test_set.direction)[1]}: {identified.goal.note}.")
    about = {"identifier": identifier.name, "identifier_labels": labels, "notes": sorted(notes)}
    return translation.described() | about, rows, examples


@dataclass(frozen=True)
class Identified:
    """Languages of the hypotheses and of the references of one direction.

    Attributes:
        names: the identifier's label -> what the test set calls that language.
        texts: hypotheses, sources, references.
        hypotheses: language and confidence of every line.
        source, english: the identifier's labels for the source language and for English.
    """

    goal: Intended
    names: dict[str, str]
    texts: tuple[list[str], ...]
    hypotheses: list[tuple[str, float]]
    references: list[str]
    source: str | None
    english: str | None

    @classmethod
    def of(
        cls, files: DirectionFiles, identifier: LanguageIdentifier, labels_of: Mapping[str, str | None]
    ) -> "Identified":
        """Identify the lines; says so where hypotheses are empty."""
        texts = files.read()
        source, target = split_direction(files.direction)
        hypotheses = identifier.identify_with_confidence(texts[0])
        labels = [language for language, _ in hypotheses]
        if EMPTY in labels:
            print(
                f"warning: {at(files.hypothesis, labels.index(EMPTY) + 1)}: empty, as are"
                f" {labels.count(EMPTY)} of {len(labels)} lines; they count as off-target",
                file=sys.stderr,
            )
        goal = intended((source, target), labels_of)
        references = identifier.identify(texts[2])
        sides = labels_of[source], identifier.label("en")
        return cls(goal, names_of_labels(labels_of), texts, hypotheses, references, *sides)

    @property
    def labels(self) -> list[str]:
        return [language for language, _ in self.hypotheses]

    @property
    def rows(self) -> list[dict]:
        """Lines, and how many of the hypotheses and of the references are "identified" as which language; the
        shares of them that are not in the intended language ("off_target", "identifier_error"), and of lines
        that are off-target in the source language, in English, without text, without letters, in others.
        Without shares where the identifier cannot tell.
        """
        rows = numbers({"lines": len(self.labels)})
        counted = (("identified", self.labels), ("identified_reference", self.references))
        for measure, labels in counted:
            for language, count in by_number(Counter(labels)).items():
                rows += numbers({measure: count}, part=language)
        if self.goal.label is None:
            return rows
        rates = {
            "off_target": self.goal.rate(self.labels, self.references),
            "identifier_error": self.goal.rate(self.references, self.references),
        }
        missed = [
            label
            for label, reference in zip(self.labels, self.references, strict=True)
            if not self.goal.is_met(label, reference)
        ]
        shares = {f"off_target_{place}": n / len(self.labels) for place, n in self._places(missed).items()}
        return [*rows, *numbers(rates | shares)]

    def _places(self, missed: list[str]) -> dict[str, int]:
        """Off-target lines by where they are; English where it is the source counts as the source."""
        names = {self.english: "english", EMPTY: "empty", NO_LETTERS: "no_letters", self.source: "source"}
        places = dict.fromkeys(PLACES, 0)
        for label in missed:
            places[names.get(label, "other")] += 1
        return places

    @property
    def worst_lines(self) -> list[dict]:
        """All off-target lines, the worst first, those without letters and empty ones last."""
        if self.goal.label is None:
            return []
        missed = [
            (self._order(*identified, reference), number)
            for number, (identified, reference) in enumerate(
                zip(self.hypotheses, self.references, strict=True)
            )
            if not self.goal.is_met(identified[0], reference)
        ]
        return [self._example(number) for _, number in sorted(missed)]

    def _order(self, language: str, confidence: float, reference: str) -> tuple:
        without_language = {NO_LETTERS: 1, EMPTY: 2}
        return without_language.get(language, 0), reference != self.goal.label, -round(confidence, 4)

    def _example(self, number: int) -> dict:
        (language, confidence), reference = self.hypotheses[number], self.references[number]
        texts = zip(("hypothesis", "source", "reference"), self.texts, strict=True)
        return {
            "line": number + 1,
            "identified": self.names.get(language, language),
            "confidence": round(confidence, 4),
            "identified_reference": self.names.get(reference, reference),
            **{name: lines[number] for name, lines in texts},
        }
