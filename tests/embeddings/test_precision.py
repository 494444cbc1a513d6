"""P@1 and cosines against plain loops over the definition."""

import math

import numpy as np
import pytest

from data_prep.formats.vectors import normalized
from embeddings import precision
from embeddings.precision import both_ways, hits


def cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


def precision_by_loops(queries, keys):
    right = 0
    for i, query in enumerate(queries):
        best = max(range(len(keys)), key=lambda j: cosine(query, keys[j]))
        right += best == i
    return right / len(queries)


@pytest.mark.parametrize("rows", [3, 2048])
def test_precision_is_that_of_loops(monkeypatch, rows):
    monkeypatch.setattr(precision, "ROWS", rows)
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 5))
    y = x + 0.8 * rng.normal(size=(40, 5))
    expected = precision_by_loops(x.tolist(), y.tolist()), precision_by_loops(y.tolist(), x.tolist())
    assert 0.1 < min(expected) < max(expected) < 0.9 and expected[0] != expected[1]
    assert hits(normalized(x), normalized(y)).mean() == pytest.approx(expected[0])
    assert both_ways([(normalized(x), normalized(y))]) == pytest.approx(sum(expected) / 2)


def test_lengths_do_not_matter_and_zeros_are_allowed():
    sides = normalized([[1, 0], [0, 5], [0, 0]]), normalized([[9, 1], [1, 9], [3, 3]])
    assert hits(*sides).tolist() == [1, 1, pytest.approx(1 / 3)]


def test_equal_neighbours_share_the_hit():
    same = normalized(np.ones((4, 3)) / 7)
    assert both_ways([(same, same)]) == pytest.approx(1 / 4)
    x = normalized([[1, 0], [1, 0], [0, 1]])
    assert hits(x, x).tolist() == [0.5, 0.5, 1]


def test_several_right_answers():
    queries, keys = normalized([[1, 0], [0, 1]]), normalized([[1, 0.1], [1, 0.2], [0.1, 1]])
    gold = np.array([[False, True, False], [True, False, True]])
    assert hits(queries, keys, gold).tolist() == [0, 1]
    # Back: key 0 is nearest to query 0 but belongs to query 1; key 1 to query 0; key 2 to query 1.
    assert hits(keys, queries, gold.T).tolist() == [0, 1, 1]
    assert both_ways([(queries, keys, gold)]) == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_a_vector_counts_the_same_in_batches_of_any_size():
    easy, hard = normalized([[1, 0], [0, 1], [-1, 0]]), normalized([[1, 0]] * 2)
    assert both_ways([(easy, easy), (hard, hard)]) == pytest.approx((3 + 2 * 0.5) / 5)
