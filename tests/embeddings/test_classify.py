import json

import numpy as np
import pytest

from tests.embeddings.test_retrieve import write
from tests.eval.rows import by_name, rows_of, values_of


def rows(seed, count=40):
    """Sentences of w0 to w3 are of one class, those of w4 to w7 of the other."""
    random = np.random.default_rng(seed)
    kinds = random.integers(0, 2, size=count)
    words = [random.integers(4 * kind, 4 * kind + 4, size=4) for kind in kinds]
    return [f"class{k}\t" + " ".join(f"w{w}" for w in ws) for k, ws in zip(kinds, words, strict=True)]


def corpus(folder, names):
    for seed, name in enumerate(names):
        write(folder / name, rows(seed))
    return folder


OWN = [f"{language}.{part}.tsv" for language in ("de", "en") for part in ("train", "valid", "test")]


def classify(command, one_space, output, *argv):
    options = ["--output", output, "--runs", "2", "--epochs", "20", "--learning-rate", "0.01"]
    result = command("classify", *one_space, *options, *argv)
    assert result.status == 0, result.err
    return json.loads((output / "classification.json").read_text())["runs"][0]


def test_taught_in_one_language_and_tested_in_all(command, one_space, tmp_path):
    folder = corpus(tmp_path / "own", OWN)
    run = classify(command, one_space, tmp_path / "out", folder, "--languages", "de,en")
    file = tmp_path / "out/classification.csv"
    measured = rows_of(file, measure="accuracy")
    places = [f"{language}-{other}" for language in ("de", "en") for other in ("de", "en")]
    assert sorted(zip(measured.direction, measured.repeat, strict=True)) == [
        (place, seed) for place in places for seed in (1, 2)
    ]
    assert measured.value.min() > 80
    assert by_name(file, "direction", measure="lines") == dict.fromkeys(places, 40)
    assert run["dataset"] == "own" and values_of(file, measure="classes") == [2]
    assert run["train_examples"] == {"de": 40, "en": 40}
    assert run["hyperparameters"] == {
        "hidden": [10, 8], "epochs": 20, "batch": 12, "learning_rate": 0.01, "weight_decay": 0.0,
        "standardize": False, "runs": 2,
    }  # fmt: skip


def test_the_names_of_mldoc(command, one_space, tmp_path):
    names = ["german.train.1000", "german.dev", "german.test", "english.test"]
    folder = corpus(tmp_path / "mldoc", names)
    arguments = [folder, "--layout", "mldoc", "--languages", "en", "--train-languages", "de"]
    run = classify(command, one_space, tmp_path / "out", *arguments)
    measured = rows_of(tmp_path / "out/classification.csv", measure="accuracy")
    assert set(measured.direction) == {"de-en"} and run["dataset"] == "MLDoc"


def test_languages_reach_the_encoder(asked, completed, tmp_path):
    for name in ("german.train.1000", "german.dev", "german.test", "english.test"):
        write(tmp_path / "mldoc" / name, [f"a\t{name}", "b\tx"])
    words = [tmp_path / "mldoc", "--layout", "mldoc", "--languages", "de,en", "--train-languages", "de"]
    completed("classify", *words, "--model", tmp_path / "x", "--epochs", "1", "--output", tmp_path / "out")
    assert sorted(asked) == [
        ("english.test", "en"), ("german.dev", "de"), ("german.test", "de"), ("german.train.1000", "de"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("de.train.tsv", ["a\tw1", "w2"], ":2: found 'w2', expected label<TAB>sentence"),
        ("de.train.tsv", ["a\tw1", "a\tw2"], "only the label 'a'; expected at least two"),
        ("en.test.tsv", ["class0\tw1", "new\tw2"], ":2: label 'new' is not in"),
        ("en.valid.tsv", [], "is empty, expected lines label<TAB>sentence"),
    ],
)
def test_bad_input_is_one_line(refusal, one_space, tmp_path, name, lines, message):
    folder = corpus(tmp_path / "own", OWN)
    write(folder / name, lines)
    options = ["--languages", "de,en", "--output", tmp_path / "out"]
    assert message in refusal("classify", *one_space, folder, *options)


def test_a_part_that_is_not_there(refusal, one_space, tmp_path):
    folder = corpus(tmp_path / "own", OWN[:-1])
    options = ["--languages", "de,en", "--output", tmp_path / "out"]
    assert "en.test.tsv: no such file" in refusal("classify", *one_space, folder, *options)
