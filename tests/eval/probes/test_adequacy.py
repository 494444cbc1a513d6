"""`eval adequacy`: cosines against a loop, the table, and encoders that are not there."""

import json
import math
import sys
import types

import numpy as np
import pytest

from eval.probes.adequacy import cosines
from eval.scoring import sentence_encoders

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def by_letters(model: str):
    """A stand-in for an encoder: counts of letters; an empty line has no direction at all."""
    return lambda sentences, language: [
        [line.lower().count(letter) for letter in LETTERS] for line in sentences
    ]


def loop_cosine(first: str, second: str) -> float:
    vectors = [[line.lower().count(letter) for letter in LETTERS] for line in (first, second)]
    product = sum(a * b for a, b in zip(*vectors, strict=True))
    norms = [math.sqrt(sum(a * a for a in vector)) for vector in vectors]
    return product / (norms[0] * norms[1]) if all(norms) else 0.0


@pytest.fixture
def encoder(monkeypatch):
    monkeypatch.setitem(sentence_encoders.ENCODERS, "sentence-transformers", by_letters)


def test_means_of_hypotheses_and_references(encoder, translated, texts, command, tmp_path):
    hypotheses = {"de-en": [texts["en"][0], "", "zzz", texts["de"][3]], "en-fr": texts["fr"]}
    folder = translated("one", hypotheses)
    other = translated("two", {"de-en": texts["en"], "en-fr": texts["en"]})
    done = command("adequacy", folder, other, "--model", "x", "--output", tmp_path / "found")
    assert done.status == 0, done.err
    record = json.loads((tmp_path / "found/adequacy.json").read_text())
    assert (record["format"], record["kind"], record["encoder"]["model"]) == (1, "adequacy", "x")
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


def test_a_zero_vector_has_cosine_zero():
    assert cosines(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0.0]
    assert cosines(np.array([[3.0, 4.0]]), np.array([[-3.0, -4.0]])) == pytest.approx([-1.0])


@pytest.mark.parametrize("returned", [[[1.0, 2.0]], [1.0, 2.0, 3.0, 4.0], [[math.nan]] * 4])
def test_an_encoder_that_returns_something_else(monkeypatch, translated, texts, command, tmp_path, returned):
    monkeypatch.setitem(
        sentence_encoders.ENCODERS, "sentence-transformers", lambda model: lambda *given: returned
    )
    folder = translated("one", {"de-en": texts["en"]})
    done = command("adequacy", folder, "--model", "x", "--output", tmp_path / "found")
    assert done.status == 2
    assert "for 4 sentences of de, expected one vector of finite numbers each" in done.err
    assert not (tmp_path / "found/adequacy.json").exists()


def test_a_model_that_is_not_there(translated, texts, command, tmp_path):
    folder = translated("one", {"de-en": texts["en"]})
    done = command("adequacy", folder, "--model", "/no/such", "--output", tmp_path / "found")
    assert done.status == 2
    assert done.err.endswith("--model /no/such: no such folder; expected a model of sentence-transformers\n")


def test_a_package_that_is_not_installed(monkeypatch, translated, texts, command, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    folder = translated("one", {"de-en": texts["en"]})
    done = command("adequacy", folder, "--model", tmp_path, "--output", tmp_path / "found")
    assert done.status == 2
    assert "not installed; pip install '.[embed]'" in done.err


def test_a_folder_that_is_no_model(monkeypatch, translated, texts, command, tmp_path):
    def refuse(path, local_files_only):
        assert local_files_only
        raise OSError(f"no config.json in {path}\nand more")

    package = types.ModuleType("sentence_transformers")
    package.SentenceTransformer = refuse
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    (tmp_path / "model").mkdir()
    folder = translated("one", {"de-en": texts["en"]})
    done = command("adequacy", folder, "--model", tmp_path / "model", "--output", tmp_path / "found")
    assert done.status == 2
    assert "not a model of sentence-transformers: no config.json in" in done.err
    assert "and more" not in done.err
