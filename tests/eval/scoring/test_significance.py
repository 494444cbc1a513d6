"""Paired tests: false positives and power in simulations, and agreement with scipy's and sacreBLEU's."""

import itertools
import tracemalloc

import numpy as np
import pytest
from sacrebleu import significance as sacrebleu_significance
from sacrebleu.metrics import BLEU, CHRF
from scipy import stats

from eval.scoring.line_statistics import FORMULAS, bleu, segments
from eval.scoring.paired_test import SACREBLEU_BOOTSTRAP, PairedTest
from eval.scoring.significance import (
    exchanged_differences,
    holm,
    interval,
    is_significant,
    p_value_with_seeds,
    randomization_p,
    resampled_scores,
    sacrebleu_bootstrap_p,
    samples_needed,
)
from tests.eval.scoring.simulated_outputs import LINES, counts, flat, grouped

SAMPLES = 199


def is_rate(rejections: np.ndarray, rate: float) -> bool:
    """Whether a share of replicates is compatible with a true rate: errs once in 10,000."""
    return stats.binomtest(int(rejections.sum()), len(rejections), rate).pvalue > 1e-4


def observed(outputs, measure: str, directions: int) -> np.ndarray:
    """Difference of means over seeds and directions, one per replicate."""
    first, second = (FORMULAS[measure](side.sum(axis=0)).mean(axis=-1) for side in map(flat, outputs))
    return grouped(second - first, directions)


def rejected(outputs, measure: str = "bleu", directions: int = 1) -> np.ndarray:
    """Whether approximate randomization finds each replicate significant at 0.05."""
    exchanged = exchanged_differences(*map(flat, outputs), FORMULAS[measure], SAMPLES, 1)
    exchanged = grouped(exchanged, directions)
    pairs = zip(observed(outputs, measure, directions), exchanged.T, strict=True)
    return np.array([randomization_p(difference, samples) <= 0.05 for difference, samples in pairs])


def resampled(outputs, measure: str = "bleu", directions: int = 1) -> np.ndarray:
    """Differences on bootstrap samples, samples x replicates."""
    first, second = resampled_scores(*map(flat, outputs), FORMULAS[measure], SAMPLES, 1)
    return grouped(second.mean(axis=-1) - first.mean(axis=-1), directions)


# --- true nulls


@pytest.mark.parametrize(
    ("replicates", "measure", "directions", "seeds"),
    [(1000, "bleu", 1, 1), (400, "chrf", 1, 1), (400, "bleu", 4, 1), (400, "bleu", 2, 3)],
)
def test_five_percent_of_true_nulls_are_rejected(replicates, measure, directions, seeds):
    rejections = rejected(counts(1, replicates, directions, seeds, measure), measure, directions)
    assert is_rate(rejections, 0.05), rejections.mean()


@pytest.mark.parametrize(("first", "second"), [(3, 1), (2, 3)])
def test_different_numbers_of_seeds_have_five_percent_too(first, second):
    baseline, system = counts(17, 400, 2, 3)
    rejections = rejected((baseline[:, :, :, :first], system[:, :, :, :second]), directions=2)
    assert is_rate(rejections, 0.05), rejections.mean()


def test_directions_with_other_numbers_of_lines_have_five_percent_too():
    """The mean over two directions, of which one has half of the lines."""
    outputs = counts(18, 400, 2)
    differences, exchanged = 0, 0
    for lines, direction in ((LINES, 0), (LINES // 2, 1)):
        part = [side[:lines, :, direction : direction + 1] for side in outputs]
        differences = differences + observed(part, "bleu", 1) / 2
        exchanged = exchanged + exchanged_differences(*map(flat, part), bleu, SAMPLES, 1) / 2
    pairs = zip(differences, exchanged.T, strict=True)
    assert is_rate(np.array([randomization_p(*pair) <= 0.05 for pair in pairs]), 0.05)


def test_lines_of_parallel_directions_are_no_further_lines():
    """Encoders of which one is right in all six directions of a line, or in none: one line, not six."""
    rng = np.random.default_rng(2)
    differ = rng.random((LINES, 400, 1, 1)) < 0.3
    right = np.broadcast_to(rng.random((LINES, 400, 1, 1)) < 0.7, (LINES, 400, 6, 1))
    swap = rng.random((LINES, 400, 1, 1)) < 0.5
    hits = [np.where(differ & side, ~right, right) for side in (swap, ~swap)]
    outputs = [np.stack([side.astype(float), np.ones(side.shape)], axis=-1) for side in hits]
    assert is_rate(rejected(outputs, "comet", directions=6), 0.05)
    as_lines = [side.transpose(0, 2, 1, 3, 4).reshape(-1, 400, 1, 1, 2) for side in outputs]
    assert rejected(as_lines, "comet").mean() > 0.2


def test_sacrebleus_bootstrap_rejects_twice_as_many():
    """What `--test sacrebleu-bootstrap` says of itself: centring after the absolute value."""
    outputs = counts(3, 1000)
    pairs = zip(observed(outputs, "bleu", 1), resampled(outputs).T, strict=True)
    rejections = np.array([sacrebleu_bootstrap_p(*pair) <= 0.05 for pair in pairs])
    assert stats.binomtest(int(rejections.sum()), len(rejections), 0.05, "greater").pvalue < 1e-9
    assert is_rate(rejections, 0.11), rejections.mean()


def test_intervals_hold_the_true_difference():
    outputs = counts(4, 500, directions=2)
    inside = [
        low <= 0 <= high
        for low, high in (interval(differences, 0.05) for differences in resampled(outputs, directions=2).T)
    ]
    assert 0.92 < np.mean(inside) < 0.97  # percentiles of 199 samples of 100 lines are slightly narrow


def test_holm_keeps_the_rate_of_any_false_positive():
    directions, replicates = 8, 400
    outputs = counts(5, replicates, directions)
    samples = samples_needed(directions, 0.05)
    exchanged = exchanged_differences(*map(flat, outputs), bleu, samples, 1)
    pairs = zip(observed(outputs, "bleu", 1), exchanged.T, strict=True)
    p_values = np.array([randomization_p(*pair) for pair in pairs]).reshape(replicates, directions)
    uncorrected = (p_values <= 0.05).any(axis=1)
    corrected = np.array([any(is_significant(p, 0.05) for p in holm(list(row))) for row in p_values])
    assert uncorrected.mean() > 0.3
    # Lines that are hard in all directions make the tests dependent, so that the rate is at most 5%.
    assert (
        corrected.mean() > 0.02
        and stats.binomtest(int(corrected.sum()), replicates, 0.05, "greater").pvalue > 0.001
    )


def seeds_rejected(outputs, directions: int) -> np.ndarray:
    shape = (-1, directions, outputs[0].shape[3])
    scores = [bleu(flat(side).sum(axis=0)).reshape(shape).mean(axis=1) for side in outputs]
    drawn = [
        side.reshape(SAMPLES, *shape).mean(axis=2)
        for side in resampled_scores(*map(flat, outputs), bleu, SAMPLES, 1)
    ]
    rows = zip(*scores, *(np.moveaxis(side, 1, 0) for side in drawn), strict=True)
    return np.array([p_value_with_seeds((a, b), (x, y)) <= 0.05 for a, b, x, y in rows])


@pytest.mark.parametrize("trainings", [0.0, 0.1])
def test_p_with_seeds_holds_where_trainings_vary(trainings):
    """Systems whose trainings vary, but not in the mean: three seeds a side."""
    rejections = seeds_rejected(counts(6, 300, 2, 3, trainings=trainings), 2)
    assert rejections.mean() > 0.01
    assert stats.binomtest(int(rejections.sum()), len(rejections), 0.05, "greater").pvalue > 0.001, (
        rejections.mean()
    )


def test_p_with_seeds_is_welchs_test_with_the_variance_of_sentences():
    """Exactly that of scipy where all samples have the observed scores; else what loops over them give."""
    rng = np.random.default_rng(21)
    scores = [rng.normal(20, 0.5, 3), rng.normal(21, 2, 5)]
    same = [np.tile(of_seeds, (9, 1)) for of_seeds in scores]
    assert p_value_with_seeds(scores, same) == pytest.approx(stats.ttest_ind(*scores, equal_var=False).pvalue)
    drawn = [
        of_seeds + rng.normal(0, 1, (50, 1)) + rng.normal(0, 0.1, (50, len(of_seeds))) for of_seeds in scores
    ]
    seeds = [np.var(of_seeds, ddof=1) / len(of_seeds) for of_seeds in scores]
    sentences = np.var([b.mean() - a.mean() for a, b in zip(*drawn, strict=True)], ddof=1)
    for of_seeds in drawn:
        n = of_seeds.shape[1]
        apart = [np.var([sample[seed] - sample.mean() for sample in of_seeds], ddof=1) for seed in range(n)]
        sentences -= sum(apart) / (n - 1) / n
    assert sentences > 0.5
    variance = sentences + sum(seeds)
    freedom = variance**2 / (seeds[0] ** 2 / 2 + seeds[1] ** 2 / 4)
    difference = abs(scores[0].mean() - scores[1].mean())
    expected = 2 * stats.t.sf(difference / variance**0.5, freedom)
    assert p_value_with_seeds(scores, drawn) == pytest.approx(expected)


def test_p_given_the_trainings_does_not_hold_where_trainings_vary():
    assert rejected(counts(6, 150, 2, 3, trainings=0.1), directions=2).mean() > 0.25


# --- true differences


def test_true_differences_are_found():
    power = [rejected(counts(7, 150, 2, better=better), directions=2).mean() for better in (0.05, 0.15, 0.3)]
    assert power[0] < power[1] < power[2] and power[2] > 0.95


def test_p_with_seeds_finds_true_differences():
    assert seeds_rejected(counts(8, 100, 2, 3, better=0.3, trainings=0.05), 2).mean() > 0.8


# --- independent references


def damaged(lines: list[str], share: float, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(word for word in line.split() if rng.random() > share) for line in lines]


@pytest.fixture
def texts() -> tuple[list[str], list[str], list[str]]:
    """References and outputs of two systems."""
    rng = np.random.default_rng(9)
    words = ["a", "man", "is", "walking", "his", "dog", "in", "the", "park", "two", "children", "play"]
    references = [" ".join(rng.choice(words, rng.integers(4, 20))) for _ in range(300)]
    return references, damaged(references, 0.2, 1), damaged(references, 0.21, 2)


def rows_of(metric, hypotheses, references) -> list[np.ndarray]:
    return [np.array(metric._extract_corpus_statistics(hypotheses, [references]))]


@pytest.mark.parametrize(("measure", "metric"), [("bleu", BLEU()), ("chrf", CHRF(word_order=2))])
@pytest.mark.parametrize(("test", "theirs"), [("randomization", "ar"), (SACREBLEU_BOOTSTRAP, "bs")])
def test_one_direction_and_seed_are_sacrebleus_p_values(texts, monkeypatch, measure, metric, test, theirs):
    """With the same seed the same lines are drawn, also in several chunks."""
    references, first, second = texts
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    paired = sacrebleu_significance.PairedTest(
        [("a", first), ("b", second)], {"m": metric}, [references], test_type=theirs, n_samples=400
    )
    _, expected = next(value for key, value in paired()[1].items() if key != "System")
    statistics = [{"x-y": rows_of(metric, side, references)} for side in (first, second)]
    result = PairedTest(400, 7, test=test)(measure, *statistics, {"x-y": ["x-y"]})["x-y"]
    assert result.p_value == pytest.approx(expected.p_value, abs=1e-12)
    assert 0.002 < result.p_value < 0.9
    assert result.system == pytest.approx(expected.score)
    assert result.baseline == pytest.approx(metric.corpus_score(first, [references]).score)


def test_scores_of_lines_are_scipys_permutation_test():
    rng = np.random.default_rng(10)
    first, second = rng.normal([[0.0], [0.5]], 1, (2, 12))
    exact = stats.permutation_test(
        (first, second), lambda x, y: np.mean(y - x), permutation_type="samples", n_resamples=np.inf
    )
    statistics = [{"x-y": [segments(side)]} for side in (first, second)]
    result = PairedTest(20_000)("comet", *statistics, {"": ["x-y"]})[""]
    assert result.p_value == pytest.approx(exact.pvalue, abs=0.015)
    assert result.difference == pytest.approx((second - first).mean())


def test_exchanging_is_the_definition():
    """Against a loop over directions, seeds and samples, with different numbers of seeds."""
    first, second = (flat(side) for side in counts(11, 1, 2, 3))
    second = second[:, :, :2]
    differences_of_samples = exchanged_differences(first, second, bleu, 40, 5)
    exchange = np.random.default_rng(5).integers(2, size=(40, LINES), dtype=bool)
    for sample, direction in itertools.product(range(40), range(2)):
        differences = []
        for a, b in zip([0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 0, 1], strict=True):
            output, other = first[:, direction, a], second[:, direction, b]
            swap = exchange[sample][:, None]
            differences.append(
                bleu(np.where(swap, output, other).sum(0)) - bleu(np.where(swap, other, output).sum(0))
            )
        assert differences_of_samples[sample, direction] == pytest.approx(np.mean(differences))


def test_many_pairs_of_seeds_take_no_more_memory_than_some(monkeypatch):
    """15 and 16 seeds are 240 pairs."""
    first, second = (flat(side) for side in counts(19, 1, 2, 16))

    def found_and_most_memory() -> tuple[np.ndarray, int]:
        tracemalloc.start()
        differences = exchanged_differences(first[:, :, :15], second, bleu, 700, 5)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return differences, most

    together, most = found_and_most_memory()
    monkeypatch.setattr("eval.scoring.significance.NUMBERS_AT_ONCE", 400_000)
    in_portions, less = found_and_most_memory()
    assert (in_portions == together).all()
    assert less < most / 4


def test_large_counts_are_added_exactly():
    rng = np.random.default_rng(12)
    first, second = rng.integers(1_000_000, 3_000_000, (2, 100, 1, 1, 2))
    differences = exchanged_differences(first, second, lambda sums: sums[..., 0], 20, 1)
    exchange = np.random.default_rng(1).integers(2, size=(20, 100), dtype=bool)
    signs = np.where(exchange, 1, -1)
    assert (differences[:, 0] == signs @ (first - second)[:, 0, 0, 0]).all()


# --- units, groups


def test_the_group_statistic_is_the_mean_over_directions():
    """Concatenated, the direction with long lines decides: the sign of the difference is another."""
    long, short = (
        np.tile([50, 50, 30, 20, 15, 10, 50, 49, 48, 47], (60, 1)),
        np.tile([8, 8, 5, 3, 2, 1, 8, 7, 6, 5], (60, 1)),
    )
    more = np.array([0, 0, 2, 2, 2, 2, 0, 0, 0, 0])
    better_long, better_short = long + 2 * more, short + more
    baseline = {"a-b": [better_long], "a-c": [short]}
    system = {"a-b": [long], "a-c": [better_short]}
    results = PairedTest(999)(
        "bleu", baseline, system, {"all": ["a-b", "a-c"], "a-b": ["a-b"], "a-c": ["a-c"]}
    )
    assert results["all"].difference == pytest.approx(
        (results["a-b"].difference + results["a-c"].difference) / 2
    )
    assert results["all"].difference > 0 > results["a-b"].difference
    concatenated = [bleu(sum(rows[0].sum(0) for rows in side.values())) for side in (baseline, system)]
    assert concatenated[1] < concatenated[0]
    assert results["all"].units == 60 and results["all"].directions == 2


def test_seeds_and_parallel_directions_are_no_more_evidence():
    """The same outputs under three seeds, or in three directions, have the p-value of one."""
    first, second = (side[:, 0, 0, 0] for side in counts(13, 1, better=0.1))
    test, baseline, other = PairedTest(999), {"a-b": [first]}, {"a-b": [second]}
    expected = test("bleu", baseline, other, {"": ["a-b"]})[""]
    seeds = test("bleu", {"a-b": [first] * 3}, {"a-b": [second] * 3}, {"": ["a-b"]})[""]
    names = ["a-b", "a-c", "a-d"]
    parallel = [{name: [outputs] for name in names} for outputs in (first, second)]
    directions = test("bleu", *parallel, {"": names})[""]
    assert expected.p_value_with_seeds is None and seeds.p_value_with_seeds is not None
    for result in (seeds, directions):
        assert (result.p_value, result.units) == (expected.p_value, LINES)
        assert (result.low, result.high) == pytest.approx((expected.low, expected.high))


def test_directions_with_other_numbers_of_lines_have_their_own_draws():
    first, second = (side[:, 0, :, 0] for side in counts(14, 1, 2))
    statistics = [{"a-b": [side[:, 0]], "a-c": [side[:60, 1]]} for side in (first, second)]
    result = PairedTest(999)("bleu", *statistics, {"all": ["a-b", "a-c"]})["all"]
    assert (result.units, result.directions) == (LINES + 60, 2)
    expected = np.mean(
        [
            exchanged_differences(*(side[d][0][:, None, None] for side in statistics), bleu, 999, 12345)
            for d in ("a-b", "a-c")
        ],
        axis=0,
    )
    assert result.p_value == randomization_p(result.difference, expected[:, 0])


def test_equal_outputs():
    same = {"a-b": [counts(15, 1)[0][:, 0, 0, 0]] * 3}
    for name in ("randomization", SACREBLEU_BOOTSTRAP):
        result = PairedTest(99, test=name)("bleu", same, same, {"": ["a-b"]})[""]
        assert (result.difference, result.low, result.high) == (0, 0, 0)
        assert result.p_value == result.p_value_with_seeds == 1.0


# --- correction


def test_holm_is_the_step_down_procedure():
    """The smallest p-value is compared with level/m, the next with level/(m-1), … until one is larger."""
    rng = np.random.default_rng(16)
    for level, p_values in itertools.product((0.01, 0.05, 0.3), rng.random((30, 6)) ** 3):
        expected, order = np.zeros(6, dtype=bool), np.argsort(p_values)
        for rank, index in enumerate(order):
            if p_values[index] > level / (6 - rank):
                break
            expected[index] = True
        assert [p <= level for p in holm(list(p_values))] == expected.tolist()
    assert holm([]) == []


@pytest.mark.parametrize(("tests", "level", "samples"), [(90, 0.05, 1799), (1, 0.05, 19), (3, 0.01, 299)])
def test_samples_that_the_smallest_p_needs(tests, level, samples):
    assert samples_needed(tests, level) == samples
    smallest = [1.0] * (tests - 1)
    assert is_significant(holm([1 / (samples + 1), *smallest])[0], level)
    assert not is_significant(holm([1 / samples, *smallest])[0], level)
