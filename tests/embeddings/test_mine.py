import json

import pytest

from embeddings.encoders.stored import StoredVectors
from tests.embeddings.test_retrieve import sentences, write


@pytest.fixture
def texts(tmp_path):
    """Six sentences; the second text has four of them in another order, one twice, and two others."""
    first = sentences(6, seed=1)
    second = [first[3], *sentences(2, seed=9), first[1], first[0], first[3], first[5]]
    return write(tmp_path / "mono.de", first), write(tmp_path / "mono.en", second)


def mine(command, one_space, output, *argv):
    result = command("mine", *one_space, "--output", output, *argv)
    assert result.status == 0, result.err
    rows = [line.split("\t") for line in (output / "pairs.tsv").read_text().splitlines()]
    return json.loads((output / "mining.json").read_text())["runs"][0], rows


def test_what_both_texts_have_is_found(command, one_space, texts, tmp_path):
    record, rows = mine(command, one_space, tmp_path / "out", *texts, "--margin", "absolute")
    assert record["lines"] == [6, 7] and record["sentences"] == [6, 6]
    assert len(rows) == record["pairs"]
    first = texts[0].read_text().splitlines()
    assert {(row[1], row[2]) for row in rows[:4]} == {(first[i], first[i]) for i in (0, 1, 3, 5)}
    scores = [float(row[0]) for row in rows]
    assert scores == sorted(scores, reverse=True)


def test_a_threshold_cuts_the_list(command, one_space, texts, tmp_path):
    options = ["--margin", "absolute", "--threshold", "0.9999"]
    assert len(mine(command, one_space, tmp_path / "out", *texts, *options)[1]) == 4


def bucc(tmp_path, name, lines):
    return write(tmp_path / name, [f"{name}-{number}\t{line}" for number, line in enumerate(lines)])


def test_bucc_with_identifiers_and_gold(command, one_space, texts, tmp_path):
    first, second = (
        bucc(tmp_path, f"bucc.{language}", path.read_text().splitlines())
        for language, path in zip(("de", "en"), texts, strict=True)
    )
    # 3-0 and 3-5 are one pair of sentences; 1-1 is a gold pair that is no translation, and is not found.
    gold = [(0, 4), (3, 0), (3, 5), (5, 6), (1, 1)]
    pairs = write(tmp_path / "gold", [f"bucc.de-{i}\tbucc.en-{j}" for i, j in gold])
    options = ["--identifiers", "--gold", pairs, "--margin", "absolute"]
    record, rows = mine(command, one_space, tmp_path / "out", first, second, *options)
    assert record["bucc"]["gold_pairs"] == 4
    # 1-3 is found as well, as near as the right ones: 3 right of 4, 3 found of 4.
    assert (record["bucc"]["precision"], record["bucc"]["recall"]) == (0.75, 0.75)
    assert len(rows) == 4 and record["threshold"] < 1
    assert record["bucc"]["threshold_from"] == "this text"


def test_given_pairs_keep_their_lines(command, one_space, tmp_path):
    lines = sentences(5, seed=2)
    others = [*lines[:4], sentences(1, seed=3)[0]]
    files = write(tmp_path / "a.de", lines), write(tmp_path / "a.en", others)
    options = ["--line-by-line", "--margin", "absolute"]
    _, rows = mine(command, one_space, tmp_path / "out", *files, *options)
    assert [row[1] for row in rows] == lines and [row[2] for row in rows] == others
    assert [float(row[0]) > 0.9999 for row in rows] == [True] * 4 + [False]


@pytest.mark.parametrize(
    ("lines", "gold", "message"),
    [
        (["a\tw1", "w2"], ["a\tb"], ":2: no tab; expected identifier<TAB>sentence"),
        (["a\tw1", "a\tw2"], ["a\tb"], ":2: the identifier 'a' occurs twice"),
        (["a\tw1"], ["a"], ":1: 1 fields, expected identifier<TAB>identifier"),
        (["a\tw1"], ["c\ta"], ":1: 'c' is no identifier of"),
        (["a\tw1"], [], "is empty"),
    ],
)
def test_bad_texts_are_one_line(command, one_space, tmp_path, lines, gold, message):
    texts = write(tmp_path / "x.de", lines), write(tmp_path / "x.en", ["b\tw1"])
    options = ["--identifiers", "--gold", write(tmp_path / "gold", gold), "--output", tmp_path / "out"]
    result = command("mine", *one_space, *texts, *options)
    assert result.status == 2 and message in result.err and result.err.strip().count("\n") == 0
    assert not (tmp_path / "out" / "pairs.tsv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gold", "GOLD"], "expected --identifiers with it"),
        (["--line-by-line", "--identifiers"], "expected no --gold and no --identifiers"),
    ],
)
def test_options_that_do_not_go_together(command, one_space, texts, tmp_path, options, message):
    options = [tmp_path / "gold" if each == "GOLD" else each for each in options]
    result = command("mine", *one_space, *texts, *options, "--output", tmp_path / "out")
    assert result.status == 2 and message in result.err


@pytest.mark.parametrize("how", [[], ["--line-by-line"], ["--index", "ivf", "--lists", "1"]])
def test_stored_vectors_are_mined_without_being_read_as_a_whole(
    command, one_space, texts, tmp_path, monkeypatch, how
):
    if how == ["--line-by-line"]:
        texts = [write(tmp_path / f"same.{language}", sentences(6, seed=5)) for language in ("de", "en")]
    expected = mine(command, one_space, tmp_path / "out", *texts, *how)
    assert command("encode", *one_space, *texts, "--output", tmp_path / "vectors").status == 0

    def refuse(*arguments):
        raise AssertionError("vectors are copied")

    monkeypatch.setattr(StoredVectors, "encode", refuse)
    found = mine(command, ["--model", tmp_path / "vectors"], tmp_path / "again", *texts, *how)
    assert found[1] == expected[1]


def test_vectors_of_lines_with_identifiers_are_not_their_sentences(command, one_space, texts, tmp_path):
    """A folder with vectors of the very file, whose lines begin with identifiers, and of its sentences."""
    files = [bucc(tmp_path, f"bucc.{path.suffix[1:]}", path.read_text().splitlines()) for path in texts]
    assert command("encode", *one_space, *texts, *files, "--output", tmp_path / "vectors").status == 0
    expected = mine(command, one_space, tmp_path / "out", *files, "--identifiers")
    found = mine(command, ["--model", tmp_path / "vectors"], tmp_path / "again", *files, "--identifiers")
    assert found[1] == expected[1]


def test_short_lines_are_mined_and_empty_ones_are_scored(command, one_space, tmp_path):
    lines = ["w1", "", "w2 w3 w4"]
    files = [write(tmp_path / f"short.{language}", lines) for language in ("de", "en")]
    record, rows = mine(command, one_space, tmp_path / "out", *files, "--margin", "absolute")
    assert record["sentences"] == [3, 3]
    assert [row[1:] for row in rows[:2]] == [[line, line] for line in ("w1", "w2 w3 w4")]
    _, rows = mine(command, one_space, tmp_path / "scored", *files, "--line-by-line")
    assert [row[1] for row in rows] == lines == [row[2] for row in rows]
