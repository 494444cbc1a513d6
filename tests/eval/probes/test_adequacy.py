"""`eval adequacy`: cosines against a loop, the table, and encoders that are not there."""

import json
import math

import numpy as np
import pytest

from embeddings.encoders.options import KINDS
from embeddings.encoders.sentence_encoder import SentenceEncoder
from eval.probes.adequacy import cosines

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
    monkeypatch.setitem(KINDS, "checkpoint", lambda options: letters)
    (tmp_path / "x").write_text("")
    return tmp_path / "x"


def test_means_of_hypotheses_and_references(encoder, translated, texts, command, tmp_path):
    hypotheses = {"de-en": [texts["en"][0], "", "zzz", texts["de"][3]], "en-fr": texts["fr"]}
    folder = translated("one", hypotheses)
    other = translated("two", {"de-en": texts["en"], "en-fr": texts["en"]})
    done = command("adequacy", folder, other, "--model", encoder, "--output", tmp_path / "found")
    assert done.status == 0, done.err
    record = json.loads((tmp_path / "found/adequacy.json").read_text())
    assert (record["format"], record["kind"], record["encoder"]["model"]) == (1, "adequacy", "x")
    assert record["cut"] == 1 and "as many tokens as letters reads, or more: 1;" in done.err
    first, second = (run["directions"] for run in record["runs"])
    for direction, found in (("de-en", first), ("en-fr", first), ("en-fr", second)):
        source, target = direction.split("-")
        lines = hypotheses[direction] if found is first else texts["en"]
        expected = np.mean([loop_cosine(*pair) for pair in zip(texts[source], lines, strict=True)])
        gold = np.mean([loop_cosine(*pair) for pair in zip(texts[source], texts[target], strict=True)])
        assert found[direction]["cosine"] == pytest.approx(expected)
        assert found[direction]["reference_cosine"] == pytest.approx(gold)
    assert second["en-fr"]["cosine"] == pytest.approx(1)  # copies of the source
    table = next((tmp_path / "found").glob("adequacy*.csv")).read_text()
    assert "two" in table and "de-en" in table

    report = command("report", tmp_path / "found/adequacy.json", "--output", tmp_path / "report")
    assert report.status == 0, report.err
    html = (tmp_path / "report/report.html").read_text()
    assert "Adequacy" in html and "100.00" in html and "Reference" in html


@pytest.mark.parametrize(
    ("there", "is_one"),
    [
        ({}, True),
        ({"model": "y/x"}, True),  # the same weights, moved
        ({"weights": {"w": "2"}}, False),
        ({"pooling": "cls"}, False),
        ({"weights": None}, True),  # vectors of another program have none
        ({"weights": None, "model": "y/x"}, False),
    ],
)
def test_numbers_of_two_encoders_are_not_in_one_table(
    encoder, translated, texts, command, tmp_path, there, is_one
):
    files = []
    for name, fields in (("one", {}), ("two", there)):
        folder = translated(name, {"de-en": texts["en"]})
        assert command("adequacy", folder, "--model", encoder, "--output", tmp_path / name).status == 0
        files.append(tmp_path / name / "adequacy.json")
        record = json.loads(files[-1].read_text())
        record["encoder"] |= {"weights": {"w": "1"}, "pooling": "mean", **fields}
        files[-1].write_text(json.dumps(record))
    result = command("report", *files, "--output", tmp_path / "report")
    assert (result.status == 0) == is_one
    assert is_one or "which cannot be compared; report them apart" in result.err


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
