import numpy as np
import pytest

from embeddings.search.bucc import Ranking, best_threshold, f1_score
from embeddings.search.mining import MinedPairs


def test_f1_with_several_gold_pairs_of_a_sentence():
    gold = [(0, 0), (0, 1), (1, 2), (3, 3)]
    score = f1_score([(0, 1), (1, 2), (2, 2), (1, 2)], gold)
    assert (score.pairs, score.precision, score.recall) == (3, pytest.approx(2 / 3), 0.5)
    assert score.f1 == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


def test_nothing_found_and_nothing_right():
    assert f1_score([], [(0, 0)]).f1 == 0
    assert f1_score([(1, 1)], [(0, 0)]).f1 == 0


def test_the_threshold_is_the_best_of_all():
    random = np.random.default_rng(0)
    for _ in range(20):
        scores = np.sort(random.integers(0, 10, size=15) / 10)[::-1]
        pairs = [(i, i) for i in range(15)]
        gold = [pair for pair in pairs if random.random() < 0.5] + [(20, 20)]

        def f1(threshold, scores=scores, pairs=pairs, gold=gold):
            kept = [pair for score, pair in zip(scores, pairs, strict=True) if score >= threshold]
            return f1_score(kept, gold).f1

        best = best_threshold(Ranking(scores, pairs, gold))
        assert f1(best) == pytest.approx(max(f1(threshold) for threshold in [*scores, 2]))


def test_no_right_pair_keeps_none():
    assert best_threshold(Ranking(np.array([0.9]), [(0, 0)], [(1, 1)])) == float("inf")
    assert best_threshold(Ranking(np.array([]), [], [(1, 1)])) == float("inf")


def test_one_threshold_for_several_pairs_of_languages_has_the_best_mean():
    random, others = np.random.default_rng(1), 0
    for _ in range(20):
        rankings = []
        for shift in (0.0, 0.3):
            scores = np.sort(random.integers(0, 10, size=12) / 10 + shift)[::-1].astype(np.float32)
            pairs = [(i, i) for i in range(12)]
            rankings.append(
                Ranking(scores, pairs, [(i, i) for i in range(12) if random.random() < 0.9 - i / 9])
            )

        def mean_f1(threshold, rankings=rankings):
            kept = [
                [
                    pair
                    for score, pair in zip(ranking.scores, ranking.pairs, strict=True)
                    if score >= threshold
                ]
                for ranking in rankings
            ]
            return np.mean(
                [f1_score(pairs, ranking.gold).f1 for pairs, ranking in zip(kept, rankings, strict=True)]
            )

        best = best_threshold(*rankings)
        every = [score for ranking in rankings for score in ranking.scores]
        assert mean_f1(best) == pytest.approx(max(map(mean_f1, every)))
        others += best_threshold(rankings[0]) != best
    assert others > 5


def test_equal_scores_stay_together_and_neighbouring_ones_apart():
    """Wherever they lie: half way between two neighbours is no number of 32 bits."""
    first = np.float32(0.9)
    for _ in range(8):
        scores = np.array([first, first, np.nextafter(first, np.float32(0))], dtype=np.float32)
        best = best_threshold(Ranking(scores, [(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1)]))
        assert MinedPairs(scores, np.arange(3), np.arange(3), 0).reaching(best) == 2
        first = scores[2]
