"""`python -m eval compare` of encoders by several measures: each side of a pair by its own."""

import numpy as np
import pytest

from tests.eval.compared import read_comparison
from tests.eval.retrieved import write_retrieval

LINES = 60
DIRECTIONS = ("de-en", "en-de")
COSINE, NORMALIZED, BERT_SCORE = "cosine", "cosine-normalized", "bert-score-normalized"
SHARES = {
    ("base layer 3", COSINE): 0.45,
    ("base layer 3", NORMALIZED): 0.5,
    ("base layer 3", BERT_SCORE): 0.7,
    ("own@cosine", COSINE): 0.6,
    ("own@cosine", NORMALIZED): 0.62,
    ("own@cosine", BERT_SCORE): 0.9,
}


@pytest.fixture(scope="module")
def hits() -> dict:
    """Encoder, measure -> direction -> whether the queries were hits."""
    rng = np.random.default_rng(11)
    return {
        which: {direction: rng.random(LINES) < share for direction in DIRECTIONS}
        for which, share in SHARES.items()
    }


def write(folder, name: str, measured: dict, seed: int = 1):
    """The folder of a run, from measure -> direction -> hits."""
    outcomes = {
        direction: {measure: hits[direction] for measure, hits in measured.items()}
        for direction in DIRECTIONS
    }
    write_retrieval(folder, outcomes, name, seed)
    return folder


def measured_of(hits: dict, name: str) -> dict:
    return {measure: of_directions for (encoder, measure), of_directions in hits.items() if encoder == name}


@pytest.fixture
def folders(hits, tmp_path) -> list:
    """The untrained encoder, and one whose name ends as a measure does."""
    names = dict.fromkeys(name for name, _ in SHARES)
    return [
        write(tmp_path / f"run{place}", name, measured_of(hits, name)) for place, name in enumerate(names)
    ]


@pytest.fixture
def compared(command, tmp_path):
    """Function that compares and returns the comparisons."""

    def call(*argv) -> list[dict]:
        result = command("compare", *argv, "--output", tmp_path / "comparison.json")
        assert result.status == 0, result.err
        return read_comparison(tmp_path / "comparison.json")["comparisons"]

    return call


def randomization(baseline: dict, system: dict, samples: int = 20_000) -> float:
    """The plain test of the mean over directions: sides of a line change in all directions at once."""
    rng = np.random.default_rng(3)
    lines = np.mean(
        [system[direction].astype(float) - baseline[direction] for direction in DIRECTIONS], axis=0
    )
    drawn = (rng.choice((-1, 1), (samples, LINES)) * lines).mean(axis=1)
    return (1 + (np.abs(drawn) >= abs(lines.mean()) - 1e-12).sum()) / (samples + 1)


def recounted(hits_of_directions: dict) -> float:
    """P@1, counted."""
    return sum(int(hit) for hits in hits_of_directions.values() for hit in hits) / (LINES * len(DIRECTIONS))


def holm(p_values: list[float]) -> list[float]:
    """By the book: the k-th smallest of n times n - k + 1, never below the one before."""
    adjusted, largest = {}, 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[number] * (len(p_values) - place)))
        adjusted[number] = largest
    return [adjusted[number] for number in range(len(p_values))]


NAMED = {
    "base layer 3@cosine:base layer 3@bert-score-normalized":
        (("base layer 3", COSINE), ("base layer 3", BERT_SCORE)),
    "base layer 3@bert-score-normalized:own@cosine@cosine":
        (("base layer 3", BERT_SCORE), ("own@cosine", COSINE)),
    "own@cosine@cosine:own@cosine@cosine-normalized":
        (("own@cosine", COSINE), ("own@cosine", NORMALIZED)),
}  # fmt: skip


def test_every_side_is_counted_by_its_own_measure(hits, folders, compared):
    comparisons = compared(*folders, "--pairs", *NAMED)
    assert [
        tuple((comparison[side], comparison["measures"][side]) for side in ("baseline", "compared"))
        for comparison in comparisons
    ] == [*NAMED.values()]
    for comparison, (baseline, system) in zip(comparisons, NAMED.values(), strict=True):
        result = comparison["overall"]["all"]
        assert comparison["family"] == {"overall": len(NAMED), "directions": 0}  # one table
        assert result["baseline"] == pytest.approx(recounted(hits[baseline]))
        assert result["system"] == pytest.approx(recounted(hits[system]))
        assert result["p_value"] == pytest.approx(randomization(hits[baseline], hits[system]), abs=0.015)
        assert result["difference_low"] < result["difference"] < result["difference_high"]
    results = [comparison["overall"]["all"] for comparison in comparisons]
    assert [result["adjusted_p_value"] for result in results] == holm(
        [result["p_value"] for result in results]
    )
    assert [result["significant"] for result in results] == [True, False, False]  # 0.45 against 0.7


def test_every_system_with_itself(hits, folders, compared):
    pairs = [(COSINE, BERT_SCORE), (COSINE, NORMALIZED)]
    comparisons = compared(*folders, "--measures", *(":".join(pair) for pair in pairs))
    assert [
        (comparison["baseline"], comparison["compared"], *comparison["measures"].values())
        for comparison in comparisons
    ] == [(name, name, *pair) for name in ("base layer 3", "own@cosine") for pair in pairs]
    for comparison in comparisons:
        for side, score in (("baseline", "baseline"), ("compared", "system")):
            expected = recounted(hits[comparison[side], comparison["measures"][side]])
            assert comparison["overall"]["all"][score] == pytest.approx(expected)
    (alone,) = compared(folders[0], "--measures", "cosine:bert-score-normalized")
    assert alone["overall"]["all"]["p_value"] == comparisons[0]["overall"]["all"]["p_value"]


def test_beside_pairs_that_have_one_measure(folders, compared):
    """Which stay a family of their own, and are compared by --metric."""
    options = ("--against-first", "--metric", "cosine,bert-score-normalized")
    comparisons = compared(*folders, *options, "--pairs", next(iter(NAMED)), "base layer 3:own@cosine")
    assert [(comparison["measure"], comparison["family"]["overall"]) for comparison in comparisons] == [
        (COSINE, 1), (BERT_SCORE, 1), (None, 1),
    ]  # fmt: skip


def test_seeds_of_one_system_say_nothing_of_its_measures(hits, tmp_path, compared):
    """The trainings of both sides are the same."""
    measured = measured_of(hits, "base layer 3")
    folders = [write(tmp_path / f"seed{seed}", "base", measured, seed) for seed in (1, 2, 3)]
    (comparison,) = compared(*folders, "--measures", "cosine:bert-score-normalized")
    assert comparison["overall"]["all"]["adjusted_p_value_with_seeds"] is None
    assert comparison["overall"]["all"]["p_value"] < 0.05


def test_the_report_names_both_measures(folders, compared, command, tmp_path):
    compared(*folders, "--pairs", *NAMED)
    result = command("report", *folders, tmp_path / "comparison.json", "--output", tmp_path / "report")
    assert result.status == 0, result.err
    text = (tmp_path / "report/report.md").read_text()
    assert (
        "P@1 on set over groups of directions, the systems compared, each by the measure that stands with it:"
        " a family of 3 tests" in text
    )
    rows = [line for line in text.splitlines() if line.startswith("| base layer 3 by cosine |")]
    assert len(rows) == 1 and "| base layer 3 by bert-score-normalized | all |" in rows[0]
    baseline, system = rows[0].split("|")[4:6]
    assert "**" not in baseline and system.count("**") == rows[0].count("**") == 2  # the higher one
    assert (tmp_path / "report/tables/significance_overall_set_two-measures.csv").is_file()
    assert "**" not in text[: text.index("each by the measure that stands with it")].replace(rows[0], "")


def test_the_terminal_names_both_measures(folders, command):
    first = command("compare", *folders, "--pairs", next(iter(NAMED))).out.splitlines()[0]
    assert first == "set, P@1: base layer 3 by bert-score-normalized against base layer 3 by cosine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metric", "bleu"], "sentence-retrieval.json has none; expected cosine, ratio"),
        (["--pairs", "base layer 3@cosin:own@cosine"], "found 'cosin' as the measure of 'base layer 3', exp"),
        (["--pairs", "base layer 3@bleu:own@cosine@cosine"], "found 'bleu' as the measure of 'base layer 3'"),
        (["--pairs", "base layer 3@cosine:own@cosine"], "one side has a measure, expected one of each, or"),
        (["--pairs", "base layer 3@cosine:own@cosine@cosine"], "cosine on both sides, expected two measures"),
        (["--pairs", "base@cosine:own@cosine@ratio"], "no dataset has both; expected folders that are given"),
        (["--measures", "cosine:cosin"], "--measures: found 'cosine:cosin', expected FIRST:SECOND, two of"),
        (["--measures", "cosine:cosine"], "--measures: found 'cosine:cosine', expected FIRST:SECOND"),
        (["--measures", "cosine"], "--measures: found 'cosine', expected FIRST:SECOND"),
        (["--measures", "cosine:cosine-normalized", "--metric", "cosine"], "--metric: every pair has meas"),
        (["--measures", "cosine:cosine-normalized", "--all-pairs"], "not allowed with argument"),
    ],
)  # fmt: skip
def test_wrong_measures_are_one_line(folders, command, options, message):
    result = command("compare", *folders, *options)
    assert result.status == 2 and message in result.err, result.err
    assert result.err.count("error:") == 1 and result.err.strip().count("\n") == 0


@pytest.mark.parametrize(
    "options", [["--measures", "cosine:ratio"], ["--pairs", "own@cosine@ratio:own@cosine@cosine"]]
)
def test_measures_that_were_not_stored_name_the_file(folders, command, options):
    result = command("compare", *folders, *options)
    path = folders["own" in options[1]] / "sentence-retrieval.json"
    assert result.status == 2 and result.err.strip().count("\n") == 0
    assert f"{path}: de-en was not measured by ratio; run python -m embeddings retrieve again" in result.err


def test_scores_of_translation_have_no_such_pairs(scored, command, texts):
    outs = [scored(name, {"en-de": texts["de"]}) for name in "AB"]
    refused = command("compare", *outs, "--measures", "cosine:ratio")
    assert refused.status == 2 and f"--measures: expected results of retrieval, {outs[0]}" in refused.err
    refused = command("compare", *outs, "--pairs", "A@bleu:A@chrf")
    assert refused.status == 2 and "no dataset has both" in refused.err and "among 'A', 'B'" in refused.err
