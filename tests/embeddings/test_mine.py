import tracemalloc

import pytest

from embeddings import mined_texts
from embeddings.encoders.stored import StoredVectors
from embeddings.mined_texts import read_side
from embeddings.search import texts as search_texts
from tests.embeddings.mined import mined_in
from tests.embeddings.search.test_retrieval import margin_by_loops
from tests.embeddings.test_retrieve import encoder_of, sentences, write


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
    (run,) = mined_in(output)
    return run, rows


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


@pytest.mark.parametrize(
    ("options", "languages"),
    [
        ([], ["de", "en"]),
        (["--source-language", "fr"], ["fr", "en"]),
        (["--target-language", "tr"], ["de", "tr"]),
    ],
)
@pytest.mark.parametrize("kind", [[], ["--line-by-line"], ["--identifiers"]])
def test_languages_reach_the_encoder(asked, completed, tmp_path, options, languages, kind):
    """Those of the names of the texts, or those that are given."""
    files = [write(tmp_path / name, [f"{name}\tx", "2\ty"]) for name in ("a.de", "a.en")]
    words = [*files, "--model", tmp_path / "x", *kind, *options, "--output", tmp_path / "out"]
    completed("mine", *words)
    first = ["x", "x"] if kind == ["--identifiers"] else ["a.de\tx", "a.en\tx"]
    assert asked == list(zip(first, languages, strict=True))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ([], "model"),
        (["--margin", "distance"], "model (margin distance)"),
        (["--margin", "absolute"], "model (margin absolute)"),
    ],
)
def test_encoders_that_score_otherwise_are_other_systems(command, one_space, texts, tmp_path, options, name):
    record, _ = mine(command, one_space, tmp_path / "out", *texts, *options, "--encoder-name", "model")
    assert record["system"]["name"] == name


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
    assert record["gold_pairs"] == 4
    # 1-3 is found as well, as near as the right ones: 3 right of 4, 3 found of 4.
    assert (record["precision"], record["recall"]) == (0.75, 0.75)
    assert len(rows) == 4 and record["threshold"] < 1
    assert record["threshold_from"] == "this text"


def test_given_pairs_keep_their_lines(command, one_space, tmp_path):
    lines = sentences(5, seed=2)
    others = [*lines[:4], sentences(1, seed=3)[0]]
    files = write(tmp_path / "a.de", lines), write(tmp_path / "a.en", others)
    options = ["--line-by-line", "--margin", "absolute"]
    _, rows = mine(command, one_space, tmp_path / "out", *files, *options)
    assert [row[1] for row in rows] == lines and [row[2] for row in rows] == others
    assert [float(row[0]) > 0.9999 for row in rows] == [True] * 4 + [False]


def test_copies_of_a_pair_are_no_neighbours_of_it(command, one_space, tmp_path):
    """Six copies of a right pair have the margin of one: that among the different sentences."""
    lines = sentences(8, seed=12)
    others = [f"{line} w7" for line in lines[:7]] + [lines[7]]
    order = [0, 1, 0, 0, 2, 3, 0, 4, 5, 0, 6, 0, 7]
    sides = [[each[row] for row in order] for each in (lines, others)]
    sides[1][1] = sides[1][0]  # and one sentence is said to have two translations
    files = [write(tmp_path / f"a.{name}", side) for name, side in zip(("de", "en"), sides, strict=True)]
    record, rows = mine(command, one_space, tmp_path / "out", *files, "--line-by-line")
    distinct = [list(dict.fromkeys(side)) for side in sides]
    assert record["sentences"] == [len(side) for side in distinct] == [8, 7]
    assert record["lines"] == [13, 13]
    _, margins = margin_by_loops(*map(encoder_of(one_space).encode, distinct), 4, "ratio")
    expected = [
        margins[distinct[0].index(first), distinct[1].index(second)]
        for first, second in zip(*sides, strict=True)
    ]
    assert [float(row[0]) for row in rows] == pytest.approx(expected, abs=2e-6)
    assert [row[1:] for row in rows] == [list(pair) for pair in zip(*sides, strict=True)]
    assert expected[0] > 1.05  # among all lines it has 1, as its copies are its neighbours


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
def test_bad_texts_are_one_line(refusal, one_space, tmp_path, lines, gold, message):
    texts = write(tmp_path / "x.de", lines), write(tmp_path / "x.en", ["b\tw1"])
    options = ["--identifiers", "--gold", write(tmp_path / "gold", gold), "--output", tmp_path / "out"]
    assert message in refusal("mine", *one_space, *texts, *options)
    assert not (tmp_path / "out" / "pairs.tsv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gold", "GOLD"], "expected --identifiers with it"),
        (["--line-by-line", "--identifiers"], "expected no --gold and no --identifiers"),
        (["--line-by-line", "--selection", "forward"], "scores given pairs; expected no --selection"),
    ],
)
def test_options_that_do_not_go_together(refusal, one_space, texts, tmp_path, options, message):
    options = [tmp_path / "gold" if each == "GOLD" else each for each in options]
    assert message in refusal("mine", *one_space, *texts, *options, "--output", tmp_path / "out")


@pytest.mark.parametrize("how", [[], ["--line-by-line"], ["--index", "ivf", "--lists", "1"]])
def test_stored_vectors_are_mined_without_being_read_as_a_whole(
    command, one_space, texts, tmp_path, monkeypatch, how
):
    if how == ["--line-by-line"]:
        texts = [write(tmp_path / f"same.{language}", sentences(6, seed=5)) for language in ("de", "en")]
    expected = mine(command, one_space, tmp_path / "out", *texts, *how)
    assert command("encode", *one_space, *texts, "--output", tmp_path / "vectors").status == 0

    def refuse(*arguments):
        raise AssertionError("vectors or texts are copied")

    monkeypatch.setattr(StoredVectors, "encode", refuse)
    monkeypatch.setattr(search_texts, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(search_texts, "read_lines", refuse)
    mined = mine(command, ["--model", tmp_path / "vectors"], tmp_path / "again", *texts, *how)
    assert mined[1] == expected[1]


def test_vectors_of_lines_with_identifiers_are_not_their_sentences(command, one_space, texts, tmp_path):
    """A folder with vectors of the very file, whose lines begin with identifiers, and of its sentences."""
    files = [bucc(tmp_path, f"bucc.{path.suffix[1:]}", path.read_text().splitlines()) for path in texts]
    assert command("encode", *one_space, *texts, *files, "--output", tmp_path / "vectors").status == 0
    expected = mine(command, one_space, tmp_path / "out", *files, "--identifiers")
    mined = mine(command, ["--model", tmp_path / "vectors"], tmp_path / "again", *files, "--identifiers")
    assert mined[1] == expected[1]


def test_short_lines_are_mined_and_empty_ones_are_scored(command, one_space, tmp_path):
    lines = ["w1", "", "w2 w3 w4"]
    files = [write(tmp_path / f"short.{language}", lines) for language in ("de", "en")]
    record, rows = mine(command, one_space, tmp_path / "out", *files, "--margin", "absolute")
    assert record["sentences"] == [3, 3]
    assert [row[1:] for row in rows[:2]] == [[line, line] for line in ("w1", "w2 w3 w4")]
    _, rows = mine(command, one_space, tmp_path / "scored", *files, "--line-by-line")
    assert [row[1] for row in rows] == lines == [row[2] for row in rows]


def test_a_large_text_is_not_in_memory(tmp_path, monkeypatch):
    """Some numbers of a line are, not the line."""
    path = write(tmp_path / "large.en", (f"sentence {row} of a large text" for row in range(20_000)))
    monkeypatch.setattr(search_texts, "MOST_IN_MEMORY", 0)
    tracemalloc.start()
    side = read_side(path, identifiers=False)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (
        len(side.sentences) == len(side.text) == 20_000 and side.sentences[7] == "sentence 7 of a large text"
    )
    assert held < 50 * 20_000


def test_a_list_of_pairs_never_lies_beside_a_result_of_others(
    command, one_space, texts, tmp_path, monkeypatch
):
    """The command stops while it writes the list: the result of before is no longer taken for finished."""
    output, words = (
        tmp_path / "out",
        [*one_space, *texts, "--margin", "absolute", "--output", tmp_path / "out"],
    )
    assert command("mine", *words).status == 0

    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(mined_texts.PairLists, "write", stop)
    with pytest.raises(KeyboardInterrupt):
        command("mine", *words, "--threshold", "0.9999")
    monkeypatch.undo()
    again = command("mine", *words)
    assert again.status == 0
    rows = (output / "pairs.tsv").read_text().splitlines()
    assert len(rows) == mined_in(output)[0]["pairs"] > 4
