"""What classifiers are to recognize: languages, labels of the user's own, or random ones as a control."""

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError, at
from command_line.lines import read_lines
from data_prep.formats.directions import Direction, format_direction
from eval.probes.store import SIDES, StatePart

UNKNOWN = -1  # of a token that has no label
QUESTIONS = ("source", "target")
OWN_LABELS = "label"  # the question that is asked about labels of a file
COLUMNS = ("set", "direction", "side", "sentence", "labels")  # of such a file


@dataclass(frozen=True)
class Languages:
    """Every token has the languages of its direction.

    Attributes:
        classes: question -> its labels, in alphabetical order.
    """

    classes: dict[str, list[str]]

    @classmethod
    def known_from(cls, directions: list[Direction], questions: list[str], where: str) -> "Languages":
        """The languages that the questions about some directions choose from.

        Raises:
            InputError: a question has one language only.
        """
        classes = {
            question: sorted({direction[QUESTIONS.index(question)] for direction in directions})
            for question in questions
        }
        for question, languages in classes.items():
            if len(languages) < 2:
                others = [other for other in QUESTIONS if other != question]
                raise InputError(
                    f"{where}: the only {question} language is {languages[0]}, so there is nothing to"
                    f" recognize; extract more directions, or use --questions {others[0]}"
                )
        return cls(classes)

    def of(self, part: StatePart, split: str, direction: Direction, side: str) -> np.ndarray:
        """Numbers of the classes, questions x tokens of the part; `UNKNOWN` where a token has none."""
        numbers = [
            languages.index(language) if (language := direction[QUESTIONS.index(question)]) in languages
            else UNKNOWN
            for question, languages in self.classes.items()
        ]  # fmt: skip
        return np.repeat(np.array(numbers)[:, None], len(part.tokens), axis=1)


@dataclass(frozen=True)
class ControlTask:
    """Random labels (Hewitt and Liang, 2019): every token of the vocabulary has one, drawn as often as it
    occurs among the true labels. A classifier recognizes them only as far as it memorizes tokens.

    Attributes:
        true: labels; a token without one has no random one.
        frequencies: question -> how often each class is drawn.
    """

    classes: dict[str, list[str]]
    true: "Labels"
    frequencies: dict[str, np.ndarray]

    def of(self, part: StatePart, split: str, direction: Direction, side: str) -> np.ndarray:
        labels = []
        for number, frequencies in enumerate(self.frequencies.values()):
            draws = np.random.default_rng(number).random(int(part.tokens.max()) + 1)  # the same for any size
            ends = np.cumsum(frequencies / frequencies.sum())
            of_vocabulary = np.minimum(np.searchsorted(ends, draws, side="right"), len(frequencies) - 1)
            labels.append(of_vocabulary[part.tokens])
        has_label = self.true.of(part, split, direction, side) != UNKNOWN
        return np.where(has_label, np.stack(labels), UNKNOWN)


@dataclass(frozen=True)
class LabelFile:
    """Labels of a file: tab-separated columns `COLUMNS` with a header. A row has a sentence of one side of a
    direction, counted from 1, and one label for all its words, or one for each, between blanks. Tags and
    `</s>` have none.

    Attributes:
        sentences: set, direction, side -> number of the sentence from 0 -> line of the file, and labels.
    """

    path: Path
    classes: dict[str, list[str]]
    sentences: Mapping[tuple[str, Direction, str], Mapping[int, tuple[int, list[str]]]]

    @classmethod
    def read(
        cls, path: Path, with_states: Mapping[str, Collection[Direction]], train_split: str
    ) -> "LabelFile":
        """The labels of a file.

        Raises:
            InputError: the file is damaged, or has labels of sentences that have no states; names the line.
        """
        sentences: dict = {}
        for number, row in enumerate(csv.reader(read_lines(path), "excel-tab", quoting=csv.QUOTE_NONE), 1):
            if number == 1 and tuple(row) == COLUMNS:
                continue
            place, sentence, labels = _row(at(path, number), number, row, with_states)
            if sentences.setdefault(place, {}).setdefault(sentence, (number, labels))[0] != number:
                raise InputError(f"{at(path, number)}: sentence {row[3]} has labels in an earlier line")
        classes = sorted(
            {
                label
                for (split, _, _), rows in sentences.items()
                for _, labels in rows.values()
                for label in labels
                if split == train_split
            }
        )
        if len(classes) < 2:
            raise InputError(
                f"{path}: {len(classes)} different labels of the set {train_split!r}; expected at least two"
            )
        return cls(path, {OWN_LABELS: classes}, sentences)

    def directions(self, split: str, side: str) -> list[Direction]:
        """Those whose sentences have labels, in alphabetical order."""
        return sorted(direction for one, direction, of in self.sentences if (one, of) == (split, side))

    def of(self, part: StatePart, split: str, direction: Direction, side: str) -> np.ndarray:
        """The labels of a part of the states.

        Raises:
            InputError: a sentence that the part does not have, or another number of words; names the line.
        """
        numbers = {label: number for number, label in enumerate(self.classes[OWN_LABELS])}
        labels, is_word = np.full(len(part.tokens), UNKNOWN), part.is_word
        for sentence, (line, names) in self.sentences.get((split, direction, side), {}).items():
            if sentence >= len(part):
                raise InputError(
                    f"{at(self.path, line)}: sentence {sentence + 1}, but {part.path.name} has {len(part)}"
                )
            tokens = np.arange(*part.offsets[sentence : sentence + 2])
            words = tokens[is_word[tokens]]
            if len(names) not in (1, len(words)):
                raise InputError(
                    f"{at(self.path, line)}: {len(names)} labels, but sentence {sentence + 1} of"
                    f" {part.path.name} has {len(words)} words; expected one label, or one for each word"
                )
            labels[words] = [numbers.get(name, UNKNOWN) for name in names]
        return labels[None]


Labels = Languages | ControlTask | LabelFile


def _row(
    where: str, number: int, row: list[str], with_states: Mapping[str, Collection[Direction]]
) -> tuple[tuple[str, Direction, str], int, list[str]]:
    """Set, direction and side of a row; the number of its sentence, from 0; its labels."""
    if number == 1 or len(row) != len(COLUMNS):
        raise InputError(
            f"{where}: found {len(row)} fields; expected a header and rows of {', '.join(COLUMNS)}"
        )
    split, text, side, sentence, labels = row
    if split not in with_states:
        raise InputError(f"{where}: found the set {split!r}; there are states of {', '.join(with_states)}")
    direction = next((pair for pair in with_states[split] if format_direction(pair) == text), None)
    if direction is None:
        named = ", ".join(map(format_direction, with_states[split]))
        raise InputError(f"{where}: found the direction {text!r}; there are {split} states of {named}")
    if side not in SIDES:
        raise InputError(f"{where}: found the side {side!r}; expected {' or '.join(SIDES)}")
    if not (sentence.isdecimal() and int(sentence)):
        raise InputError(f"{where}: found the sentence {sentence!r}; expected a number from 1")
    if not labels.split():
        raise InputError(f"{where}: no label; expected one, or one for each word")
    return (split, direction, side), int(sentence) - 1, labels.split()
