"""The step `align`: toy languages with a known dictionary, every aligner, stored subword spans, bad input."""

import json
import random
import re
import sys

import pytest

from command_line.errors import InputError
from command_line.workers import Workers
from data_prep.alignment.aligners import ALIGNERS
from data_prep.alignment.bitext_alignment import is_usable
from data_prep.alignment.error_rate import Agreement, judge
from data_prep.alignment.external_aligners import joint_line
from data_prep.alignment.links import format_line, parse_line
from data_prep.alignment.subword_alignment import write_subword_spans
from data_prep.formats.alignments import AlignedSpans, aligners
from data_prep.formats.texts import find_bitexts

FAST_ALIGN = """#!{python}
import sys
lines = open(sys.argv[sys.argv.index("-i") + 1], encoding="utf-8").read().splitlines()
if "-p" in sys.argv:
    open(sys.argv[sys.argv.index("-p") + 1], "w").write("parameters")
    print("expected target length = source length * 1.25", file=sys.stderr)
    print("     final tension: 5.5", file=sys.stderr)
else:
    assert sys.argv[sys.argv.index("-m") + 1] == "1.25" and sys.argv[sys.argv.index("-T") + 1] == "5.5"
for line in lines[{skip}:]:
    source, target = (side.split() for side in line.split(" ||| "))
    links = [(source.index(word.replace(*swap)), j) for j, word in enumerate(target)
             for swap in (("n", "v"), ("v", "n")) if word.replace(*swap) in source]
    links = " ".join(f"{{i}}-{{j}}" for i, j in links)
    print(links if "-p" in sys.argv else f"{{line}} ||| {{links}} ||| -1.5")
"""


def toy_pair(rng) -> tuple[str, str, str]:
    """A sentence of different words, the same in another language and another order, and the links."""
    words = rng.sample(range(60), rng.randint(3, 8))
    order = list(range(len(words)))
    if rng.random() < 0.5:
        place = rng.randrange(len(order) - 1)
        order[place : place + 2] = order[place : place + 2][::-1]
    links = sorted((i, j) for j, i in enumerate(order))
    pair = " ".join(f"n{w}" for w in words), " ".join(f"v{words[i]}" for i in order)
    return *pair, " ".join(f"{i}-{j}" for i, j in links)


@pytest.fixture
def corpus(tmp_path, write_corpus):
    """A folder of words with train and test, and a gold file for test."""
    rng = random.Random(5)
    files = {}
    for split, count in (("train", 500), ("test", 60)):
        a, b, gold = zip(*(toy_pair(rng) for _ in range(count)), strict=True)
        files |= {f"{split}.de-en.de": a, f"{split}.de-en.en": b}
    (tmp_path / "gold").write_text("".join(line + "\n" for line in gold))
    return write_corpus(tmp_path / "tok", files)


def test_words_of_programs_are_those_of_ours():
    """Who count a no-break space, too, and no separator of sides."""
    assert joint_line("a\u00a0b  c\u3000", "d ||| e") == "a b c ||| d ¦¦¦ e\n"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A stand-in for the program fast_align on the PATH, which may lose lines."""

    def install(skip: int = 0) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "fast_align").write_text(FAST_ALIGN.format(python=sys.executable, skip=skip))
        (folder / "fast_align").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return install


def align(step, corpus, *options):
    return step("align", "--input", corpus, "--output", corpus.parent / "align", "--workers", 1, *options)


def agreement_with_gold(folder) -> Agreement:
    return judge(folder / "gold", folder / "align/test.de-en.align", Workers(1))


def rows(corpus) -> dict:
    found = json.loads((corpus.parent / "align/alignments.json").read_text())["rows"]
    return {(row["split"], row["pair"]): row for row in found}


@pytest.mark.parametrize("aligner", ALIGNERS)
def test_every_aligner_finds_the_dictionary(step, corpus, program, aligner):
    program()
    status, error = align(step, corpus, "--aligner", aligner)
    assert status == 0, error
    agreement = agreement_with_gold(corpus.parent)
    if aligner == "word2word":  # phrases count as all links between their words
        assert agreement.recall > 0.95
    else:
        assert agreement.error_rate < 0.05
    counts = rows(corpus)["train", "de-en"]
    assert counts["sentence_pairs"] == 500 and counts["empty_or_too_long"] == 0
    lines = (corpus.parent / "align/train.de-en.align").read_text().splitlines()
    links = [parse_line(line, "x", 1) for line in lines]
    assert counts["aligned_pairs"] == sum(map(len, links))
    assert counts["per_sentence"] == round(counts["aligned_pairs"] / 500, 2)


@pytest.mark.parametrize("shard", [7, 1000])
@pytest.mark.parametrize("workers", [1, 2])
def test_shards_and_workers_change_nothing(step, corpus, monkeypatch, shard, workers):
    import dataclasses

    assert align(step, corpus)[0] == 0
    expected = (corpus.parent / "align/train.de-en.align").read_bytes()
    choice = dataclasses.replace(ALIGNERS["fast_align"], shard_lines=shard)
    monkeypatch.setitem(ALIGNERS, "fast_align", choice)
    monkeypatch.setattr("data_prep.alignment.bitext_alignment.LINES_PER_TASK", 5)
    assert align(step, corpus, "--force", "--workers", workers)[0] == 0
    assert (corpus.parent / "align/train.de-en.align").read_bytes() == expected


def test_lines_that_cannot_be_aligned_stay_in_place(step, corpus, read):
    for language in ("de", "en"):
        path = corpus / f"test.de-en.{language}"
        lines = read(path)
        lines[3] = "" if language == "de" else "v1"
        lines[5] = " ".join(lines[5:7] * 5)
        path.write_text("".join(line + "\n" for line in lines))
    status, error = align(step, corpus, "--max-length", 25)
    assert status == 0, error
    lines = read(corpus.parent / "align/test.de-en.align")
    assert len(lines) == 60 and lines[3] == lines[5] == "" and all(lines[:3])
    counts = rows(corpus)["test", "de-en"]
    assert counts["empty_or_too_long"] == 2 and counts["unaligned"] == 2


@pytest.mark.parametrize("aligner", ALIGNERS)
def test_a_file_without_a_usable_sentence_pair(step, corpus, program, read, aligner):
    program()
    (corpus / "test.de-en.de").write_text("\nn1\n")
    (corpus / "test.de-en.en").write_text("v1\n\n")
    status, error = align(step, corpus, "--aligner", aligner)
    assert status == 0, error
    assert read(corpus.parent / "align/test.de-en.align") == ["", ""]
    assert rows(corpus)["test", "de-en"]["empty_or_too_long"] == 2


def test_a_sentence_may_be_as_long_as_the_longest():
    assert is_usable(3, 1, 3) and is_usable(1, 3, 3)
    assert not any(is_usable(*words, 3) for words in ((4, 1), (1, 4), (0, 1), (1, 0)))


def test_the_usual_number_of_translations_is_the_one_that_is_given(step, corpus):
    word2word = ("--aligner", "word2word")
    assert align(step, corpus, *word2word)[0] == 0
    settings = json.loads((corpus.parent / "align/alignments.json").read_text())["settings"]
    assert settings["translations"] == 5
    assert "complete, skipped" in align(step, corpus, *word2word, "--translations", 5)[1]
    assert "was made with another translations" in align(step, corpus, *word2word, "--translations", 1)[1]


def test_done_is_skipped_and_other_options_are_not(step, corpus):
    assert align(step, corpus)[0] == 0
    before = rows(corpus)["train", "de-en"]["aligned_pairs"]
    assert "complete, skipped" in align(step, corpus)[1]
    status, error = align(step, corpus, "--symmetrization", "union", "--no-one-to-one")
    assert status == 0 and "was made with another symmetrization" in error
    assert rows(corpus)["train", "de-en"]["aligned_pairs"] >= before
    settings = json.loads((corpus.parent / "align/alignments.json").read_text())["settings"]
    assert (settings["symmetrization"], settings["one_to_one"]) == ("union", False)


def test_a_sample_and_text_of_other_domains_train(step, corpus, write_corpus, tmp_path):
    status, error = align(step, corpus, "--train-sample", 20)
    assert status == 0, error
    poor = agreement_with_gold(tmp_path).error_rate
    for language in ("de", "en"):  # in-domain text alone teaches nothing
        (corpus / f"train.de-en.{language}").rename(tmp_path / f"train.de-en.{language}")
    others = write_corpus(tmp_path / "others", {})
    for language in ("de", "en"):
        (tmp_path / f"train.de-en.{language}").rename(others / f"train.de-en.{language}")
    status, error = align(step, corpus, "--out-of-domain", others)
    assert status == 0 and "learns from what it aligns" not in error
    assert agreement_with_gold(tmp_path).error_rate < min(0.05, poor)
    assert list(rows(corpus)) == [("test", "de-en")]
    assert "learns from what it aligns" in align(step, corpus)[1]


def test_an_aligner_that_loses_lines_is_refused(step, corpus, program):
    program(skip=1)
    status, error = align(step, corpus, "--aligner", "fast_align-program")
    assert status == 2 and "was given 500 sentence pairs and aligned 499" in error
    assert not (corpus.parent / "align/align.json").exists()


@pytest.mark.parametrize(
    ("says", "expected"), [("echo reading; echo too long a line; ", "too long a line"), ("", "no message")]
)
def test_an_aligner_that_fails_is_quoted(step, corpus, program, says, expected):
    """The last line of what it says, which names the reason."""
    program()
    (corpus.parent / "bin/fast_align").write_text(f"#!/bin/sh\n{{ {says}exit 3; }} >&2\n")
    status, error = align(step, corpus, "--aligner", "fast_align-program")
    assert status == 2
    assert f"fast_align: ended with status 3: {expected}; try a smaller --train-sample" in error


def test_an_aligner_that_dies_is_noticed(step, corpus, monkeypatch):
    import os

    monkeypatch.setattr("data_prep.alignment.fast_align.DirectedAligner.train", lambda *args: os._exit(9))
    status, error = align(step, corpus)
    assert status == 2 and "aligner's process ended with status 9; try a smaller --train-sample" in error


@pytest.mark.parametrize(
    ("options", "hidden", "message"),
    [
        (["--aligner", "systran-align"], "systran_align", "systran-align: the package is not installed"),
        (["--aligner", "eflomal"], "eflomal", "eflomal: the package is not installed"),
        (
            ["--aligner", "fast_align-program"],
            None,
            "no program `fast_align` on the PATH; --aligner fast_align",
        ),
        (["--aligner", "systran-align", "--symmetrization", "union"], None, "gives grow-diag-final-and only"),
        (["--translations", 5], None, "--translations 5: fast_align has no lexicon of translations; leave"),
        (["--name", "all"], None, "--name all: only alignments in --data have a name; leave it out"),
        (["--name", "a.b"], None, "--name: found 'a.b', expected a name without"),
        (["--data", "x"], None, "--subword and --data: found one of them"),
        (["--train-sample", -1], None, "--train-sample: found '-1', expected a whole number from 0"),
        (["--out-of-domain", "missing"], None, "missing: no such folder"),
    ],
)
def test_bad_options(step, corpus, monkeypatch, options, hidden, message):
    monkeypatch.setenv("PATH", "/nowhere")
    if hidden:
        monkeypatch.setitem(sys.modules, hidden, None)
    status, error = align(step, corpus, *options)
    assert status == 2 and message in error and len(error.splitlines()) == 1


def test_text_form():
    spans = [(0, 1, 2, 3), (3, 5, 3, 4), (6, 8, 5, 7)]
    assert format_line(spans) == "0-2 3:5-3 6:8-5:7"
    assert parse_line(format_line(spans), "x", 1) == spans


# --- subword spans beside binarized data


def store(step, prepared, folder, *options):
    data = ("--subword", prepared / "sub", "--data", folder / "data")
    return step(
        "align", "--input", prepared / "tok", *data, "--output", folder / "align", "--workers", 1, *options
    )


@pytest.fixture
def copied(prepared, tmp_path):
    import shutil

    shutil.copytree(prepared / "data", tmp_path / "data")
    return tmp_path


def test_subword_spans_spell_the_aligned_words(step, prepared, copied, read):
    status, error = store(step, prepared, copied, "--aligner", "word2word")
    assert status == 0, error
    compared = 0
    for split, pair in (("train", ("de", "en")), ("valid", ("de", "fr")), ("test", ("en", "fr"))):
        name = f"{split}.{'-'.join(pair)}"
        links = read(copied / f"align/{name}.align")
        spans = AlignedSpans.open(copied / "data", split, pair, "word2word")
        assert len(spans) == len(links)
        words = [read(prepared / "tok" / f"{name}.{language}") for language in pair]
        units = [read(prepared / "sub" / f"{name}.{language}") for language in pair]
        for line, text in enumerate(links):
            parsed = parse_line(text, "x", 1)
            assert len(parsed) == len(spans[line])
            for row, found in zip(parsed, spans[line], strict=True):
                for side in (0, 1):
                    start, end = row[2 * side : 2 * side + 2]
                    first, last = found[2 * side : 2 * side + 2]
                    run = " ".join(units[side][line].split()[first:last])
                    assert run.replace("@@ ", "") == " ".join(words[side][line].split()[start:end])
                    compared += 1
    assert compared > 500
    assert store(step, prepared, copied, "--aligner", "word2word")[1].count("complete, skipped") == 2
    (copied / "data/train.de-en.word2word.alignment").unlink()
    assert store(step, prepared, copied, "--aligner", "word2word")[0] == 0
    assert (copied / "data/train.de-en.word2word.alignment").exists()


def test_alignments_that_do_not_match_are_refused(step, prepared, copied):
    assert store(step, prepared, copied)[0] == 0
    words, subwords = (find_bitexts(prepared / name)[0] for name in ("tok", "sub"))
    path = copied / "align/train.de-en.align"
    original = path.read_text()
    for text, message in (
        (
            "0-0\n99-0\n" + original.split("\n", 2)[2],
            "train.de-en.align:2: found a link to word 99 of A and 0 of B, but",
        ),
        ("0-0\n" + original, "goes on; parallel files need equally many lines"),
        (original.replace("\n", " x-y\n", 1), "train.de-en.align:1: found 'x-y', expected i-j"),
    ):
        path.write_text(text)
        with Workers(1) as workers, pytest.raises(InputError, match=re.escape(message)):
            write_subword_spans(words, subwords, path, copied / "data", "fast_align", "subword-nmt", workers)
    assert store(step, prepared, copied)[0] == 0  # a file that is not what the step wrote is made again
    assert path.read_text() == original


def test_other_words_are_refused(step, prepared, copied, write_corpus, read):
    files = {path.name: read(path) for path in (prepared / "tok").glob("*.*-*.*")}
    files["train.de-en.en"][4] += " extra"
    words = write_corpus(copied / "tok", files)
    options = ["--subword", prepared / "sub", "--data", copied / "data", "--output", copied / "align"]
    status, error = step("align", "--input", words, *options, "--symmetrization", "union", "--workers", 1)
    assert status == 2 and "train.de-en.en:5: the words spell" in error


def test_data_of_other_subwords_is_refused(step, prepared, copied):
    import shutil

    for suffix in ("bin", "idx"):
        shutil.copy(copied / f"data/valid.de-en.de.{suffix}", copied / f"data/valid.de-en.en.{suffix}")
    status, error = store(step, prepared, copied)
    assert status == 2 and "valid.de-en.en.idx: sentence " in error and "binarize it again" in error


def test_two_aligners_share_a_binarized_corpus(step, prepared, copied):
    def stored() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (copied / "data").glob("*.alignment")}

    def store_by(aligner: str):
        output = ("--output", copied / aligner, "--aligner", aligner)
        status, error = store(step, prepared, copied, *output)
        assert status == 0, error
        return error

    store_by("fast_align")
    first = stored()
    store_by("word2word")
    both = stored()
    assert first.items() <= both.items() and len(both) == 2 * len(first)
    assert store_by("fast_align").count("complete, skipped") == 2
    assert aligners(copied / "data") == ["fast_align", "word2word"]


def test_one_aligner_stores_links_of_several_kinds_under_names(step, prepared, copied):
    assert store(step, prepared, copied)[0] == 0
    options = ("--no-one-to-one", "--name", "all-links", "--output", copied / "all")
    assert store(step, prepared, copied, *options)[0] == 0
    assert aligners(copied / "data") == ["all-links", "fast_align"]
    assert store(step, prepared, copied)[1].count("complete, skipped") == 2
    found = [
        AlignedSpans.open(copied / "data", "train", ("de", "en"), name)
        for name in ("fast_align", "all-links")
    ]
    for line in range(len(found[0])):
        of_words_with_one, of_all = ({tuple(row) for row in spans[line].tolist()} for spans in found)
        assert of_words_with_one <= of_all
    assert found[0].total < found[1].total


def test_binarizing_again_removes_what_was_made_of_the_sentences(step, prepared, copied):
    import shutil

    def binarize():
        words = ("--input", copied / "sub", "--text", copied / "raw", "--output", copied / "data")
        return step("binarize", *words, "--workers", 1)

    for name in ("raw", "tok", "sub"):
        shutil.copytree(prepared / name, copied / name)
    assert binarize()[0] == 0
    assert store(step, copied, copied)[0] == 0
    others = ("train.de-en.word2word.alignment", "train.de-en.de.phrases", "train.de-en.en.labse.vectors")
    for name in (*others, "notes"):
        (copied / "data" / name).write_text("of the sentences before")
    words = ("--input", copied / "tok", "--output", copied / "sub", "--merges", 10, "--workers", 1)
    assert step("subword", *words)[0] == 0
    assert binarize()[0] == 0
    assert aligners(copied / "data") == []
    assert not any((copied / "data" / name).exists() for name in others)
    assert (copied / "data/notes").exists()
    assert (copied / "data/train.de-en.de.bin").exists()
    assert store(step, copied, copied)[0] == 0
    assert aligners(copied / "data") == ["fast_align"]
