"""`python -m eval compare` of correlations with ratings of similarity."""

import numpy as np
import pytest
from scipy.stats import binomtest, spearmanr

from command_line.measurements import Measured, numbers
from eval.scoring.paired_test import BOOTSTRAP, PairedTest
from eval.scoring.rank_correlation import resampled_spearman, spearman
from eval.scoring.significance import bootstrap_p, times_drawn
from tests.eval.compared import read_comparison
from tests.eval.retrieved import write_retrieval
from tests.eval.rows import write_measured


def scored_pairs(seed, noise, pairs=60, ties=False):
    """Cosine and rating of every pair, N x 2, for each encoder: ratings with the encoder's noise."""
    rng = np.random.default_rng(seed)
    ratings = rng.integers(6, size=pairs).astype(float) if ties else rng.normal(size=pairs)
    cosines = [ratings + each * rng.normal(size=pairs) for each in noise]
    return [np.stack([np.round(each, 1) if ties else each, ratings], axis=1) for each in cosines]


def plain_spearman(columns):
    return 100 * spearmanr(columns[:, 0], columns[:, 1]).statistic


@pytest.mark.parametrize("ties", [False, True])
def test_every_sample_has_the_correlation_that_scipy_finds(ties):
    first, second = scored_pairs(1, (1.0, 0.5), ties=ties)
    baseline, system = (np.stack([each], axis=1)[:, :, None] for each in (first, second))
    resampled = resampled_spearman(baseline, system, 50, seed=3)
    for sample, times in enumerate(np.concatenate(list(times_drawn(60, 50, seed=3)))):
        rows = np.repeat(np.arange(60), times)
        assert resampled[0][sample, 0, 0] == pytest.approx(plain_spearman(first[rows]))
        assert resampled[1][sample, 0, 0] == pytest.approx(plain_spearman(second[rows]))


def test_two_pairs_are_in_the_same_order_or_not():
    columns = np.array([[0.1, 1.0], [0.9, 5.0]])[:, None, None]
    assert spearman(np.ones((1, 2)), columns).item() == pytest.approx(100)


def test_equal_cosines_correlate_with_nothing():
    equal = np.stack([np.ones(5), np.arange(5.0)], axis=1)[:, None, None]
    assert spearman(np.ones((1, 5)), equal).item() == 0


def test_differences_intervals_and_p_values_are_those_of_a_plain_loop():
    seeds = [scored_pairs(seed, (1.2, 0.7)) for seed in (1, 1)]
    baseline, system = ([each[side] for each in seeds] for side in (0, 1))
    system[1] = system[1] * [2, 1] + np.sin(np.arange(60))[:, None] * [0.3, 0]  # another training
    result = PairedTest(400, seed=5, test=BOOTSTRAP)(
        "spearman", {"de": baseline}, {"de": system}, {"de": ["de"]}
    )["de"]
    observed = np.mean([plain_spearman(each) for each in system]) - plain_spearman(baseline[0])
    drawn = []
    for times in np.concatenate(list(times_drawn(60, 400, seed=5))):
        rows = np.repeat(np.arange(60), times)
        after, before = (
            np.mean([plain_spearman(each[rows]) for each in side]) for side in (system, baseline)
        )
        drawn.append(after - before)
    further = sum(abs(each - observed) >= abs(observed) for each in drawn)
    assert result.difference == pytest.approx(observed)
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    assert result.p_value == pytest.approx((further + 1) / 401)


def test_few_true_nulls_are_rejected_and_true_differences_are():
    def p_value(seed, noise):
        baseline, system = (each[:, None, None] for each in scored_pairs(seed, noise, pairs=150))
        resampled = resampled_spearman(baseline, system, 199, seed)
        whole = np.ones((1, 150))
        observed = (spearman(whole, system) - spearman(whole, baseline)).item()
        return bootstrap_p(observed, (resampled[1] - resampled[0])[:, 0, 0])

    rejected = sum(p_value(seed, (1.0, 1.0)) <= 0.05 for seed in range(400))
    assert binomtest(rejected, 400, 0.05).pvalue > 1e-3, rejected
    assert np.mean([p_value(seed, (1.5, 0.5)) <= 0.05 for seed in range(40)]) > 0.9


def write_similarity(folder, name, directions, seed=1):
    """The result of `embeddings sts` of one encoder; returns its folder."""
    measured = Measured(arrays={f"cosine-and-rating/{each}": rows for each, rows in directions.items()})
    run = {"system": {"name": name, "seed": seed}, "dataset": "STS", "texts": dict.fromkeys(directions, "a")}
    rows = [
        row
        for direction, columns in directions.items()
        for row in numbers({"lines": len(columns), "spearman": plain_spearman(columns)}, direction=direction)
    ]
    measured.add(run, rows)
    return write_measured(folder / name, "sts", measured).parent


def test_the_command_tests_every_file_and_their_mean(command, tmp_path):
    de, en = scored_pairs(1, (1.5, 0.4)), scored_pairs(2, (1.0, 1.0))
    folders = [
        write_similarity(tmp_path, name, {"de": de[side], "en": en[side]})
        for side, name in enumerate(("small", "large"))
    ]
    output = tmp_path / "comparison.json"
    result = command("compare", *folders, "--against-first", "--output", output)
    assert result.status == 0, result.err
    assert "paired bootstrap over pairs of sentences" in result.out
    record = read_comparison(output)
    (comparison,) = record["comparisons"]
    assert record["test"] == "bootstrap" and comparison["family"] == {"overall": 1, "directions": 2}
    assert comparison["directions"]["de"]["significant"]
    assert not comparison["directions"]["en"]["significant"]
    change = {
        name: plain_spearman(each[1]) - plain_spearman(each[0]) for name, each in (("de", de), ("en", en))
    }
    assert comparison["directions"]["de"]["difference"] == pytest.approx(change["de"])
    assert comparison["overall"]["all"]["difference"] == pytest.approx(np.mean(list(change.values())))
    assert command("report", *folders, output, "--output", tmp_path / "report").status == 0
    text = (tmp_path / "report/report.md").read_text()
    assert "Spearman's correlation x 100 on STS per direction" in text


def test_what_cannot_be_compared_is_one_line(command, tmp_path):
    pairs = dict(zip(("a", "b"), scored_pairs(1, (1.0, 0.5)), strict=True))
    folders = [write_similarity(tmp_path, name, {"de": rows}) for name, rows in pairs.items()]
    refused = command("compare", *folders, "--test", "sacrebleu-bootstrap")
    assert refused.status == 2 and "spearman has a bootstrap of its own; leave it out" in refused.err
    refused = command("compare", *folders, "--measures", "cosine:ratio")
    assert refused.err.endswith(f"of retrieval, {folders[0] / 'sts.json'} has sts\n")
    retrieval = write_retrieval(tmp_path / "retrieval", {"de-en": {"cosine": np.ones(4, bool)}})
    refused = command("compare", folders[0], retrieval)
    assert refused.status == 2 and "is sentence-retrieval, but" in refused.err
