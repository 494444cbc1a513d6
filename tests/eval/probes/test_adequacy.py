"""`eval adequacy`: cosines against a loop, the table, and encoders that are not there."""

import json
import math

import numpy as np
import pytest

from command_line.dispatch import run as run_package
from embeddings.__main__ import COMMANDS
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder
from eval.probes.adequacy import cosines
from tests.eval.rows import rows_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class ByLetters(SentenceEncoder):
    """A stand-in for an encoder: counts of letters; an empty line has no direction at all."""

    name, width = "letters", len(LETTERS)

    def __init__(self):
        self.asked = set()

    def encode(self, sentences, language=None):
        self.asked.add((sentences[0], language))
        self.cut += sum(line == "zzz" for line in sentences)
        counts = [[line.lower().count(letter) for letter in LETTERS] for line in sentences]
        return np.array(counts, dtype=np.float32)

    def record(self):
        return {"name": self.name, "kind": "letters", "model": "x", "width": self.width}


def loop_cosine(first: str, second: str) -> float:
    vectors = [[line.lower().count(letter) for letter in LETTERS] for line in (first, second)]
    product = sum(a * b for a, b in zip(*vectors, strict=True))
    norms = [math.sqrt(sum(a * a for a in vector)) for vector in vectors]
    return product / (norms[0] * norms[1]) if all(norms) else 0.0


@pytest.fixture
def letters():
    return ByLetters()


@pytest.fixture
def encoder(letters, monkeypatch, tmp_path):
    """The path of a model that is read as the stand-in."""
    monkeypatch.setattr(EncoderOptions, "load", lambda options: letters)
    (tmp_path / "x").write_text("")
    return tmp_path / "x"


def test_means_of_hypotheses_and_references(encoder, translated, texts, command, tmp_path):
    hypotheses = {"de-en": [texts["en"][0], "", "zzz", texts["de"][3]], "en-fr": texts["fr"]}
    folder = translated("one", hypotheses)
    other = translated("two", {"de-en": texts["en"], "en-fr": texts["en"]})
    done = command("adequacy", folder, other, "--model", encoder, "--output", tmp_path / "found")
    assert done.status == 0, done.err
    record, file = json.loads((tmp_path / "found/adequacy.json").read_text()), tmp_path / "found/adequacy.csv"
    assert (record["format"], record["kind"], record["encoder"]["model"]) == (1, "adequacy", "x")
    assert record["cut"] == 1 and "as many tokens as letters reads, or more: 1;" in done.err
    assert [run["encoder"]["name"] for run in record["runs"]] == ["letters"] * 2

    def measured(run: int, direction: str, measure: str) -> float:
        return rows_of(file, run=run, direction=direction, measure=measure).value.item()

    for direction, run in (("de-en", 0), ("en-fr", 0), ("en-fr", 1)):
        source, target = direction.split("-")
        lines = texts["en"] if run else hypotheses[direction]
        expected = np.mean([loop_cosine(*pair) for pair in zip(texts[source], lines, strict=True)])
        gold = np.mean([loop_cosine(*pair) for pair in zip(texts[source], texts[target], strict=True)])
        assert measured(run, direction, "adequacy") == pytest.approx(expected)
        assert measured(run, direction, "reference_adequacy") == pytest.approx(gold)
    assert measured(1, "en-fr", "adequacy") == pytest.approx(1)  # copies of the source

    report = command("report", tmp_path / "found/adequacy.json", "--output", tmp_path / "report")
    assert report.status == 0, report.err
    page = (tmp_path / "report/report.md").read_text()
    gold = 100 * np.mean([loop_cosine(*pair) for pair in zip(texts["en"], texts["fr"], strict=True)])
    (reference,) = [line for line in page.splitlines() if line.startswith("| Reference |")]
    assert reference.endswith(f" | {gold:.2f} |")
    assert any(line.startswith("| two | 1 |") and line.endswith("| 100.00 |") for line in page.splitlines())


def test_vectors_of_another_program(translated, texts, command, tmp_path):
    """Those of LASER, for example: one file of all sentences of a language."""
    hypotheses = [texts["en"][0], "", "zzz", "another line"]
    folder = translated("one", {"de-en": hypotheses})
    vectors = {}
    for language, lines in (("de", texts["de"]), ("en", [*texts["en"], *hypotheses])):
        (tmp_path / f"all.{language}").write_text("".join(f"{line}\n" for line in lines))
        vectors[language] = ByLetters().encode(lines)
        (tmp_path / f"{language}.emb").write_bytes(vectors[language].tobytes())
    pairs = [f"{tmp_path}/all.{language}={tmp_path}/{language}.emb" for language in vectors]
    main = ["import", *pairs, "--encoder-name", "LASER", "--output", str(tmp_path / "vectors")]
    assert run_package("embeddings", "", COMMANDS, main) == 0
    done = command("adequacy", folder, "--model", tmp_path / "vectors", "--output", tmp_path / "found")
    assert done.status == 0, done.err
    rows = rows_of(tmp_path / "found/adequacy.csv").set_index("measure").value
    expected = [loop_cosine(*pair) for pair in zip(texts["de"], hypotheses, strict=True)]
    assert rows["adequacy"] == pytest.approx(np.mean(expected))
    expected = [loop_cosine(*pair) for pair in zip(texts["de"], texts["en"], strict=True)]
    assert rows["reference_adequacy"] == pytest.approx(np.mean(expected))


@pytest.mark.parametrize(
    ("there", "is_one"),
    [
        ({}, True),
        ({"model": "y/x"}, True),  # the same weights, moved
        ({"weights": {"w": "2"}}, False),
        ({"pooling": "cls"}, False),
        ({"weights": None}, True),  # vectors of another program have none
        ({"name": "z", "weights": None}, False),
    ],
)
def test_numbers_of_two_encoders_are_not_in_one_table(
    letters, encoder, translated, texts, command, tmp_path, monkeypatch, there, is_one
):
    files, own = [], letters.record()
    for name, fields in (("one", {}), ("two", there)):
        record = {**own, "weights": {"w": "1"}, "pooling": "mean", **fields}
        monkeypatch.setattr(letters, "record", lambda record=record: record)
        folder = translated(name, {"de-en": texts["en"]})
        assert command("adequacy", folder, "--model", encoder, "--output", tmp_path / name).status == 0
        files.append(tmp_path / name / "adequacy.json")
    result = command("report", *files, "--output", tmp_path / "report")
    assert (result.status == 0) == is_one
    assert is_one or f"error: {files[1]}: encoder of " in result.err


def test_languages_reach_the_encoder(letters, encoder, translated, texts, command, tmp_path):
    folder = translated("one", {"de-en": ["found", "", "", ""], "fr-de": ["gefunden", "", "", ""]})
    done = command("adequacy", folder, "--model", encoder, "--output", tmp_path / "found")
    assert done.status == 0, done.err
    given = {(texts[language][0], language) for language in ("de", "en", "fr")}
    assert letters.asked == given | {("found", "en"), ("gefunden", "de")}


def test_a_zero_vector_has_cosine_zero():
    assert cosines(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0.0]
    assert cosines(np.array([[3.0, 4.0]]), np.array([[-3.0, -4.0]])) == pytest.approx([-1.0])


def test_a_model_that_is_not_there(translated, texts, command, tmp_path):
    folder = translated("one", {"de-en": texts["en"]})
    done = command("adequacy", folder, "--model", "/no/such", "--output", tmp_path / "found")
    assert done.status == 2
    assert done.err.endswith("--model /no/such: no such file or folder; expected an encoder\n")
