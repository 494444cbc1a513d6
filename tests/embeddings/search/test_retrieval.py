"""Against loops over the definitions of xsim (LASER) and of the margin (Artetxe and Schwenk 2019, 2 to 4)."""

import numpy as np
import pytest

from data_prep.formats.vectors import normalized
from embeddings.precision import hits
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


def accuracy_of_bitext_mining(first, second):
    """As mteb's BitextMining: every query's best candidate by cosine against the index of its gold pair."""
    right = 0
    for i, query in enumerate(first):
        cosines = [query @ other / np.linalg.norm(query) / np.linalg.norm(other) for other in second]
        right += int(np.argmax(cosines)) == i
    return right / len(first)


def error_of_similarity_search(first, second, texts):
    """As LASER's: a query is wrong if the best candidate by cosine reads otherwise than its translation."""
    wrong = 0
    for i, query in enumerate(first):
        cosines = [query @ other / np.linalg.norm(query) / np.linalg.norm(other) for other in second]
        wrong += texts[int(np.argmax(cosines))] != texts[i]
    return wrong / len(first)


def sides_with_equal_sentences():
    """24 lines, of which the second side says some twice: lines 3, 9 and 15, and 4 and 20."""
    first, second = two_sides(lines=24, noise=0.7)
    texts = [str(row) for row in range(len(second))]
    for row, earlier in ((9, 3), (15, 3), (20, 4)):
        second[row], texts[row] = second[earlier], texts[earlier]
        first[row] = first[earlier] + 0.1
    return first, second, texts


@pytest.mark.parametrize("turned", [False, True])
def test_accuracies_of_others_on_fixed_arrays(turned):
    first, second, texts = sides_with_equal_sentences()
    sides = (second, first) if turned else (first, second)
    found = precision(Neighbourhoods.of(*sides, 1).retrieve("cosine"), texts)
    assert found.by_number == pytest.approx(accuracy_of_bitext_mining(*sides))
    assert found.error == pytest.approx(error_of_similarity_search(*sides, texts))
    assert found.by_text > found.by_number


def test_vectors_that_are_all_equal_are_at_chance():
    same = np.ones((10, 4), dtype=np.float32)
    found = precision(Neighbourhoods.of(same, same, 4).retrieve("ratio"), list("abcdefghij"))
    assert (found.by_number, found.by_text) == (0.1, 0.1)


@pytest.mark.parametrize("noise", [0.3, 1.0, 2.0])
def test_probes_share_hits_only_where_candidates_are_equal(noise):
    """Without equal vectors, P@1 of the probes and of this command are one number."""
    first, second = two_sides(lines=30, noise=noise)
    of_command = precision(Neighbourhoods.of(first, second, 1).retrieve("cosine"), list(map(str, range(30))))
    assert of_command.by_number == hits(normalized(first), normalized(second)).mean()


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
