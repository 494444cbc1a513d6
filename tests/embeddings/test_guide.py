"""Every command of docs/embeddings.md as it stands; a tiny model and texts stand for the real ones."""

import json
import shutil

import numpy as np
import pytest

import embeddings.__main__ as embeddings_commands
import eval.__main__ as eval_commands
from command_line.dispatch import run
from tests.documented_commands import shown
from tests.embeddings.calibration.english import write_bert, write_english
from tests.embeddings.encoders.folders import TEXT, write_sentence_transformers
from tests.embeddings.labelled import write_marc, write_review_file
from tests.embeddings.test_retrieve import write
from tests.eval.rows import values_of

PAGE = "docs/embeddings.md"
COMMANDS = {"embeddings": embeddings_commands.COMMANDS, "eval": eval_commands.COMMANDS}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    write_sentence_transformers(tmp_path / "tiny").rename(tmp_path / "models" / "LaBSE")
    for name in ("corpus/test", "paracrawl/text", "crawl/news"):
        for language in ("de", "en", "fr"):
            write(tmp_path / f"{name}.{language}", TEXT)
    write(tmp_path / "corpus/case.en", TEXT[:2])
    (tmp_path / "laser").mkdir()
    for name in ("german", "english"):
        np.save(tmp_path / f"laser/{name}.npy", np.eye(len(TEXT), 32, dtype=np.float32))
    for language in ("deu", "isl"):
        for side in (language, "eng"):
            write(tmp_path / f"LASER/data/tatoeba/v1/tatoeba.{language}-eng.{side}", TEXT)
    for language in ("en", "es"):
        write(tmp_path / f"6way/UNv1.0.6way.{language}", TEXT)
    for code in ("deu_Latn", "jpn_Jpan", "tur_Latn"):
        write(tmp_path / f"flores200_dataset/devtest/{code}.devtest", TEXT)
    numbered = [f"n-{number}\t{line}" for number, line in enumerate(TEXT)]
    for language in ("de", "en"):
        write(tmp_path / f"bucc/de-en.training.{language}", numbered)
    write(tmp_path / "bucc/de-en.training.gold", [f"n-{number}\tn-{number}" for number in range(len(TEXT))])
    for pair in ("de-en", "fr-en"):
        for part in ("training", "test"):
            for ending in pair.split("-"):
                write(tmp_path / f"bucc2018/{pair}/{pair}.{part}.{ending}", numbered)
            gold = [f"n-{number}\tn-{number}" for number in range(len(TEXT))]
            write(tmp_path / f"bucc2018/{pair}/{pair}.{part}.gold", gold)
    labelled = [f"{number % 2}\t{line}" for number, line in enumerate(TEXT)]
    for name in ("german", "english"):
        for ending in ("train.1000", "dev", "test"):
            write(tmp_path / f"MLDoc/{name}.{ending}", labelled)
    for language in ("en", "de"):
        for part in ("train", "test"):
            path = tmp_path / f"cls-acl10-unprocessed/{language}/books/{part}.review"
            write_review_file(path, [(1.0 + 3 * (number % 2), "", line) for number, line in enumerate(TEXT)])
        for part in ("train", "dev", "test"):
            reviews = [(1 + 3 * (number % 2), "", f"{TEXT[number % 8]} {number}") for number in range(2000)]
            write_marc(tmp_path / f"amazon/dataset_{language}_{part}.json", reviews)
    for name in ("en.train", "en.valid", "en.test", "de.test"):
        write(tmp_path / f"reviews/{name}.tsv", labelled)
    for language in ("en", "de"):
        rated = [f'"{line}",{TEXT[0].replace(",", "")},{number}' for number, line in enumerate(TEXT)]
        write(tmp_path / f"sts/stsb-{language}-test.csv", rated)
    for_calibration(tmp_path)
    return tmp_path


def for_calibration(folder):
    """An encoder of nine layers; inference, similarity and parallel sentences."""
    write_bert(folder / "models/mbert", layers=9)
    english = write_english(folder / "nli", premises=8)
    (english / "snli.jsonl").rename(english / "snli_1.0_train.jsonl")
    shutil.copyfile(english / "snli_1.0_train.jsonl", english / "multinli_1.0_train.jsonl")
    (english / "stsb.csv").rename(folder / "sts/stsb-en-train.csv")
    for name in ("en-cs.en", "en-cs.cs", "en-de.en", "en-de.de"):
        write(folder / "wmt20" / name, TEXT)


@pytest.mark.slow
def test_the_commands_of_the_guide_run_as_they_stand(folder, capsys):
    commands = [command for command in shown() if command.page == PAGE]
    assert ["python" if command.is_python else command.words[3] for command in commands] == [
        "encode", "import", *["retrieve"] * 5, "encode", "retrieve", "retrieve", "encode", "retrieve",
        "compare", "report", *["neighbours"] * 2, *["mine"] * 3, "bucc", "bucc", "encode", "mine",
        *["classify"] * 4, "sts", "calibrate", "retrieve", "speed", "report",
        "python",
    ]  # fmt: skip
    for command in commands:
        if command.is_python:
            exec(compile(command.text, PAGE, "exec"), {})
            continue
        words = command.words
        assert words[:2] == ["python", "-m"]
        assert run(words[2], "", COMMANDS[words[2]], words[3:]) == 0, (words, capsys.readouterr().err)
    (retrieval,) = json.loads((folder / "tatoeba/sentence-retrieval.json").read_text())["runs"]
    assert len(retrieval["groups"]["mUSE"]["pairs"]) == 1
    assert values_of(folder / "bucc-training/mining.csv", measure="f1") == [1]
    calibration = json.loads((folder / "calibrated/mbert/calibration.json").read_text())
    assert len(calibration["checkpoints"]) == 10 and len(calibration["best"]["pairs"]) == 2
    assert np.load(folder / "vectors/test.de.npy").shape == (len(TEXT), 32)
