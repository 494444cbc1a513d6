"""Against loops over the definitions of xsim (LASER) and of the margin (Artetxe and Schwenk 2019, 2 to 4)."""

import numpy as np
import pytest

from embeddings.search.margin import margins, without_neighbourhood
from embeddings.search.retrieval import Neighbourhoods, precision


def two_sides(lines=12, noise=1.0):
    random = np.random.default_rng(3)
    first = random.normal(size=(lines, 6))
    return first, first + noise * random.normal(size=(lines, 6))


def retrieve(first, second, similarity, k=4):
    found = Neighbourhoods.of(first, second, k)
    return found.retrieve(similarity), found.reversed().retrieve(similarity)


def margin_by_loops(first, second, k, kind):
    """n x m scores: every pair, with neighbourhoods over the whole other side."""
    cosine = [[x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in second] for x in first]
    cosine = np.array(cosine)
    of_first = [np.mean(sorted(row, reverse=True)[:k]) for row in cosine]
    of_second = [np.mean(sorted(column, reverse=True)[:k]) for column in cosine.T]
    scores = np.empty_like(cosine)
    for i in range(len(first)):
        for j in range(len(second)):
            a, b = cosine[i, j], (of_first[i] + of_second[j]) / 2
            scores[i, j] = {"ratio": a / b, "distance": a - b, "absolute": a}[kind]
    return cosine, scores


@pytest.mark.parametrize("kind", ["ratio", "distance", "absolute"])
def test_the_best_margin_among_the_nearest(kind):
    first, second = two_sides()
    cosine, scores = margin_by_loops(first, second, 4, kind)
    expected = []
    for i in range(len(first)):
        candidates = sorted(range(len(second)), key=lambda j, i=i: -cosine[i, j])[:4]
        expected.append(max(candidates, key=lambda j, i=i: scores[i, j]))
    there, back = retrieve(first, second, kind)
    assert there.tolist() == expected
    assert back.tolist() == retrieve(second, first, kind)[0].tolist()


def test_margins_change_what_cosine_finds():
    first, second = two_sides(lines=40, noise=2.0)
    assert (retrieve(first, second, "cosine")[0] != retrieve(first, second, "ratio")[0]).any()


def test_cosine_is_the_largest_product_of_both_directions():
    first, second = two_sides()
    cosine, _ = margin_by_loops(first, second, 4, "absolute")
    there, back = retrieve(first, second, "cosine")
    assert there.tolist() == cosine.argmax(axis=1).tolist()
    assert back.tolist() == cosine.argmax(axis=0).tolist()


def test_a_sentence_that_occurs_twice_is_an_error_by_number_only():
    found = precision(np.array([0, 0, 2, 2]), ["a", "a", "b", "c"])
    assert (found.lines, found.by_number, found.by_text) == (4, 0.5, 0.75)
    assert found.error == 0.25


def test_gold_rows_may_be_others_than_ones_own():
    assert precision(np.array([4, 1]), list("abcde"), gold=np.array([4, 2])).by_number == 0.5


def test_a_neighbourhood_of_nothing_makes_no_huge_margin():
    score = margins(np.array([0.5]), np.array([1e-9]), np.array([1e-9]), "ratio")
    assert score == pytest.approx(50)
    assert margins(np.array([0.5]), np.array([-0.4]), np.array([0.1]), "ratio") > 0
    assert without_neighbourhood(np.array([1e-9, 0.5]), np.array([1e-9, 0.5])) == 1


def test_fewer_lines_than_neighbours():
    first, second = two_sides(lines=2, noise=0.1)
    assert retrieve(first, second, "ratio")[0].tolist() == [0, 1]
