"""The shared task in one command: a hand-made example in the layout in which BUCC is published."""

import math

import numpy as np
import pytest

from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder
from tests.embeddings.mined import mined_in
from tests.embeddings.test_retrieve import sentences, write


def write_part(folder, pair, part, first, second, gold):
    """A part as BUCC has it: lines with identifiers `de-000001`, and pairs of these."""
    for language, lines in zip(pair.split("-"), (first, second), strict=True):
        numbered = [f"{language}-{number:06}\t{line}" for number, line in enumerate(lines, start=1)]
        write(folder / f"{pair}.{part}.{language}", numbered)
    if gold is not None:
        source, target = pair.split("-")
        write(folder / f"{pair}.{part}.gold", [f"{source}-{i:06}\t{target}-{j:06}" for i, j in gold])


@pytest.fixture
def folder(tmp_path):
    """Equal sentences have cosine 1. Training: four are equal and right. Test: five are equal, one of them
    twice in German and twice in English, which makes four gold pairs of identifiers and one of sentences.
    """
    lines, noise = sentences(8, seed=1), sentences(12, seed=5)
    folder = tmp_path / "bucc"
    right = [(i, i) for i in range(1, 5)]
    write_part(folder, "de-en", "training", [*lines[:4], *noise[:3]], [*lines[:4], *noise[3:6]], right)
    german, english = [*lines[:5], lines[0], noise[7]], [lines[0], *lines[1:5], lines[0], noise[8]]
    # 1 and 6 are one sentence on either side; 2-2 and 3-3 are right; 7-7 is right, not near; 4 and 5 are not
    gold = [(1, 1), (1, 6), (6, 1), (6, 6), (2, 2), (3, 3), (7, 7)]
    write_part(folder, "de-en", "test", german, english, gold)
    return folder


def bucc(command, one_space, output, folder, *argv):
    options = ["--pairs", "de-en", "--margin", "absolute", *argv]
    result = command("bucc", *one_space, folder, "--output", output, *options)
    assert result.status == 0, result.err
    return {run["dataset"]: run for run in mined_in(output)}


def scores(run):
    return {name: run[name] for name in ("gold_pairs", "precision", "recall", "f1")}


def test_the_threshold_of_the_training_part_is_that_of_the_test_part(
    command, completed, one_space, folder, tmp_path
):
    runs = bucc(command, one_space, tmp_path / "out", folder)
    training, test = runs["BUCC de-en, training"], runs["BUCC de-en, test"]
    assert training["f1"] == 1 and training["pairs"] == 4 and training["threshold"] < 1
    assert test["threshold"] == training["threshold"]
    assert test["threshold_from"] == training["threshold_from"] == "training, de-en"
    # Six German and six English sentences; found are the five equal ones, three of the four gold pairs.
    assert (test["sentences"], test["lines"], test["pairs"]) == ([6, 6], [7, 7], 5)
    assert test["gold_pairs"] == 4
    assert (test["precision"], test["recall"]) == (3 / 5, 3 / 4)
    assert test["f1"] == pytest.approx(2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4))
    assert len((tmp_path / "out/de-en.test.tsv").read_text().splitlines()) == 5
    by_hand = [folder / f"de-en.test.{ending}" for ending in ("de", "en", "gold")]
    options = ["--margin", "absolute", "--threshold", training["threshold"], "--gold", by_hand.pop()]
    completed("mine", *one_space, *by_hand, "--identifiers", *options, "--output", tmp_path / "mined")
    (run,) = mined_in(tmp_path / "mined")
    assert scores(run) == scores(test) and run["threshold_from"] == "given"


def test_languages_reach_the_encoder(asked, completed, tmp_path):
    for pair in ("de-en", "fr-en"):
        for part in ("training", "test"):
            lines = [[f"{part} {language}", "x"] for language in pair.split("-")]
            write_part(tmp_path / "bucc", pair, part, *lines, [(1, 1)])
    words = [
        tmp_path / "bucc",
        "--model",
        tmp_path / "x",
        "--pairs",
        "de-en,fr-en",
        "--output",
        tmp_path / "out",
    ]
    completed("bucc", *words)
    assert asked == [
        (f"{part} {language}", language)
        for pair in ("de-en", "fr-en")
        for part in ("training", "test")
        for language in pair.split("-")
    ]


def test_gold_of_the_test_part_may_be_withheld_and_folders_nested(command, one_space, folder, tmp_path):
    (folder / "de-en.test.gold").unlink()
    folder.rename(tmp_path / "de-en")
    runs = bucc(command, one_space, tmp_path / "out", tmp_path)
    assert "f1" not in runs["BUCC de-en, test"] and runs["BUCC de-en, test"]["pairs"] == 5


def test_a_sample_is_tuned_and_tested(command, one_space, folder, tmp_path):
    for path in sorted(folder.glob("*.training.*")):
        path.rename(folder / path.name.replace("training", "sample"))
    runs = bucc(command, one_space, tmp_path / "out", folder, "--tuned", "sample", "--tested", "sample")
    assert list(runs) == ["BUCC de-en, sample"] and runs["BUCC de-en, sample"]["f1"] == 1


def test_one_threshold_for_all_pairs(command, monkeypatch, tmp_path):
    """That of the highest mean F1, which is neither pair's own. Scores are what sentences say: line i of
    either side has the cosine of the English one, and 0 with all others.
    """

    class Spoken(SentenceEncoder):
        name, width = "spoken", 20

        def encode(self, sentences, language=None):
            vectors = np.zeros((len(sentences), self.width), dtype=np.float32)
            for row, sentence in enumerate(sentences):
                place, cosine = sentence.split()
                vectors[row, 2 * int(place) :][:2] = float(cosine), math.sqrt(1 - float(cosine) ** 2)
            return vectors

        def record(self):
            return {}

    monkeypatch.setattr(EncoderOptions, "load", lambda self: Spoken())
    for pair, scores, right in (("de-en", [0.9, 0.8, 0.7, 0.6], 4), ("fr-en", [0.9, 0.8, 0.68, 0.66], 2)):
        sides = [[f"{place} {score}" for place, score in enumerate(each)] for each in ([1.0] * 4, scores)]
        for part in ("training", "test"):
            write_part(tmp_path, pair, part, *sides, [(i, i) for i in range(1, right + 1)])
    # F1 from 0.9, 0.8, 0.7, 0.68, 0.66, 0.6 on: de-en 2/5, 4/6, 6/7, 6/7, 6/7, 1, and fr-en 2/3, 1, 1, 4/5,
    # 4/6, 4/6; the mean is highest from 0.7 on
    options = [["--model", tmp_path / "model"], tmp_path / "out", tmp_path, "--pairs", "de-en,fr-en"]
    common = bucc(command, *options, "--universal-threshold")
    assert [run["threshold"] for run in common.values()] == pytest.approx([(0.7 + 0.68) / 2] * 4)
    assert [run["f1"] for run in common.values()] == pytest.approx([6 / 7, 6 / 7, 1, 1])
    assert {run["threshold_from"] for run in common.values()} == {"training, all pairs"}
    own = bucc(command, *options, "--force")
    assert [run["threshold"] for run in own.values()] == pytest.approx([0.6, 0.6, 0.74, 0.74])


def test_the_threshold_of_one_pair_is_tried_on_all(command, completed, one_space, folder, tmp_path):
    """Beside that of each pair, from one mining, and as `mine` has it with the threshold given."""
    lines = sentences(6, seed=2)
    right = [(i, i) for i in range(1, 7)]
    english = [line + " w7" * 3 * number for number, line in enumerate(lines)]  # less and less similar
    write_part(folder, "fr-en", "training", lines, english, right)
    options = ["--pairs", "de-en,fr-en", "--tuned", "training", "--tested", "training"]
    own = bucc(command, one_space, tmp_path / "own", folder, *options)
    both = bucc(command, one_space, tmp_path / "both", folder, *options, "--threshold-from", "de-en")
    assert {name: both[name] for name in own} == own
    assert set(both) == set(own) | {f"{name}, threshold of de-en" for name in own}
    threshold = own["BUCC de-en, training"]["threshold"]
    assert threshold != own["BUCC fr-en, training"]["threshold"]
    for pair in ("de-en", "fr-en"):
        run = both[f"BUCC {pair}, training, threshold of de-en"]
        assert run["threshold"] == threshold and run["threshold_from"] == "training, de-en"
        texts = [folder / f"{pair}.training.{language}" for language in pair.split("-")]
        given = ["--margin", "absolute", "--threshold", threshold, "--gold", folder / f"{pair}.training.gold"]
        out = tmp_path / f"mined-{pair}"
        completed("mine", *one_space, *texts, "--identifiers", *given, "--output", out)
        (by_hand,) = mined_in(out)
        assert scores(run) == scores(by_hand)
        written = (tmp_path / f"both/{pair}.training.threshold-of-de-en.tsv").read_text()
        assert written == (out / "pairs.tsv").read_text()
    transferred, tuned = (both[f"BUCC fr-en, training{which}"] for which in (", threshold of de-en", ""))
    assert transferred["f1"] < tuned["f1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--pairs", "de-en", "--threshold-from", "fr-en"],
            "--threshold-from fr-en: expected one of --pairs de-en",
        ),
        (
            ["--pairs", "de-en", "--threshold-from", "de-en", "--universal-threshold"],
            "--threshold-from de-en: found --universal-threshold, too; expected one of them",
        ),
        (["--pairs", "de"], "--pairs de: expected two languages, for example de-en"),
        (["--pairs", "de-de"], "--pairs de-de: expected two languages"),
        (["--pairs", "de-fr"], "de-fr.training.de: no such file, nor below de-fr; expected that of BUCC"),
        (["--pairs", "de-en", "--tuned", "sample"], "de-en.sample.de: no such file"),
    ],
)
def test_what_is_missing_is_one_line(refusal, one_space, folder, tmp_path, options, message):
    assert message in refusal("bucc", *one_space, folder, *options, "--output", tmp_path / "out")


def test_the_tuned_part_needs_gold(refusal, one_space, folder, tmp_path):
    (folder / "de-en.training.gold").unlink()
    refused = refusal("bucc", *one_space, folder, "--pairs", "de-en", "--output", tmp_path / "out")
    assert "de-en.training.gold: no such file" in refused
