"""Languages that are identified in the output of one direction and in its references, and the worst lines."""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from command_line.errors import at
from command_line.measurements import numbers
from data_prep.language_identification import EMPTY, NO_LETTERS, LanguageIdentifier
from eval.result_files import split_direction
from eval.scoring.off_target import Intended, by_number, intended, names_of_labels
from eval.scoring.test_sets import DirectionFiles

PLACES = ("source", "english", "empty", "other", "no_letters")


@dataclass(frozen=True)
class Identified:
    """Languages of the hypotheses and of the references of one direction.

    Attributes:
        goal: what is asked of the direction.
        names: the identifier's label -> what the test set calls that language.
        texts: hypotheses, sources, references.
        hypotheses: language and confidence of every line.
        references: language of every line.
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
        """Identify the lines; says so where hypotheses are empty.

        Args:
            labels_of: the identifier's, of all languages of the test set.
        """
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
        found = [
            (self._order(*identified, reference), number)
            for number, (identified, reference) in enumerate(
                zip(self.hypotheses, self.references, strict=True)
            )
            if not self.goal.is_met(identified[0], reference)
        ]
        return [self._example(number) for _, number in sorted(found)]

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
