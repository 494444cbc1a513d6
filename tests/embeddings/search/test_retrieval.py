"""Against loops over the margin (Artetxe and Schwenk 2019, 2 to 4), and numbers of code of LASER and mteb."""

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
    near = Neighbourhoods.of(first, second, k)
    return near.retrieve(similarity), near.reversed().retrieve(similarity)


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
    measured = precision(np.array([0, 0, 2, 2]), ["a", "a", "b", "c"])
    assert (measured.lines, measured.by_number, measured.by_text) == (4, 0.5, 0.75)
    assert measured.error == 0.25


def fixed_sides():
    """60 lines of 6 numbers, of which no generator of random numbers is part, and noisy copies of them."""
    rows, columns = np.mgrid[1:61, 1:7]
    first = np.sin(rows * columns * 1.7 + columns**2)
    second = first + 0.42 * np.sin(rows * rows * 0.7 + columns * 3.1)
    return first.astype(np.float32), second.astype(np.float32)


def fixed_sides_with_equal_sentences():
    """Of which the second side says some sentences twice or three times, as their texts do."""
    first, second = fixed_sides()
    texts = [str(row) for row in range(len(second))]
    for row, earlier in ((9, 5), (15, 5), (20, 8), (31, 30), (44, 17)):
        second[row], texts[row] = second[earlier], texts[earlier]
        first[row] = first[earlier] + 0.01 * np.sin(np.arange(1, 7))
    return first, second, texts


XSIM = {  # margin -> errors of 60, by line and by text: of the first side among the second, and the other way
    "ratio": ((19, 14), (21, 17)),
    "distance": ((19, 14), (21, 17)),
    "absolute": ((24, 19), (18, 13)),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("margin", list(XSIM))
def test_errors_are_those_that_laser_counts(margin, turned):
    """XSIM is what `xSIM(x, y, margin, k=4)` of LASER, source/xsim.py (github.com/facebookresearch/LASER,
    7fb053d), returns for these arrays, without `eval_text` and with the file of the texts.
    """
    first, second, texts = fixed_sides_with_equal_sentences()
    sides = (second, first) if turned else (first, second)
    measured = precision(Neighbourhoods.of(*sides, 4).retrieve(margin), texts)
    errors = (measured.lines * (1 - measured.by_number), measured.lines * measured.error)
    assert errors == pytest.approx(XSIM[margin][turned])


@pytest.mark.parametrize(("turned", "right"), [(False, 36), (True, 43)])
def test_accuracies_are_those_of_mteb(turned, right):
    """What BitextMiningEvaluator of mteb (mteb/evaluation/evaluators, github.com/embeddings-benchmark/mteb,
    0c17874) calls accuracy, times 60 lines. No two are equal: which of equal ones it finds is left to topk.
    """
    first, second = fixed_sides()
    sides = (second, first) if turned else (first, second)
    measured = precision(Neighbourhoods.of(*sides, 1).retrieve("cosine"), list(map(str, range(60))))
    assert measured.lines * measured.by_number == pytest.approx(right)
    assert measured.by_text == measured.by_number


def test_vectors_that_are_all_equal_are_at_chance():
    same = np.ones((10, 4), dtype=np.float32)
    measured = precision(Neighbourhoods.of(same, same, 4).retrieve("ratio"), list("abcdefghij"))
    assert (measured.by_number, measured.by_text) == (0.1, 0.1)


@pytest.mark.parametrize("noise", [0.3, 1.0, 2.0])
def test_probes_share_hits_only_where_candidates_are_equal(noise):
    """Without equal vectors, P@1 of the probes and of this command are one number."""
    first, second = two_sides(lines=30, noise=noise)
    of_command = precision(Neighbourhoods.of(first, second, 1).retrieve("cosine"), list(map(str, range(30))))
    assert of_command.by_number == hits(normalized(first), normalized(second)).mean()


def test_gold_rows_may_be_others_than_ones_own():
    assert precision(np.array([4, 1]), list("abcde"), gold=np.array([4, 2])).by_number == 0.5
    measured = precision(np.array([1, 0, 2]), list("abcba"), gold=np.array([3, 4, 2]))
    assert (measured.by_number, measured.by_text) == (pytest.approx(1 / 3), 1)


def test_a_neighbourhood_of_nothing_makes_no_huge_margin():
    score = margins(np.array([0.5]), np.array([1e-9]), np.array([1e-9]), "ratio")
    assert score == pytest.approx(50)
    assert margins(np.array([0.5]), np.array([-0.4]), np.array([0.1]), "ratio") > 0
    assert without_neighbourhood(np.array([1e-9, 0.5]), np.array([1e-9, 0.5])) == 1


def test_fewer_lines_than_neighbours():
    first, second = two_sides(lines=6, noise=0.1)
    assert retrieve(first[:2], second[:2], "ratio")[0].tolist() == [0, 1]
    assert retrieve(first[:2], second, "ratio")[0].tolist() == [0, 1]
    assert retrieve(first, second[:2], "ratio")[1].tolist() == [0, 1]
