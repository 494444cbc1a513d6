"""`eval translate --input`: raw text in, detokenized text out, from files, pipes and prompts."""

import io
import os
import sys
import threading
from pathlib import Path

import pytest
import torch

from command_line.errors import InputError
from eval.translation.model_options import load_translator
from eval.translation.search_options import DecodingOptions, SearchOptions
from eval.translation.translator import TranslatorOptions
from tests.eval.translation.packages import (
    SENTENCES,
    package,
    types_of_products,
    words_of,
    write_checkpoint,
    write_data,
)

SEARCH = ("--cpu", "--max-len-b", "6", "--beam", "3")
OPTIONS = DecodingOptions(SearchOptions(beam=3, max_len_b=6), cpu=True)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    data = write_data(folder / "data")
    package(folder / "system", data, write_checkpoint(folder / "model.pt", data))
    (folder / "text.de").write_text("".join(f"{words_of(sentence)}\n" for sentence in SENTENCES["de"]))
    return folder


@pytest.fixture
def of_test_set(root, tmp_path, command) -> dict[str, list[str]]:
    """Hypotheses of the same sentences in a test set, by direction."""
    words = ("--checkpoint", root / "model.pt", "--data", root / "data", "--output", tmp_path / "set")
    assert command("translate", *words, *SEARCH).status == 0
    return {path.stem: path.read_text().splitlines() for path in (tmp_path / "set").glob("*-*.txt")}


@pytest.fixture
def translate(root, command):
    def call(*words, system=root / "system"):
        return command("translate", "--checkpoint", system, *words, *SEARCH)

    return call


def give(monkeypatch, text: bytes) -> None:
    """Standard input that is no terminal."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_text_is_translated_as_the_same_sentences_of_a_test_set(root, translate, of_test_set):
    result = translate("--input", root / "text.de", "--direction", "de-fr")
    assert result.status == 0, result.err
    assert result.out.splitlines() == of_test_set["de-fr"]
    assert len(set(of_test_set["de-fr"])) > 1


@pytest.mark.parametrize(("words", "expected"), [([], torch.float32), (["--bf16"], torch.bfloat16)])
def test_products_are_bfloat16_where_asked_for(root, translate, words, expected):
    with types_of_products() as types:
        assert translate("--input", root / "text.de", "--direction", "de-fr", *words).status == 0
    assert types == {expected}


def test_in_python(root, of_test_set):
    translator = load_translator(root / "system", TranslatorOptions(OPTIONS))
    lines = [words_of(sentence) for sentence in SENTENCES["de"]]
    assert translator.translate(lines, "de", "fr") == of_test_set["de-fr"]
    assert translator.translate(lines[:1], "de", "en") == of_test_set["de-en"][:1]
    assert translator.translate([], "de", "en") == []
    assert translator.translate((line for line in lines), "de", "fr") == of_test_set["de-fr"]
    for wrong, message in (
        (lines[0], "found one text, .* expected a list of them"),
        ([lines[0], None], "line 2: found None, expected a text"),
        ([lines[0].encode()], "line 1: found b.*, expected a text"),
    ):
        with pytest.raises(InputError, match=message):
            translator.translate(wrong, "de", "fr")


@pytest.mark.parametrize("wrong", [{"n_best": 0}, {"n_best": -1}, {"long_lines": "splitted"}])
def test_options_in_python_are_checked(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        TranslatorOptions(**wrong)


def test_standard_input_and_empty_lines(root, translate, monkeypatch, of_test_set):
    first, second = (words_of(sentence) for sentence in SENTENCES["de"][:2])
    give(monkeypatch, f"\n{first}\r\n  \t\n{second}".encode())
    result = translate("--input", "-", "--direction", "de-fr")
    expected = of_test_set["de-fr"]
    assert (result.status, result.out.split("\n")) == (0, ["", expected[0], "", expected[1], ""])


def test_a_pipe_that_has_a_name(root, translate, of_test_set, tmp_path):
    """As `--input <(zcat text.gz)`."""
    os.mkfifo(tmp_path / "pipe")
    text = (root / "text.de").read_bytes()
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(text), daemon=True)
    writer.start()
    result = translate("--input", tmp_path / "pipe", "--direction", "de-fr")
    assert (result.status, result.out.splitlines()) == (0, of_test_set["de-fr"]), result.err


def test_a_byte_order_mark_and_no_standard_input(root, translate, monkeypatch, of_test_set):
    words = ("--input", "-", "--direction", "de-fr")
    give(monkeypatch, b"\xef\xbb\xbf" + (root / "text.de").read_bytes())
    assert translate(*words).out.splitlines() == of_test_set["de-fr"]
    monkeypatch.setattr(sys, "stdin", None)  # as `<&-`
    result = translate(*words)
    assert (result.status, result.err) == (2, "error: --input -: standard input is closed, expected a text\n")


def test_no_standard_output(root, translate, monkeypatch, tmp_path, of_test_set):
    words = ("--input", root / "text.de", "--direction", "de-fr")
    monkeypatch.setattr(sys, "stdout", None)  # as `>&-`
    result = translate(*words)
    assert result.status == 2
    assert result.err == "error: --output: is missing, and standard output is closed; expected one of them\n"
    assert translate(*words, "--output", tmp_path / "out").status == 0
    assert (tmp_path / "out/de-fr.txt").read_text().splitlines() == of_test_set["de-fr"]


def test_blocks_of_a_stream(root, translate, monkeypatch, of_test_set):
    monkeypatch.setattr("eval.translation.text.LINES", 3)
    result = translate("--input", root / "text.de", "--direction", "de-fr", "--n-best", "1")
    rows = [line.split("\t") for line in result.out.splitlines()]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert [row[2] for row in rows] == of_test_set["de-fr"]


def test_several_directions_are_files(root, translate, tmp_path, of_test_set):
    words = ("--input", root / "text.de", "--direction", "de-fr,de-en", "--output", tmp_path / "out")
    assert translate(*words).status == 0
    written = {path.stem: path.read_text().splitlines() for path in (tmp_path / "out").iterdir()}
    assert written == {name: of_test_set[name] for name in ("de-fr", "de-en")}


def test_candidates_and_scores(root, translate, of_test_set):
    words = ("--input", root / "text.de", "--direction", "de-fr")
    rows = [line.split("\t") for line in translate(*words, "--n-best", "3").out.splitlines()]
    assert [row[0] for row in rows] == [str(number) for number in (1, 2, 3, 4) for _ in range(3)]
    scores = [float(row[1]) for row in rows]
    for start in range(0, len(rows), 3):
        assert scores[start : start + 3] == sorted(scores[start : start + 3], reverse=True)
        assert len({row[2] for row in rows[start : start + 3]}) > 1
    best = [line.split("\t") for line in translate(*words, "--scores").out.splitlines()]
    assert best == [row[1:] for row in rows[::3]]
    assert [text for _, text in best] == of_test_set["de-fr"]


def test_a_prompt(root, translate, monkeypatch, of_test_set):
    lines = [words_of(SENTENCES["de"][0]), "", words_of(SENTENCES["de"][1])]
    asked = []

    def typed(prompt: str) -> str:
        asked.append(prompt)
        if not lines:
            raise EOFError
        return lines.pop(0)

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", typed)
    result = translate("--input", "-", "--direction", "de-fr,de-en")
    assert result.status == 0, result.err
    (fr, fr2), (en, en2) = (of_test_set[name][:2] for name in ("de-fr", "de-en"))
    assert result.out.splitlines() == [
        f"fr: {fr}",
        f"en: {en}",
        "fr: ",
        "en: ",
        f"fr: {fr2}",
        f"en: {en2}",
        "",
    ]
    assert asked == ["de> "] * 4


def test_a_tag_in_a_text_is_an_unknown_word(root):
    translator = load_translator(root / "system", TranslatorOptions(OPTIONS))
    translations = translator.translate(["w1 __fr__ w2", "w1 unknown w2"], "de", "en")
    assert translations[0] == translations[1]


def test_long_lines_are_cut_with_a_warning_or_split(root, translate, tmp_path):
    """The model reads 64 tokens: 62 words, a tag and `</s>`."""
    first, second = ["w1"] * 40 + ["w2."], ["w3"] * 40
    (tmp_path / "long.de").write_text(" ".join([*first, *second]) + "\nw5\n")
    words = ("--input", tmp_path / "long.de", "--direction", "de-fr")
    cut = translate(*words)
    assert cut.status == 0 and "warning: line 1: 81 tokens, the model reads 62" in cut.err
    (tmp_path / "cut.de").write_text(" ".join([*first, *second][:62]) + "\nw5\n")
    whole = translate("--input", tmp_path / "cut.de", "--direction", "de-fr")
    assert (cut.out, whole.err.count("warning")) == (whole.out, 0)
    split = translate(*words, "--long-lines", "split")
    (tmp_path / "parts.de").write_text(f"{' '.join(first)}\n{' '.join(second)}\n")
    parts = translate("--input", tmp_path / "parts.de", "--direction", "de-fr").out.splitlines()
    assert "warning" not in split.err
    assert split.out.splitlines()[0] == " ".join(filter(None, parts))
    assert split.out.splitlines()[1] == cut.out.splitlines()[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--input {r}/text.de", "--direction all: with --input, expected one such as de-fr"),
        ("--input {r}/text.de --direction zero-shot", "with --input, expected one such as de-fr"),
        ("--input {r}/text.de --direction de-ja", "language 'ja': the model has no tag for it"),
        ("--input {r}/text.de --direction de-fr,en-fr --output {t}", "a text has one language"),
        ("--input {r}/text.de --direction de-fr,de-en", "--output: is missing; several directions"),
        ("--input {r} --direction de-fr", "{r}: is a folder, expected a text, or - for standard input"),
        ("--input {r}/text.de --direction de-fr --no-repeat-ngram 1", "expected a whole number from 2"),
        ("--input {r}/text.de --direction de-fr --n-best 4", "--n-best 4: a beam of 3 finds no more"),
        ("--input {r}/text.de --direction de-fr --pivot en", "--pivot: needs a test set"),
        ("--input {r}/text.de --direction de-fr --split dev", "--split: needs a test set, found --input"),
        ("--input {r}/text.de --direction de-fr --name x", "--name: needs a test set, found --input"),
        ("--input {r}/text.de --direction de-fr --force", "--force: needs a test set, found --input"),
        ("--input {r}/text.de --direction de-fr --n-best 2 --length-candidates 2", "--n-best: not with"),
        ("--input {r}/text.de --direction de-fr --length-candidates 2", "does not predict the length"),
        ("--output {t} --n-best 2", "--n-best: needs --input; give both, or leave it out"),
        ("--output {t} --scores", "--scores: needs --input; give both, or leave it out"),
        ("--output {t} --long-lines cut", "--long-lines: needs --input; give both, or leave it out"),
        ("", "--output: is missing"),
    ],
)
def test_nonsense_is_one_line(root, translate, tmp_path, words, message):
    result = translate(*words.format(r=root, t=tmp_path).split())
    assert (result.status, result.err.count("\n")) == (2, 1), result.err
    assert message.format(r=root, t=tmp_path) in result.err
