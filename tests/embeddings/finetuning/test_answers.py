"""The task: what is measured of answers that a model gives to all questions of a file."""

import numpy as np
import pytest

from embeddings.finetuning import answers
from embeddings.finetuning.answers import Answers
from embeddings.finetuning.task import Reader
from tests.embeddings.finetuning.squad import pieces, question, word_pieces, write_squad

GERMAN = [
    ("Das Wetter ist heute sehr schön. " * 4 + "Zwei Kinder spielen.",
     question("q1", "Wer?", ("Zwei Kinder", 132)),
     question("q2", "Was ist schön?", ("das Fahrrad", 2), ("Das Wetter", 0))),
    ("Ein neues Fahrrad.", question("q3", "Was?", ("Ein neues Fahrrad", 0), ("Fahrrad", 10))),
]  # fmt: skip


@pytest.fixture(params=[word_pieces, pieces])
def reader(request):
    return Reader(request.param(), 32)


@pytest.fixture
def questions(tmp_path):
    return Answers().read(write_squad(tmp_path / "de.json", *GERMAN), "de")


def said(window, start: int, end: int) -> dict[str, np.ndarray]:
    """Logits of one span."""
    logits = np.zeros((2, len(window["input_ids"])), np.float32)
    logits[0, start] = logits[1, end] = 9
    return {"start_logits": logits[0], "end_logits": logits[1]}


def all_right(windows):
    """Nothing but what windows are to say."""
    return (said(window, window["start_positions"], window["end_positions"]) for window in windows)


def first_three_characters(windows):
    for window in windows:
        first, offsets = window["_first"], window["_offsets"]
        (ends,) = np.nonzero(offsets[:, 1] == 3)
        yield said(window, first, first + int(ends[-1])) if len(ends) else said(window, 0, 0)


@pytest.mark.parametrize("at_a_time", [1, 2, 100])
def test_all_answers_are_right(questions, reader, at_a_time, monkeypatch):
    """However many questions are in memory, some of several windows."""
    monkeypatch.setattr(answers, "AT_A_TIME", at_a_time)
    counts = [Answers().count(question, reader) for question in questions]
    assert counts[0] > 5 and counts[2] == 1
    given = []

    def predict(windows):
        given.append(len(windows))
        return all_right(windows)

    assert Answers().measure(questions, "de", reader, predict).values == {"f1": 100, "exact_match": 100}
    assert given == [sum(counts[start : start + at_a_time]) for start in range(0, 3, at_a_time)]


def test_some_answers_are_partly_right(questions, reader):
    """Of "das", "das" and "ein", the first words; all of these are articles in German."""
    scores = Answers().measure(questions, "nl", reader, first_three_characters)
    np.testing.assert_allclose(scores.by_example["f1"], [0, 200 / 3, 50])
    assert scores.values == pytest.approx({"f1": 100 * (0 + 2 / 3 + 1 / 2) / 3, "exact_match": 0})
    assert Answers().measure(questions, "de", reader, first_three_characters).values == {
        "f1": 0,
        "exact_match": 0,
    }


def test_an_answer_that_is_not_in_its_context_is_measured_all_the_same(reader, tmp_path):
    """A translator's, for example: half of its words are there."""
    asked = question("q1", "Was?", ("neues Auto", 4))
    questions = Answers().read(write_squad(tmp_path / "de.json", ("neues Fahrrad", asked)), "de")
    (window,) = Answers().windows(questions[0], reader)
    assert window["start_positions"] == window["end_positions"] == 0  # nowhere

    def all_of_it(windows):
        for window in windows:
            yield said(window, window["_first"], window["_first"] + len(window["_offsets"]) - 1)

    assert Answers().measure(questions, "nl", reader, all_of_it).values == {"f1": 50, "exact_match": 0}


def test_a_head_has_two_numbers(questions):
    assert Answers().classes(questions) == ("start", "end")
