"""Nearest neighbours of smaller vectors, against plain loops over the definitions."""

import numpy as np
import pytest

from embeddings.search import compression
from embeddings.search.compression import FEW, KINDS, Compression, nearest_compressed


def by_definition(query, candidates, kind):
    """The nearest row, one candidate after the other."""
    unit = lambda vector: vector / np.linalg.norm(vector)  # noqa: E731
    query, candidates = unit(query), [unit(candidate) for candidate in candidates]
    width = len(query)

    def int8(vector):
        return [int(np.clip(np.rint(number * 127 * np.sqrt(width) / 4), -127, 127)) for number in vector]

    small = {"float32": list, "int8": int8, "binary": lambda vector: [1 if x > 0 else -1 for x in vector]}
    numbers = kind.removesuffix("+rescored")
    shrink = small[numbers]

    def product(one, other):
        return sum(float(x) * float(y) for x, y in zip(one, other, strict=True))

    scores = [product(shrink(query), shrink(candidate)) for candidate in candidates]
    order = sorted(range(len(candidates)), key=lambda row: (-scores[row], row))
    if kind == numbers:
        return order[0]
    return max(order[:FEW], key=lambda row: product(query, shrink(candidates[row])))


@pytest.mark.parametrize("width", [16, 13])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_definition(kind, width):
    random = np.random.default_rng(1)
    queries, candidates = random.normal(size=(25, 16)), random.normal(size=(60, 16))
    queries[:20] = 3 * candidates[:20] + random.normal(size=(20, 16))
    rows = nearest_compressed(
        queries.astype(np.float32), candidates.astype(np.float32), Compression(kind, width)
    )
    expected = [by_definition(query[:width], candidates[:, :width], kind) for query in queries]
    assert list(rows) == expected


def test_bytes_of_a_vector():
    assert [Compression(kind, 20).numbers.bytes for kind in KINDS] == [80, 20, 20, 3, 3]


def test_rescoring_finds_what_signs_confuse():
    """Two candidates of the same signs: the numbers of the query decide nothing, those of int8 do."""
    candidates = np.array([[1, 1, 1, 1], [3, 0.1, 0.1, 0.1], [-1, 1, 1, 1]], dtype=np.float32)
    query = np.array([[3, 0.2, 0.1, 0.1]], dtype=np.float32)
    rows = {kind: int(nearest_compressed(query, candidates, Compression(kind, 4))[0]) for kind in KINDS}
    assert rows == {"float32": 1, "int8": 1, "int8+rescored": 1, "binary": 0, "binary+rescored": 0}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.endswith("rescored")])
def test_queries_are_rescored_in_blocks(kind, monkeypatch):
    random = np.random.default_rng(2)
    queries, candidates = (random.normal(size=(rows, 16)).astype(np.float32) for rows in (11, 30))
    whole = nearest_compressed(queries, candidates, Compression(kind, 16))
    monkeypatch.setattr(compression, "RESCORED_ROWS", 4)
    assert list(nearest_compressed(queries, candidates, Compression(kind, 16))) == list(whole)
    assert list(whole) == [by_definition(query, candidates, kind) for query in queries]


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_of_equal_candidates(kind):
    candidates = np.random.default_rng(3).normal(size=(40, 16)).astype(np.float32)
    twice = np.repeat(candidates, 2, axis=0)
    rows = nearest_compressed(candidates, twice, Compression(kind, 16))
    assert list(rows) == list(range(0, 80, 2))
