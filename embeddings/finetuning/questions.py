"""Questions about a context that has their answers, in the layout of SQuAD 1.1 (Rajpurkar et al. 2016).

MLQA (`dev-context-de-question-de.json`), XQuAD and the translations of SQuAD's training set that come with
XTREME (`squad.translate.train.en-de.json`) have it, too.

The text of an answer may not be where the file says that it begins, above all in translations. Then its
nearest occurrence in the context is taken, as large as spaces between its words may be. (XTREME's run_squad
takes a text that is among the words which begin there, and leaves out the question otherwise.) A question
without any answer that is in its context is left out of training, and counted in a warning; tests have it, as
F1 and exact match need no place.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.lines import read_rows
from command_line.records import check, parse_json

_LINES = 1_000  # at a time


class Named(TypedDict):
    id: str


class Paragraph(TypedDict):
    context: str
    qas: list[Named]


class Article(TypedDict):
    paragraphs: list[Paragraph]


class Squad(TypedDict):
    """The layout of a file."""

    data: list[Article]


class Answer(TypedDict):
    text: str
    answer_start: int


class AskedQuestion(TypedDict):
    question: str
    answers: list[Answer]


@dataclass(frozen=True, slots=True)  # SQuAD's training set has 88 thousand, and every translation of it
class Question:
    """A question and its context, which may be of two languages.

    Attributes:
        id: the same in all languages.
        answers: texts, each of which is right.
        span: characters of the context, from and to, that a model learns to answer: of the first of the
            answers that is there; None where none is.
    """

    id: str
    text: str
    context: str
    answers: tuple[str, ...]
    span: tuple[int, int] | None


def read_questions(path: Path) -> list[Question]:
    """The questions of a file, which may be compressed.

    Raises:
        InputError: another layout, an id twice, a question without answers, or no question.
    """
    questions = list(_asked(path))
    if not questions:
        raise InputError(f"{path}: no question; expected some")
    return questions


def with_place(questions: Sequence[Question], where: str) -> list[Question]:
    """Those of which an answer is in the context. The others are counted in a warning.

    Raises:
        InputError: there is none.
    """
    placed = [question for question in questions if question.span is not None]
    if not placed:
        raise InputError(
            f"{where}: {len(questions)} questions, none with an answer that is in its context; expected some"
            " to learn from"
        )
    if len(placed) < len(questions):
        print(
            f"warning: {where}: questions without an answer that is in their context:"
            f" {len(questions) - len(placed):,} of {len(questions):,}; they are left out of training",
            file=sys.stderr,
        )
    return placed


def _asked(path: Path) -> Iterator[Question]:
    record = parse_json(b"".join(chain.from_iterable(read_rows(path, _LINES))), path)
    check(record, Squad, path)
    names = set()
    for paragraph in (paragraph for article in record["data"] for paragraph in article["paragraphs"]):
        for asked in paragraph["qas"]:
            name, where = asked["id"], f"{path}: question {asked['id']!r:.60}"
            if name in names:
                raise InputError(f"{where} is there twice; expected every id once")
            names.add(name)
            check(asked, AskedQuestion, where)
            if not asked["answers"]:
                raise InputError(f"{where} has no answers; expected some, as in SQuAD 1.1")
            yield _question(asked, paragraph["context"])


def _question(asked: dict, context: str) -> Question:
    answers = [(answer["text"], answer["answer_start"]) for answer in asked["answers"]]
    spans = (find_answer(context, text, start) for text, start in answers)
    span = next((span for span in spans if span is not None), None)
    return Question(asked["id"], asked["question"].strip(), context, tuple(text for text, _ in answers), span)


def find_answer(context: str, text: str, start: int) -> tuple[int, int] | None:
    """Where an answer is in its context, without spaces around it.

    Args:
        start: the character where it should begin.

    Returns:
        characters, from and to, of the occurrence that is nearest; None if there is none.
    """
    start += len(text) - len(text.lstrip())
    words = text.split()
    if not words:
        return None
    if start >= 0 and context.startswith(stripped := text.strip(), start):
        return start, start + len(stripped)
    spaced = r"\s+".join(map(re.escape, words))
    spans = (match.span(1) for match in re.finditer(f"(?=({spaced}))", context))  # which may overlap
    return min(spans, key=lambda span: abs(span[0] - start), default=None)


def switched_questions(
    english: Sequence[Question], others: Sequence[Question], where: str
) -> list[tuple[Question, Question]]:
    """Every question in its two code-switched forms ("Multilingual BERT Post-Pretraining Alignment", 2.3).

    Questions belong together by their ids. What only one language has is left out, and counted in a warning.

    Returns:
        the other language's question about the English context, and the English one about the other context.

    Raises:
        InputError: no id is common.
    """
    by_id = {question.id: question for question in english}
    pairs = [(by_id[other.id], other) for other in others if other.id in by_id]
    if not pairs:
        raise InputError(
            f"{where}: no question has the id of an English one; expected translations of the English"
            " questions, with their ids"
        )
    alone, missing = len(others) - len(pairs), len(by_id) - len(pairs)
    if alone or missing:
        print(
            f"warning: {where}: questions that are not in English: {alone:,}; English ones that are not in"
            f" it: {missing:,}; they are left out of code-switching",
            file=sys.stderr,
        )
    return [(replace(ours, text=theirs.text), replace(theirs, text=ours.text)) for ours, theirs in pairs]
