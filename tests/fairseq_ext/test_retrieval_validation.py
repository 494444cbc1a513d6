"""P@1 and the alarm for collapsed vectors, against plain loops and numpy."""

import logging
import math

import numpy as np
import pytest
import torch
from fairseq.logging import metrics

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
    lines = np.arange(len(source)) if lines is None else lines
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
