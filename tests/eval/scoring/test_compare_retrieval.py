"""`python -m eval compare` of what sentence encoders retrieve: false positives, intervals, seeds."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from eval.scoring.line_statistics import mean, segments
from eval.scoring.paired_test import PairedTest
from eval.scoring.significance import exchanged_differences, interval_of_mean, randomization_p
from tests.eval.compared import read_comparison
from tests.eval.retrieved import write_retrieval
from tests.eval.scoring.simulated_outputs import LINES, flat, grouped

SAMPLES = 199


def hits(seed, replicates, directions=4, seeds=1, better=0.0):
    """Of two encoders, lines x replicates x directions x seeds: lines are hard in all directions alike."""
    rng = np.random.default_rng(seed)
    shape = (LINES, replicates, directions, seeds)
    hard = rng.normal(0.5, 1.5, (LINES, replicates, 1, 1)) + rng.normal(0, 0.5, (*shape[:3], 1))
    return tuple(rng.random(shape) < 1 / (1 + np.exp(-hard - shift)) for shift in (0.0, better))


def significant(first, second, directions):
    """Of every replicate, whether the difference of the mean over directions is significant at 0.05."""
    arrays = [segments_of(flat(one)) for one in (first, second)]
    exchanged = grouped(exchanged_differences(*arrays, mean, SAMPLES, 7), directions)
    observed = grouped(
        np.diff([one.mean(axis=(0, 2)) for one in map(flat, (first, second))], axis=0), directions
    )
    return np.array(
        [randomization_p(one, drawn) <= 0.05 for one, drawn in zip(observed[0], exchanged.T, strict=True)]
    )


def segments_of(array):
    return np.stack([array.astype(float), np.ones(array.shape)], axis=-1)


@pytest.mark.parametrize(("directions", "seeds"), [(1, 1), (6, 1), (4, 2)])
def test_five_percent_of_true_nulls_are_rejected(directions, seeds):
    found = significant(*hits(1, 800, directions, seeds), directions)
    assert stats.binomtest(int(found.sum()), len(found), 0.05).pvalue > 1e-3, found.mean()


def test_lines_of_directions_one_by_one_would_reject_too_often():
    """Encoders that differ by line, in all directions alike: six directions are no six test sets."""
    rng = np.random.default_rng(2)
    apart = rng.random((LINES, 400, 1, 1)) < 0.3
    one = np.broadcast_to(rng.random((LINES, 400, 1, 1)) < 0.7, (LINES, 400, 6, 1))
    other = np.where(apart, ~one, one)
    swap = rng.random((LINES, 400, 1, 1)) < 0.5
    first, second = np.where(swap, other, one), np.where(swap, one, other)
    assert stats.binomtest(int(significant(first, second, 6).sum()), 400, 0.05).pvalue > 1e-3
    apart_lines = [one.transpose(0, 2, 1, 3).reshape(-1, 400, 1, 1) for one in (first, second)]
    assert significant(*apart_lines, 1).mean() > 0.2


def test_true_differences_are_found():
    assert significant(*hits(3, 100, better=1.5), 4).mean() > 0.9


@pytest.mark.parametrize("directions", [1, 4])
def test_intervals_hold_the_true_p_at_1(directions):
    """95% of them, and of several directions as few; the truth is the mean of very many lines."""
    everything, _ = hits(4, 3000, directions)
    truth, held = everything.mean(), 0
    for replicate in range(300):
        given = {str(d): [everything[:, replicate, d, 0]] for d in range(directions)}
        low, high = interval_of_mean(given, 0.05, 400, seed=replicate)
        held += low <= truth <= high
    assert stats.binomtest(held, 300, 0.945).pvalue > 1e-3, held


def test_intervals_of_directions_with_other_numbers_of_lines():
    """As if every direction were drawn by itself where none has as many lines as another."""
    rng = np.random.default_rng(5)
    given = {str(n): [rng.random(n) < 0.6] for n in (50, 80, 110)}
    low, high = interval_of_mean(given, 0.05, 20_000, seed=1)
    error = np.sqrt(sum(one[0].var() / len(one[0]) for one in given.values())) / 3
    middle = np.mean([one[0].mean() for one in given.values()])
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.05)
    assert (high + low) / 2 == pytest.approx(middle, abs=0.01)


def test_the_interval_of_a_mean_weighs_every_direction_alike():
    """Whatever the number of directions that have as many lines: three of one, and one of another."""
    rng = np.random.default_rng(6)
    shares = {"a": (50, 0.9), "b": (50, 0.9), "c": (50, 0.9), "d": (80, 0.2)}
    given = {name: [rng.random(lines) < share] for name, (lines, share) in shares.items()}
    low, high = interval_of_mean(given, 0.05, 20_000, seed=1)
    together = np.mean([given[name][0] for name in "abc"], axis=0)
    error = np.sqrt((3 / 4) ** 2 * together.var() / 50 + (1 / 4) ** 2 * given["d"][0].var() / 80)
    middle = np.mean([one[0].mean() for one in given.values()])
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.05)
    assert (high + low) / 2 == pytest.approx(middle, abs=0.01)


@pytest.fixture
def written(tmp_path):
    """Function that writes the folder of a run and returns it."""

    def write(name, seed, directions, similarity="cosine", **which):
        folder = tmp_path / f"{name}-{seed}{which.get('texts', '')}"
        outcomes = {direction: {similarity: hits} for direction, hits in directions.items()}
        write_retrieval(folder, outcomes, name, seed, groups={"high": ["de-en"]}, **which)
        return folder

    return write


def outcomes(seed, share):
    rng = np.random.default_rng(seed)
    return {name: rng.random(200) < share for name in ("de-en", "en-de", "en-fr", "fr-en")}


def test_the_command_tests_the_average_and_the_groups(written, command, tmp_path):
    runs = {("ems", seed): outcomes(seed, 0.8) for seed in (1, 2)} | {("mean", 1): outcomes(3, 0.6)}
    folders = [written(*which, directions) for which, directions in runs.items()]
    output = tmp_path / "comparison.json"
    result = command("compare", *folders, "--against-first", "--output", output)
    assert result.status == 0, result.err
    (comparison,) = read_comparison(output)["comparisons"]
    assert (comparison["measure"], comparison["family"]) == ("cosine", {"overall": 2, "directions": 0})
    assert comparison["seeds"] == {"baseline": [1, 2], "system": [1]}
    by_hand = PairedTest(9999)(
        "cosine",
        {name: [segments(runs["ems", seed][name]) for seed in (1, 2)] for name in runs["mean", 1]},
        {name: [segments(runs["mean", 1][name])] for name in runs["mean", 1]},
        {"all": list(runs["mean", 1]), "high": ["de-en", "en-de"]},
    )
    for name, expected in by_hand.items():
        found = comparison["overall"][name]
        assert found["p_value"] == expected.p_value and found["significant"]
        assert found["difference"] == pytest.approx(
            np.mean([runs["mean", 1][d].mean() for d in runs["mean", 1] if name == "all" or "fr" not in d])
            - np.mean(
                [
                    runs["ems", s][d].mean()
                    for d in runs["mean", 1]
                    if name == "all" or "fr" not in d
                    for s in (1, 2)
                ]
            )
        )
    assert command("report", *folders, output, "--output", tmp_path / "report").status == 0
    text = (tmp_path / "report/report.md").read_text()
    mean_of = np.mean([[one.mean() for one in runs["ems", seed].values()] for seed in (1, 2)], axis=1)
    shown = f"| ems | 2 | cosine | {100 * mean_of.mean():.1f} ± {100 * mean_of.std(ddof=1):.1f} |"
    assert shown in text  # mean and spread over seeds, then the interval
    assert "P@1 cosine on set over groups of directions" in text and "per direction" not in text


@pytest.mark.parametrize(
    ("measure", "name", "values"),
    [
        ("ratio", "neighbours", (4, 2)),
        ("cosine-normalized", "normalization", (0.75, 0.2)),
        ("bert-score", "without_specials", (False, True)),
    ],
)
def test_measures_that_are_not_the_same_are_not_compared(written, command, measure, name, values):
    folders = [
        written(system, 1, outcomes(1, share), measure, **{name: value})
        for (system, share), value in zip((("a", 0.5), ("b", 0.6)), values, strict=True)
    ]
    result = command("compare", *folders, "--metric", measure)
    assert result.status == 2
    said = f"{folders[1]}/sentence-retrieval.json: {name} is {values[1]}, but {values[0]} in {folders[0]}"
    assert said in result.err
    alike = [written(system, 2, outcomes(1, 0.5), measure, **{name: values[0]}) for system in "ab"]
    assert command("compare", *alike, "--metric", measure, "--samples", 99).status == 0


@pytest.mark.parametrize(("direction", "members"), [("from", ("en-de", "en-fr")), ("to", ("de-en", "fr-en"))])
def test_one_direction_of_a_set_with_a_common_language(written, command, tmp_path, direction, members):
    runs = {"a": outcomes(1, 0.4), "b": outcomes(2, 0.7)}
    folders = [written(name, 1, directions) for name, directions in runs.items()]
    output = tmp_path / "comparison.json"
    result = command("compare", *folders, "--direction", direction, "--output", output)
    assert result.status == 0, result.err
    (comparison,) = read_comparison(output)["comparisons"]
    assert comparison["family"] == {"overall": 2, "directions": 0}
    groups = {f"all {direction} en": members, f"high {direction} en": members[:1]}
    by_hand = PairedTest(9999)(
        "cosine", *({one: [segments(runs[name][one])] for one in members} for name in "ab"), groups
    )
    for name, expected in by_hand.items():
        found = comparison["overall"][name]
        assert (found["p_value"], found["difference"]) == (expected.p_value, expected.difference)


def test_a_set_without_a_common_language_is_compared_in_both_directions(written, command, tmp_path):
    rng = np.random.default_rng(1)
    names = ("de-en", "en-de", "de-fr", "fr-de", "en-fr", "fr-en")
    folders = [written(name, 1, {one: rng.random(50) < 0.5 for one in names}) for name in "ab"]
    output = tmp_path / "comparison.json"
    assert command("compare", *folders, "--direction", "from", "--output", output).status == 0
    (comparison,) = read_comparison(output)["comparisons"]
    assert list(comparison["overall"]) == ["all", "high"]


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (Path.unlink, "no such file; measure again (--force)"),
        (cut, "is not the file that sentence-retrieval.json beside it was written with"),
    ],
)
def test_hits_that_cannot_be_read_are_one_line(written, command, damage, message):
    first, second = (written(name, 1, outcomes(1, 0.5)) for name in ("a", "b"))
    damage(second / "sentence-retrieval.npz")
    result = command("compare", first, second)
    assert result.status == 2 and result.err.count("error: ") == 1
    assert f"error: {second}/sentence-retrieval.npz: {message}" in result.err.splitlines()[-1]


def test_other_texts_are_not_compared(written, command):
    """Of another encoder, or of another seed of one."""
    first = written("a", 1, outcomes(1, 0.5))
    other = written("b", 1, outcomes(1, 0.5), texts="other")
    result = command("compare", first, other)
    said = (
        f"{other}/sentence-retrieval.json: direction de-en: texts_sha256 is otherde-en, but ade-en in {first}"
    )
    assert result.status == 2 and said in result.err
    seed = written("a", 2, outcomes(1, 0.5), texts="other")
    result = command("compare", first, seed, other)
    assert result.status == 2 and "texts.de-en is otherde-en, but ade-en in" in result.err


def test_measures_of_translation_are_not_of_retrieval(written, command):
    folders = [written(name, 1, outcomes(1, 0.5)) for name in ("a", "b")]
    result = command("compare", *folders, "--metric", "bleu")
    assert result.status == 2 and "--metric bleu" in result.err and "expected cosine, ratio" in result.err


def test_encoders_are_compared_by_what_they_were_measured_by(written, command, tmp_path):
    folders = [
        written(name, 1, outcomes(1, share), "bert-score-normalized")
        for name, share in (("a", 0.4), ("b", 0.7))
    ]
    refused = command("compare", *folders)
    assert refused.status == 2 and "again, with --similarity cosine" in refused.err
    refused = command("compare", *folders, "--metric", "cosine-normalized")
    assert "again, with --similarity cosine --normalize ALPHA" in refused.err
    done = command("compare", *folders, "--metric", "bert-score-normalized", "--output", tmp_path / "c.json")
    assert done.status == 0, done.err
    (found,) = read_comparison(tmp_path / "c.json")["comparisons"]
    assert found["measure"] == "bert-score-normalized" and found["overall"]["all"]["significant"]
