"""P@1 and the alarm for collapsed vectors, against plain loops and numpy."""

import logging
import math

import numpy as np
import pytest
import torch
from fairseq.logging import metrics

from fairseq_ext.tasks import retrieval_validation
from fairseq_ext.tasks.retrieval_validation import (
    ROWS_AT_A_TIME,
    RetrievalValidation,
    effective_rank,
    mean_cosine,
    precision_at_1,
)

PAIRS = ["de-en", "en-fr"]


def vectors(count: int, width: int = 6, seed: int = 1) -> torch.Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed))


def cosine(a, b) -> float:
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def loop(source: torch.Tensor, target: torch.Tensor) -> float:
    found = 0
    for anchors, candidates in ((source, target), (target, source)):
        for row, anchor in enumerate(anchors):
            cosines = [cosine(anchor.numpy(), candidate.numpy()) for candidate in candidates]
            found += cosines.index(max(cosines)) == row
    return 100 * found / (2 * len(source))


@pytest.mark.parametrize("noise", [0.2, 1.0, 5.0])
def test_precision_at_1_is_that_of_a_loop(noise):
    source = vectors(40)
    target = (source + noise * vectors(40, seed=2)) * torch.rand(40, 1) * 3  # lengths do not matter
    assert precision_at_1(source, target) == pytest.approx(loop(source, target))


def test_precision_at_1_in_blocks():
    source = vectors(2 * ROWS_AT_A_TIME + 7, 32)
    assert precision_at_1(source, 2 * source) == 100
    assert precision_at_1(source, source.roll(1, dims=0)) == 0


def test_spread_of_vectors():
    some = vectors(30, 5)
    cosines = [cosine(a, b) for i, a in enumerate(some.numpy()) for j, b in enumerate(some.numpy()) if i != j]
    assert mean_cosine(some) == pytest.approx(np.mean(cosines), abs=1e-5)
    for each in (some, vectors(4, 9)):
        unit = each.numpy() / np.linalg.norm(each.numpy(), axis=1, keepdims=True)
        shares = np.linalg.svd(unit, compute_uv=False)
        shares /= shares.sum()
        assert effective_rank(each) == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-3)
    assert effective_rank(torch.eye(7)) == pytest.approx(7)
    same = torch.ones(20, 5)
    assert (mean_cosine(same), effective_rank(same)) == pytest.approx((1, 1), abs=1e-2)


def add(validation: RetrievalValidation, part: int, source, target, lines=None, split: str = "valid") -> None:
    lines = np.arange(len(source)) if lines is None else np.array(lines)
    validation.add(split, part, lines, source, target)


def test_measures_do_not_depend_on_batches_and_a_line_counts_once():
    source, target = vectors(20), vectors(20) + 0.8 * vectors(20, seed=2)
    whole, parts = RetrievalValidation(PAIRS), RetrievalValidation(PAIRS)
    for validation in (whole, parts):
        add(validation, 1, vectors(5, seed=3), vectors(5, seed=4))
    add(whole, 0, source, target)
    for lines in (np.array([19, 3, 4]), np.arange(10), np.arange(10, 20), np.arange(3)):
        add(parts, 0, source[lines], target[lines], lines)
    assert parts.measures() == whole.measures()
    expected = [loop(source, target), loop(vectors(5, seed=3), vectors(5, seed=4))]
    found = whole.measures()
    assert [found["retrieval_de-en"], found["retrieval_en-fr"]] == pytest.approx(expected, abs=0.01)
    assert found["retrieval"] == pytest.approx(sum(expected) / 2, abs=0.01)


def test_a_new_set_and_a_new_validation_begin_anew():
    validation = RetrievalValidation(PAIRS)
    add(validation, 0, vectors(4), vectors(4, seed=2), split="valid")
    add(validation, 1, vectors(3), vectors(3), split="test")
    found = validation.measures()
    assert math.isnan(found["retrieval_de-en"])
    assert (found["retrieval_en-fr"], found["retrieval"]) == (100, 100)
    validation.begin()
    add(validation, 1, vectors(3), -vectors(3), split="test")
    assert validation.measures()["retrieval"] == 0


def test_collapsed_vectors_are_reported_once(caplog):
    validation = RetrievalValidation(PAIRS)
    alike = torch.ones(30, 8) + 0.05 * vectors(30, 8)
    with caplog.at_level(logging.WARNING):
        add(validation, 0, vectors(30, 8), vectors(30, 8))
        validation.measures()
        assert not caplog.records
        validation.begin()
        for vector in (alike, torch.full_like(alike, math.nan)):
            caplog.clear()
            add(validation, 0, vector, vector)
            validation.measures()
            validation.measures()
            (record,) = caplog.records
            assert record.message.startswith("valid: the sentence vectors have collapsed: mean cosine ")


def test_vectors_of_one_dimension_are_reported_whatever_their_cosine(caplog):
    """A vector and its opposite by turns: of a hundred dimensions they fill one."""
    validation, one = RetrievalValidation(PAIRS), vectors(1, 100)
    with caplog.at_level(logging.WARNING):
        add(validation, 0, *[torch.cat([one, -one] * 60)] * 2)
        found = validation.measures()
    assert (found["mean_cosine"], found["effective_rank"]) == pytest.approx((0, 1), abs=0.2)
    (record,) = caplog.records
    assert record.message.startswith("valid: the sentence vectors have collapsed: mean cosine ")


@pytest.mark.parametrize("with_precision", [False, True])
def test_what_is_logged(with_precision):
    validation = RetrievalValidation(PAIRS)
    with metrics.aggregate(new_root=True) as logged:
        for part in (0, 1):
            add(validation, part, vectors(4), vectors(4))
            validation.log(with_precision)
    names = {"mean_cosine", "effective_rank"}
    if with_precision:
        names |= {"retrieval", "retrieval_de-en", "retrieval_en-fr"}
    assert set(logged.get_smoothed_values()) == names


def test_sentences_are_compared_once_in_a_validation(monkeypatch):
    """The meters are nested as those of `fairseq-train`, whose trainer asks after every batch, too."""
    asked = []
    real = retrieval_validation.precision_at_1
    monkeypatch.setattr(retrieval_validation, "precision_at_1", lambda *x: asked.append(0) or real(*x))
    validation = RetrievalValidation(["de-en"])
    for _ in range(2):  # in the second, the meters of the first are closed
        validation.begin()
        asked.clear()
        with metrics.aggregate("train"), metrics.aggregate(new_root=True) as whole:
            for lines in ([0, 1], [2, 3], [4]):
                add(validation, 0, vectors(5)[lines], vectors(5)[lines], lines)
                with metrics.aggregate() as batch:
                    validation.log(with_precision=True)
                    assert math.isnan(batch.get_smoothed_values()["retrieval"])
        assert not asked
        assert whole.get_smoothed_values()["retrieval"] == 100
        assert len(asked) == 1
    with metrics.aggregate() as whole:  # `fairseq-validate` asks inside
        validation.log(with_precision=True)
        assert whole.get_smoothed_values()["retrieval"] == 100


# --- by tokens, and without popular sentences

LENGTHS = ([3, 1, 5, 2, 4, 3], [2, 2, 4, 3, 3, 1])


def texts(seed: int) -> list[list[torch.Tensor]]:
    """Both sides of six pairs: states of their tokens, n x C, those of a pair somewhat alike."""
    sides = [[vectors(length, seed=seed + i) for i, length in enumerate(side)] for side in LENGTHS]
    return [[states + 0.9 * vectors(1, seed=90 + i) for i, states in enumerate(side)] for side in sides]


def padded(side: list[torch.Tensor], rows, without_first: bool) -> tuple[torch.Tensor, ...]:
    """T x B x C with nonsense at padding; B x T; and B x T, true at tokens that do not count."""
    longest = max(len(side[row]) for row in rows)
    states = torch.full((longest, len(rows), 6), 77.0)
    padding = torch.ones(len(rows), longest, dtype=torch.bool)
    for place, row in enumerate(rows):
        states[: len(side[row]), place] = side[row]
        padding[place, : len(side[row])] = False
    specials = torch.zeros_like(padding)
    specials[:, 0] = without_first
    return states, padding, specials


def bert_scores(sources, targets, without_first: bool) -> np.ndarray:
    """Of sentences of one token, which is a special one, that one counts."""
    scores = np.zeros((len(sources), len(targets)))
    for m, source in enumerate(sources):
        for n, target in enumerate(targets):
            cosines = np.array([[cosine(a, b) for b in target.numpy()] for a in source.numpy()])
            best = cosines.max(axis=0), cosines.max(axis=1)
            precision, recall = (each[int(without_first and len(each) > 1) :].mean() for each in best)
            smaller = min(precision, recall)
            scores[m, n] = 2 * precision * recall / (precision + recall) if smaller > 0 else smaller
    return scores


def hits(scores: np.ndarray, strength: float) -> float:
    """P@1 of both directions from scores less alpha times their means."""
    scores = scores - strength * (scores.mean(axis=1, keepdims=True) + scores.mean(axis=0, keepdims=True))
    own = np.arange(len(scores))
    return 100 * np.mean([scores.argmax(axis=1) == own, scores.argmax(axis=0) == own])


@pytest.mark.parametrize("without_first", [False, True])
@pytest.mark.parametrize("strength", [0.0, 0.75])
@pytest.mark.parametrize("batches", [[[0, 1, 2, 3, 4, 5]], [[5, 2], [0, 1, 3], [4, 2]]], ids=["one", "many"])
def test_tokens_are_compared(strength, batches, without_first):
    found, expected = [], []
    for seed in (10, 20, 30):
        sides = texts(seed)
        validation = RetrievalValidation(PAIRS, "bert-score", strength)
        for rows in batches:
            add(validation, 0, *(torch.stack([side[row].mean(0) for row in rows]) for side in sides), rows)
            validation.add_tokens(0, np.array(rows), *(padded(side, rows, without_first) for side in sides))
        found.append(validation.measures()["retrieval_de-en"])
        expected.append(hits(bert_scores(*sides, without_first), strength))
    assert found == pytest.approx(expected, abs=0.01)
    assert 0 < sum(expected) < 300


def test_cosines_are_normalized():
    source = vectors(20) + 1
    target = source + vectors(20, seed=2)
    target[7] = source.mean(0)  # near to all
    scores = np.array([[cosine(a, b) for b in target.numpy()] for a in source.numpy()])
    for strength in (0.0, 0.5, 0.75):
        validation = RetrievalValidation(PAIRS, "cosine", strength)
        add(validation, 0, source, target)
        assert validation.measures()["retrieval"] == pytest.approx(hits(scores, strength), abs=0.01)
    assert hits(scores, 0.0) != hits(scores, 0.75)
