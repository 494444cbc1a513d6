"""Scores of whole texts against loops over the formulae of the paper."""

import numpy as np
import pytest

from command_line.errors import InputError
from embeddings.encoders.sentence_encoder import TokenVectors
from embeddings.search.sentence_scores import bert_scores, check_size, cosines, without_popularity
from fairseq_ext.modules import similarity


def texts(count: int, seed: int) -> TokenVectors:
    """Sentences of 1 to 7 tokens, of which the last one is special; one sentence has none."""
    draw = np.random.default_rng(seed)
    lengths = [*draw.integers(1, 8, count - 1), 0]
    states = [draw.normal(size=(length, 5)).astype(np.float32) for length in lengths]
    return TokenVectors(states, [np.arange(length) == length - 1 for length in lengths])


def f_of(first, second, counted_first, counted_second) -> float:
    """2.2, token by token, with cosines."""

    def cosine(one, other):
        return one @ other / np.linalg.norm(one) / np.linalg.norm(other)

    recall = np.mean([max(cosine(s, t) for t in second) for s in first[counted_first]])
    precision = np.mean([max(cosine(s, t) for s in first) for t in second[counted_second]])
    harmonic = 2 * precision * recall / (precision + recall)
    return harmonic if min(precision, recall) > 0 else min(precision, recall)


@pytest.mark.parametrize("without_specials", [False, True])
@pytest.mark.parametrize("sentences", [2, 64])
def test_bert_scores_are_those_of_a_loop(monkeypatch, without_specials, sentences):
    monkeypatch.setattr(similarity, "SENTENCES_AT_A_TIME", sentences)
    first, second = texts(6, seed=1), texts(9, seed=2)
    scores = bert_scores(first, second, without_specials)
    assert scores.shape == (6, 9) and scores.dtype == np.float32
    assert not scores[-1].any() and not scores[:, -1].any()
    for row, (tokens, special) in enumerate(zip(first.states[:-1], first.special, strict=False)):
        for column, (other, others) in enumerate(zip(second.states[:-1], second.special, strict=False)):
            counted = [
                ~each if without_specials and len(each) > 1 else np.ones(len(each), dtype=bool)
                for each in (special, others)
            ]
            assert scores[row, column] == pytest.approx(f_of(tokens, other, *counted), abs=1e-5)


def test_normalization_in_a_loop():
    scores = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
    normalized = without_popularity(scores, 0.75, None)
    for row in range(4):
        for column in range(6):
            popular = scores[row].mean() + scores[:, column].mean()
            expected = scores[row, column] - 0.75 * popular + 0.5 * scores.mean()
            assert normalized[row, column] == pytest.approx(expected, abs=1e-5)
    tile = without_popularity(scores[:2, :2], 0.75, None)
    np.testing.assert_allclose(without_popularity(scores, 0.75, 2)[:2, :2], tile, atol=1e-6)


def test_cosines():
    draw = np.random.default_rng(1)
    first, second = draw.normal(size=(3, 5)), draw.normal(size=(2, 5))
    scores = cosines(first, second)
    assert scores[2, 1] == pytest.approx(
        first[2] @ second[1] / np.linalg.norm(first[2]) / np.linalg.norm(second[1]),
        abs=1e-6,
    )


def test_texts_that_are_too_long_for_all_scores():
    with pytest.raises(InputError, match="need all 200,000 x 200,000 scores at once; expected at most"):
        check_size(200_000, 200_000)
    check_size(10_000, 10_000)
