"""Files of questions: what is read of them, and what is refused."""

import gzip
import json

import pytest

from command_line.errors import InputError
from embeddings.finetuning.answers import Answers
from embeddings.finetuning.questions import Question, find_answer, read_questions, with_place
from tests.embeddings.finetuning.squad import question, squad, write_squad
from tests.embeddings.test_retrieve import write

CONTEXT = "Rom liegt am Tiber, Paris an der Seine."
GERMAN = [
    (
        CONTEXT,
        question("q1", " Wo liegt Rom?", ("am Tiber", 10), ("Tiber", 13)),
        question("q2", "Und Paris?", ("Seine", 33)),
    ),
    ("北京是中国的首都。", question("q3", "首都？", ("北京", 0))),
]
ENGLISH = [
    (
        "Rome lies on the Tiber, Paris on the Seine.",
        question("q2", "And Paris?", ("the Seine", 33)),
        question("q0", "What lies there?", ("Rome", 0)),
        question("q1", "Where is Rome?", ("the Tiber", 13)),
    )
]


@pytest.fixture
def german(tmp_path):
    return read_questions(write_squad(tmp_path / "de.json", *GERMAN))


@pytest.fixture
def english(tmp_path):
    return read_questions(write_squad(tmp_path / "en.json", *ENGLISH))


def test_questions_are_read(german, capsys):
    assert german == [
        Question("q1", "Wo liegt Rom?", CONTEXT, ("am Tiber", "Tiber"), (10, 18)),
        Question("q2", "Und Paris?", CONTEXT, ("Seine",), (33, 38)),
        Question("q3", "首都？", "北京是中国的首都。", ("北京",), (0, 2)),
    ]
    assert capsys.readouterr().err == ""


def test_a_file_may_be_compressed_and_on_many_lines(german, tmp_path):
    path = tmp_path / "test-context-de-question-de.json.gz"
    path.write_bytes(gzip.compress(json.dumps(squad(*GERMAN), indent=1).encode()))
    assert Answers().read(path, "de") == german


@pytest.mark.parametrize(
    ("text", "start", "found"),
    [
        ("Tiber", 13, "Tiber|13"),
        ("Tiber", 0, "Tiber|13"),
        ("Tiber", -1, "Tiber|13"),
        (" an  der\n", 19, "an \tder|20"),
        ("an der", 500, "an \tder|20"),
        (" an ", 19, "an|20"),
        ("e", 36, "e|35"),
        ("e", 37, "e|38"),
        ("ss", 43, "ss|42"),  # which begins within the one before it
        ("  e", 36, "e|38"),
        ("Esss.", -5, "Esss.|40"),
        ("tiber", 13, None),
        ("T.ber", 13, None),
        (" ", 3, None),
        ("", 3, None),
    ],
)
def test_the_nearest_occurrence_of_an_answer(text, start, found):
    context = "Rom liegt am Tiber, an \tder Mosel Seine Esss."
    span = find_answer(context, text, start)
    assert (span and f"{context[slice(*span)]}|{span[0]}") == found


def test_what_is_not_in_its_context_is_left_out_of_training_in_one_line(tmp_path, capsys):
    path = write_squad(
        tmp_path / "de.json",
        *GERMAN,
        ("Köln.", question("q4", "Wo?", ("Bonn", 0)), question("q5", "Wo?", ("Bonn", 0), ("Köln", 2))),
        ("Bonn.", question("q6", "Wo?", ("", 0))),
    )
    read = Answers().read(path, "de")
    assert [one.id for one in read if one.span is None] == ["q4", "q6"] and len(read) == 6
    assert capsys.readouterr().err == ""
    *_, last = kept = Answers().learnable(read, str(path))
    assert [one.id for one in kept] == ["q1", "q2", "q3", "q5"]
    assert last.answers == ("Bonn", "Köln") and last.span == (0, 4)
    assert capsys.readouterr().err == (
        f"warning: {path}: questions without an answer that is in their context: 2 of 6;"
        " they are left out of training\n"
    )
    with pytest.raises(InputError, match=r"de.json: 1 questions, none with an answer that is in its context"):
        with_place([one for one in read if one.id == "q4"], str(path))


def without(name: str) -> dict:
    asked = question("q7", "Wo?", ("Rom", 0))
    del asked[name]
    return asked


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("[]", "found a list, expected an object"),
        ("{}", "field 'data' is missing"),
        (squad(), "no question; expected some"),
        (squad((CONTEXT, without("id"))), "field 'data[0].paragraphs[0].qas[0].id' is missing"),
        (squad((CONTEXT, without("question"))), "question 'q7': field 'question' is missing"),
        (
            squad((CONTEXT, question("q7", "Wo?", ("Rom", "0")))),
            "question 'q7': field 'answers[0].answer_start' is '0', expected a whole number",
        ),
        (squad((CONTEXT, question("q7", "Wo?"))), "question 'q7' has no answers; expected some, as in"),
        (squad(*GERMAN, *GERMAN), "question 'q1' is there twice; expected every id once"),
    ],
)  # fmt: skip
def test_other_files_are_one_line(tmp_path, content, message):
    text = content if isinstance(content, str) else json.dumps(content)
    path = write(tmp_path / "de.json", text.splitlines())
    with pytest.raises(InputError) as error:
        read_questions(path)
    assert f"{path}: {message}" in str(error.value).replace(f"{path}:1: ", f"{path}: ")
    assert "\n" not in str(error.value)


def test_the_code_switched_forms_of_questions(english, german, capsys):
    first, second = Answers().switched(english, german, "de.json")
    assert first == (
        Question("q1", "Wo liegt Rom?", english[0].context, ("the Tiber",), (13, 22)),
        Question("q1", "Where is Rome?", CONTEXT, ("am Tiber", "Tiber"), (10, 18)),
    )
    assert [one.text for one in second] == ["Und Paris?", "And Paris?"]
    assert [one.answers for one in second] == [("the Seine",), ("Seine",)]
    assert capsys.readouterr().err == (
        "warning: de.json: questions that are not in English: 1; English ones that are not in it: 1;"
        " they are left out of code-switching\n"
    )
    assert len(Answers().switched(english, german[:2], "de.json")) == 2
    assert "not in English: 0; English ones that are not in it: 1;" in capsys.readouterr().err
    assert len(Answers().switched(english, german[:2] + english[1:2], "de.json")) == 3
    assert capsys.readouterr().err == ""


def test_other_questions_than_the_english_ones_are_no_translations(english, german):
    with pytest.raises(InputError, match=r"^de\.json: no question has the id of an English one; expected"):
        Answers().switched(english, german[2:], "de.json")
