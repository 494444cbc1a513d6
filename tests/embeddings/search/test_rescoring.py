"""Pairs found by vectors and compared again by their tokens: against loops over OneAligner's equations."""

from itertools import pairwise

import numpy as np
import pytest

from command_line.errors import InputError
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import NotFinite, TokenVectors
from embeddings.search import rescoring
from embeddings.search.sentence_scores import tokens_of
from fairseq_ext.modules.similarity import TokenStates
from tests.embeddings.encoders.folders import TEXT, write_transformers
from tests.embeddings.mined import mined_in
from tests.embeddings.test_bucc import write_part
from tests.embeddings.test_retrieve import write

GERMAN = [*TEXT, "Zwei Kinder heute"]
ENGLISH = [*TEXT[2:5], "Das Wetter", "Zwei Kinder", "Fahrrad heute", "Das Wetter heute Kinder"]
SCORES = {"abs": 2e-3}  # states are in 16 bits


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_transformers(tmp_path_factory.mktemp("tokens") / "bert")


def f_of_all(folder, without_specials: bool):
    """F of all pairs, token by token (2.2)."""
    encoder = EncoderOptions(folder, cpu=True).load()
    first, second = (encoder.encode_tokens(lines) for lines in (GERMAN, ENGLISH))
    for side in (first, second):
        side.states[:] = [tokens / np.linalg.norm(tokens, axis=1, keepdims=True) for tokens in side.states]
        counted = [~special | (not without_specials) for special in side.special]
        side.special[:] = counted
    scores = np.empty((len(first), len(second)))
    for i, (tokens, of_one) in enumerate(zip(first.states, first.special, strict=True)):
        for j, (other, of_other) in enumerate(zip(second.states, second.special, strict=True)):
            precision = np.mean([max(s @ t for s in tokens) for t in other[of_other]])
            recall = np.mean([max(s @ t for t in other) for s in tokens[of_one]])
            scores[i, j] = 2 * precision * recall / (precision + recall)
    return scores


@pytest.fixture(scope="module")
def plain(folder):
    return f_of_all(folder, without_specials=False)


def normalized(scores, strength, rows, columns):
    """The equation of 2.2 with footnote 3, whose means are over some sentences of either side."""
    mean = scores[np.ix_(rows, columns)].mean()
    result = np.empty_like(scores)
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            sentence, other = scores[i, columns].mean(), scores[rows, j].mean()
            result[i, j] = scores[i, j] - strength * (sentence + other) + (2 * strength - 1) * mean
    return result


@pytest.fixture
def mine(completed, folder, tmp_path):
    texts = [write(tmp_path / "mono.de", GERMAN), write(tmp_path / "mono.en", ENGLISH)]

    def run(*words):
        output = tmp_path / "out"
        completed(
            "mine", "--model", folder, "--cpu", *texts, "--margin", "absolute", *words, "--output", output
        )
        (record,) = mined_in(output)
        rows = [line.split("\t") for line in (output / "pairs.tsv").read_text().splitlines()]
        return record, [(float(score), GERMAN.index(one), ENGLISH.index(other)) for score, one, other in rows]

    return run


def check_forward(pairs, scores):
    """Every German sentence with its best English one."""
    assert sorted(row for _, row, _ in pairs) == list(range(len(GERMAN)))
    for score, row, other in pairs:
        assert score == pytest.approx(scores[row, other], **SCORES)
        assert scores[row, other] == pytest.approx(scores[row].max(), **SCORES)
    assert all(better[0] >= worse[0] for better, worse in pairwise(pairs))


def test_of_all_neighbours_it_is_retrieval_by_bert_score(mine, plain):
    options = ["--neighbours", "99", "--selection", "forward", "--rescore", "bert-score"]
    record, pairs = mine(*options)
    check_forward(pairs, plain)
    assert (record["rescore"], record["normalize"]) == ("bert-score", None)
    record, pairs = mine(*options, "--normalize", "0.75")
    every = [np.arange(size) for size in plain.shape]
    check_forward(pairs, normalized(plain, 0.75, *every))
    assert record["normalize"] == 0.75


def test_special_tokens_do_not_count_if_it_is_so_asked(mine, folder, plain):
    options = ["--neighbours", "99", "--selection", "forward", "--rescore", "bert-score"]
    expected = f_of_all(folder, without_specials=True)
    assert np.abs(expected - plain).max() > 0.02
    record, pairs = mine(*options, "--without-specials", "--normalize", "0.75")
    every = [np.arange(size) for size in plain.shape]
    check_forward(pairs, normalized(expected, 0.75, *every))
    assert record["without_specials"] is True


def test_both_directions_choose_among_the_same_scores(mine, plain):
    _, pairs = mine("--neighbours", "99", "--selection", "backward", "--rescore", "bert-score")
    for score, row, other in pairs:
        assert score == pytest.approx(plain[:, other].max(), **SCORES)
        assert score == pytest.approx(plain[row, other], **SCORES)


def test_only_the_nearest_by_vectors_are_compared(mine, plain):
    options = ["--neighbours", "1", "--selection", "forward"]
    _, nearest = mine(*options)
    _, rescored = mine(*options, "--rescore", "bert-score")
    pairs = {(row, other) for _, row, other in nearest}
    assert {(row, other) for _, row, other in rescored} == pairs
    assert any(plain[row, other] < plain[row].max() - 0.01 for row, other in pairs)
    for score, row, other in rescored:
        assert score == pytest.approx(plain[row, other], **SCORES)


def test_means_are_over_the_sentences_that_are_drawn(mine, plain, monkeypatch):
    drawn = {len(GERMAN): np.array([0, 3, 4]), len(ENGLISH): np.array([1, 2, 5])}

    def draw(sentences, count, seed):
        assert count == 3
        return drawn[sentences]

    monkeypatch.setattr(rescoring, "_draw", draw)
    options = ["--neighbours", "99", "--selection", "forward", "--rescore", "bert-score"]
    _, pairs = mine(*options, "--normalize", "0.5", "--normalize-sample", "3")
    check_forward(pairs, normalized(plain, 0.5, drawn[len(GERMAN)], drawn[len(ENGLISH)]))


def test_a_sample_is_drawn_once_and_the_same_again():
    first, again = (rescoring._draw(1000, 256, 0) for _ in range(2))
    assert len(set(first)) == 256 and (first == again).all() and first.max() < 1000
    assert (first != rescoring._draw(1000, 256, 1)).any()


def test_windows_and_blocks_change_nothing(mine, monkeypatch):
    options = ["--neighbours", "3", "--rescore", "bert-score", "--normalize", "0.75"]
    whole = mine(*options)
    monkeypatch.setattr(rescoring, "WINDOW", 2)
    monkeypatch.setattr(rescoring, "QUERIES", 3)
    parts = mine(*options, "--force")
    assert [pair[1:] for pair in parts[1]] == [pair[1:] for pair in whole[1]]
    assert [pair[0] for pair in parts[1]] == pytest.approx([pair[0] for pair in whole[1]], abs=1e-5)


def test_a_sentence_without_tokens_is_like_none():
    some, none = np.eye(2, 4, dtype=np.float32), np.zeros((0, 4), dtype=np.float32)
    sentences = [TokenVectors(list(states), [np.zeros(len(tokens), bool) for tokens in states])
                 for states in ((some, none), (some, none, some, none))]  # fmt: skip
    padded = [TokenStates.of_sentences(tokens_of(each, False)) for each in sentences]
    assert rescoring._f(*padded) == pytest.approx(np.array([[1, 0], [0, 0]]))
    alone = TokenStates.of_sentences(tokens_of(TokenVectors([none], [np.zeros(0, bool)]), False))
    assert rescoring._f(alone, alone) == pytest.approx(np.zeros((1, 1)))


def test_bucc_by_bert_score(completed, folder, tmp_path):
    right = [(i, i) for i in range(1, 4)]
    write_part(tmp_path, "de-en", "training", GERMAN[:5], [*GERMAN[:3], "Das Wetter"], right)
    out = tmp_path / "out"
    words = ["--pairs", "de-en", "--tested", "training", "--margin", "absolute", "--rescore", "bert-score"]
    words += ["--normalize", "0.75", "--universal-threshold", "--model", folder, "--cpu", "--output", out]
    completed("bucc", tmp_path, *words)
    (run,) = mined_in(out)
    assert (run["rescore"], run["recall"]) == ("bert-score", 1)
    assert run["system"]["name"].endswith(" (bert-score, alpha 0.75)")


@pytest.mark.parametrize("name", ["mine", "bucc"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--rescore", "bert-score"],
            "--rescore bert-score: found --margin ratio, expected --margin absolute",
        ),
        (["--normalize", "0.5"], "--normalize: needs --rescore bert-score; expected both or none"),
        (
            ["--rescore", "bert-score", "--margin", "absolute", "--normalize-sample", "5"],
            "--normalize-sample: needs --normalize; expected both or none",
        ),
    ],
)
def test_options_that_do_not_fit(refusal, one_space, tmp_path, name, words, message):
    texts = [write(tmp_path / "mono.de", GERMAN), write(tmp_path / "mono.en", ENGLISH)]
    where = texts if name == "mine" else [tmp_path, "--pairs", "de-en"]
    assert message in refusal(name, *one_space, *where, *words, "--output", tmp_path / "out")


def test_given_pairs_are_scored_by_vectors(refusal, one_space, tmp_path):
    texts = [write(tmp_path / "mono.de", GERMAN[:3]), write(tmp_path / "mono.en", ENGLISH[:3])]
    words = [
        "--line-by-line",
        "--rescore",
        "bert-score",
        "--margin",
        "absolute",
        "--output",
        tmp_path / "out",
    ]
    assert "--line-by-line: scores given pairs by vectors" in refusal("mine", *one_space, *texts, *words)


def test_the_sentence_that_has_no_numbers_is_named():
    """Beyond the first window, too."""

    class Broken:
        name = "broken"

        def encode_tokens(self, sentences, language):
            bad = [row for row, sentence in enumerate(sentences) if sentence == "bad"]
            if bad:
                raise NotFinite(self.name, bad[0])
            return TokenVectors([np.ones((1, 2))] * len(sentences), [np.zeros(1, bool)] * len(sentences))

    sentences = ["good"] * (rescoring.WINDOW + 3) + ["bad"]
    with pytest.raises(InputError, match=f"the vector of sentence {rescoring.WINDOW + 4} "):
        list(rescoring._encoded(Broken(), sentences, "de"))
