"""`python -m eval compare` of what sentence encoders retrieve: intervals, seeds, measures."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from eval.scoring.line_statistics import segments
from eval.scoring.paired_test import PairedTest
from eval.scoring.significance import interval_of_mean
from tests.eval.compared import read_comparison
from tests.eval.retrieved import write_retrieval

LINES = 100


@pytest.mark.parametrize("directions", [1, 4])
def test_intervals_hold_the_true_p_at_1(directions):
    """95% of them, and of several directions as few; the truth is the mean of very many lines."""
    rng = np.random.default_rng(4)
    hard = rng.normal(0.5, 1.5, (LINES, 3000, 1)) + rng.normal(0, 0.5, (LINES, 3000, directions))
    everything = rng.random(hard.shape) < 1 / (1 + np.exp(-hard))
    truth, held = everything.mean(), 0
    for replicate in range(300):
        given = {str(d): [everything[:, replicate, d]] for d in range(directions)}
        low, high = interval_of_mean(given, 0.05, 400, seed=replicate)
        held += low <= truth <= high
    assert stats.binomtest(held, 300, 0.945).pvalue > 1e-3, held


def test_the_interval_of_a_mean_weighs_every_direction_alike():
    """Whatever the number of directions that have as many lines: three of one, and one of another."""
    rng = np.random.default_rng(6)
    shares = {"a": (50, 0.9), "b": (50, 0.9), "c": (50, 0.9), "d": (80, 0.2)}
    given = {name: [rng.random(lines) < share] for name, (lines, share) in shares.items()}
    low, high = interval_of_mean(given, 0.05, 20_000, seed=1)
    together = np.mean([given[name][0] for name in "abc"], axis=0)
    error = np.sqrt((3 / 4) ** 2 * together.var() / 50 + (1 / 4) ** 2 * given["d"][0].var() / 80)
    middle = np.mean([seeds[0].mean() for seeds in given.values()])
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
        tested = comparison["overall"][name]
        assert tested["p_value"] == expected.p_value and tested["significant"]
        assert tested["difference"] == pytest.approx(
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
    mean_of = np.mean([[hits.mean() for hits in runs["ems", seed].values()] for seed in (1, 2)], axis=1)
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
        "cosine", *({member: [segments(runs[name][member])] for member in members} for name in "ab"), groups
    )
    for name, expected in by_hand.items():
        tested = comparison["overall"][name]
        assert (tested["p_value"], tested["difference"]) == (expected.p_value, expected.difference)


def test_a_set_without_a_common_language_is_compared_in_both_directions(written, command, tmp_path):
    rng = np.random.default_rng(1)
    names = ("de-en", "en-de", "de-fr", "fr-de", "en-fr", "fr-en")
    folders = [written(name, 1, {direction: rng.random(50) < 0.5 for direction in names}) for name in "ab"]
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
    (comparison,) = read_comparison(tmp_path / "c.json")["comparisons"]
    assert comparison["measure"] == "bert-score-normalized" and comparison["overall"]["all"]["significant"]
