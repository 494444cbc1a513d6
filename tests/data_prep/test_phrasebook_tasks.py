"""`phrasebook-tasks`: toy tasks in the formats of the published ones."""

import json

import pytest

from data_prep.phrasebook.tasks import Line, Pair, pairs_of
from tests.our_commands import run_command

TEXTS = {
    "en": [
        "The number: one.",
        "The number: two.",
        "The day: Monday.",
        "The day: Friday.",
        "The number: six.",
    ],
    "de": ["Die Zahl: eins.", "Die Zahl: zwei.", "Der Tag: Montag.", "Der Tag: Freitag.", "Die Zahl: sechs."],
}


@pytest.fixture
def tasks(tmp_path):
    """The tasks of a phrasebook of five lines, three of them for training."""
    for language, lines in TEXTS.items():
        for split in ("train", "valid", "test"):
            (tmp_path / "raw").mkdir(exist_ok=True)
            (tmp_path / f"raw/{split}.de-en.{language}").write_text("".join(f"{line}\n" for line in lines))
    words = ["data_prep", "phrasebook-tasks", "--input", str(tmp_path / "raw"), "--train-lines", "3"]
    assert run_command([*words, "--output", str(tmp_path / "tasks")]) == 0
    return tmp_path / "tasks"


def test_pairs_are_of_a_line_with_itself_its_phrase_and_another_phrase():
    lines = [Line("a: 1", "a", "1"), Line("a: 1", "a", "1"), Line("b: 2", "b", "2"), Line("a: 3", "a", "3")]
    assert list(pairs_of(lines))[:3] == [
        Pair(0, 0, "entailment"), Pair(0, 3, "contradiction"), Pair(0, 2, "neutral"),
    ]  # fmt: skip
    assert [pair.label for pair in pairs_of(lines) if pair.first == 2] == ["entailment", "neutral"]


def test_inference_is_the_same_in_all_languages(tasks):
    english = (tasks / "xnli/multinli_1.0/multinli_1.0_train.jsonl").read_text().splitlines()
    german = (tasks / "xnli/XNLI-MT-1.0/multinli/multinli.train.de.tsv").read_text().splitlines()[1:]
    assert json.loads(english[1]) == {
        "sentence1": "The number: one.", "sentence2": "The number: two.", "gold_label": "contradiction",
    }  # fmt: skip
    assert german[1] == "Die Zahl: eins.\tDie Zahl: zwei.\tcontradictory"
    assert len(english) == len(german)
    dev = (tasks / "xnli/XNLI-1.0/xnli.dev.tsv").read_text()
    assert "Der Tag: Freitag." in dev and "Der Tag: Montag." not in dev  # the lines of training are not in it


def test_answers_stand_in_their_context(tasks):
    squad = json.loads((tasks / "mlqa/MLQA_V1/test/test-context-de-question-de.json").read_text())
    for paragraph, text in zip(squad["data"][0]["paragraphs"], TEXTS["de"], strict=True):
        (answer,) = paragraph["qas"][0]["answers"]
        start = answer["answer_start"]
        assert paragraph["context"] == text
        assert text[start : start + len(answer["text"])] == answer["text"] == text.split(": ")[1][:-1]


def test_names_similarity_and_parallel_text(tasks):
    assert (tasks / "wikiann/dev-en.tsv").read_text().splitlines()[:4] == [
        "The\tO", "day:\tO", "Friday.\tB-LOC", "",
    ]  # fmt: skip
    rated = [line.split("\t")[2] for line in (tasks / "sts/STS.de.tsv").read_text().splitlines()]
    assert rated[:3] == ["5", "2.5", "0"]
    assert (tasks / "tatoeba/tatoeba.deu-eng.deu").read_text().splitlines() == TEXTS["de"]
    assert (tasks / "wmt20/en-de.en").read_text().splitlines() == TEXTS["en"][3:]
    assert (tasks / "monolingual/valid.de").read_text().splitlines() == TEXTS["de"][3:]
