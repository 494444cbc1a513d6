import numpy as np
import pytest

from embeddings.search.mining import Mining, mine, score_pairs
from embeddings.search.neighbours import Search
from tests.embeddings.search.test_retrieval import margin_by_loops, two_sides


def unequal_sides(noise=0.3):
    """12 pairs of which the second side lacks the last three and has four others, in another order."""
    first, second = two_sides(noise=noise)
    others = np.random.default_rng(8).normal(size=(4, 6))
    return first, np.concatenate([others, second[8::-1]])


def best_by_loops(cosine, scores, k):
    """The best margin among the k nearest of every row: (score, row, column)."""
    pairs = []
    for i in range(len(cosine)):
        columns = sorted(range(cosine.shape[1]), key=lambda j, i=i: -cosine[i, j])[:k]
        j = max(columns, key=lambda j, i=i: scores[i, j])
        pairs.append((scores[i, j], i, j))
    return pairs


@pytest.mark.parametrize("selection", ["forward", "backward", "intersection", "max"])
def test_pairs_are_those_of_loops_over_the_margin(selection):
    first, second = unequal_sides()
    cosine, scores = margin_by_loops(first, second, 3, "ratio")
    forward = best_by_loops(cosine, scores, 3)
    backward = [(s, i, j) for s, j, i in best_by_loops(cosine.T, scores.T, 3)]
    expected = {"forward": forward, "backward": backward}.get(selection)
    if selection == "intersection":
        expected = [pair for pair in forward if pair in backward]
    if selection == "max":
        expected, rows, columns = [], set(), set()
        for s, i, j in sorted(forward + backward, reverse=True):
            if i not in rows and j not in columns:
                expected.append((s, i, j))
                rows.add(i)
                columns.add(j)
    expected = sorted(expected, key=lambda pair: (-round(pair[0], 9), *pair[1:]))
    mined = mine(first, second, Mining(neighbours=3, selection=selection))
    assert list(zip(mined.first.tolist(), mined.second.tolist(), strict=True)) == [p[1:] for p in expected]
    np.testing.assert_allclose(mined.scores, [p[0] for p in expected], rtol=1e-5)


def test_translations_come_first():
    mined = mine(*unequal_sides(noise=0.05), Mining("distance"))
    gold = {(i, 12 - i) for i in range(9)}
    assert set(zip(mined.first[:9].tolist(), mined.second[:9].tolist(), strict=True)) == gold


def test_equally_good_pairs_are_in_the_order_of_the_first_side():
    """And a threshold is the score of the last pair that reaches it."""
    mined = mine(np.eye(3), np.eye(3)[::-1], Mining("absolute", neighbours=1))
    assert mined.pairs() == [(0, 2), (1, 1), (2, 0)]
    assert [mined.reaching(threshold) for threshold in (None, 1.0, 1.5)] == [3, 3, 0]


def test_neighbours_that_are_none_are_counted_in_both_directions():
    """Of 3 and 4 sentences that are orthogonal to each other, 2 each."""
    directions = np.eye(7)
    assert mine(directions[:3], directions[3:], Mining(neighbours=2)).without_neighbourhood == 2 * (3 + 4)
    assert mine(directions[:3], directions[:3], Mining(neighbours=1)).without_neighbourhood == 0


@pytest.mark.parametrize("memory", [2.0, 1e-6])
@pytest.mark.parametrize("kind", ["ratio", "distance", "absolute"])
def test_given_pairs_have_the_margin_of_loops(kind, memory):
    """Also several pairs of one sentence, and block by block."""
    first, second = two_sides()
    _, scores = margin_by_loops(first, second, 4, kind)
    pairs = np.array([*range(12), 3, 3, 0]), np.array([*range(12), 3, 5, 11])
    margins = score_pairs(first, second, Mining(kind, search=Search(memory=memory)), pairs)
    np.testing.assert_allclose(margins, scores[pairs], rtol=1e-5)
