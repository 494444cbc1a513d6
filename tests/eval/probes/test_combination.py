"""`python -m eval probe combination`: gains alone and together, against plain differences and scipy."""

import json

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from tests.eval.rows import rows_of
from tests.eval.scored import SCORING, read_scores, write_scores
from tests.eval.scored import direction as scored_direction

BLEU = {"base": (3, 4, 5), "a": (6, 6, 9), "b": (5, 4, 6), "a+b": (9, 5, 8)}


@pytest.fixture
def folders(tmp_path):
    written = []
    for name, values in BLEU.items():
        for seed, bleu in enumerate(values, 1):
            folder = tmp_path / f"{name}-{seed}"
            folder.mkdir()
            entry = {"bleu": bleu, "off_target": bleu / 100 if name != "b" else None}
            record = {
                "format": 1, "kind": "scores", "system": {"name": name, "seed": seed},
                "data": {"path": "toy"}, "split": "test", "scoring": SCORING,
                "directions": {"de-fr": scored_direction("zero-shot", **entry)},
            }  # fmt: skip
            write_scores(folder / "scores.json", record)
            written.append(folder)
    return written


@pytest.fixture
def probe(command, tmp_path):
    def call(*words):
        return command("probe", "combination", *words, "--output", tmp_path / "out", "--force")

    return call


def effects(tmp_path) -> dict[str, float]:
    (run,) = json.loads((tmp_path / "out/combination.json").read_text())["runs"]
    assert run["systems"] == list(BLEU)
    rows = rows_of(tmp_path / "out/combination.csv")
    assert {*zip(rows.kind, rows.part, strict=True)} == {("zero-shot", "bleu")}  # no off-target rate of b
    return dict(zip(rows.measure, rows.value, strict=True))


def test_paired_by_seed(probe, folders, tmp_path):
    assert probe(*folders, "--combine", "base:a:b:a+b", "--paired").status == 0
    measured, (base, a, b, both) = effects(tmp_path), map(np.array, BLEU.values())
    expected = {
        "first": a - base,
        "second": b - base,
        "sum": a - base + b - base,
        "both": both - base,
        "interaction": both - base - (a - base) - (b - base),
    }
    for name, differences in expected.items():
        interval = ttest_1samp(differences, 0).confidence_interval(0.95)
        values = measured[name], measured[f"{name}_low"], measured[f"{name}_high"]
        assert values == pytest.approx((differences.mean(), *interval)), name


def test_paired_by_the_seeds_that_all_have(probe, folders, tmp_path):
    """A system of which one seed is not finished."""
    assert probe(*folders[:-1], "--combine", "base:a:b:a+b", "--paired").status == 0
    measured = effects(tmp_path)
    differences = [BLEU["a+b"][seed] - BLEU["base"][seed] for seed in (0, 1)]
    assert (measured["seeds"], measured["both"]) == (2, pytest.approx(np.mean(differences)))


def test_of_other_seeds_and_by_folders(probe, folders, tmp_path):
    names = [str(folders[3 * number]) for number in range(4)]
    assert probe(*folders[:-1], "--combine", ":".join(names)).status == 0
    measured = effects(tmp_path)
    interval = ttest_ind(BLEU["a+b"][:2], BLEU["base"], equal_var=False).confidence_interval(0.95)
    assert (measured["both_low"], measured["both_high"]) == pytest.approx(tuple(interval))
    assert measured["interaction"] == pytest.approx(7 - 4 - 3 - 1)
    result = probe(*folders[:-3:3], folders[-1], "--combine", "base:a:b:a+b", "--paired")
    assert result.status == 2 and "needs a seed that all four have" in result.err
    assert probe(*folders[::3], "--combine", "base:a:b:a+b").status == 0
    measured = effects(tmp_path)
    assert measured["sum"] == 5 and not any(name.endswith(("_low", "_high")) for name in measured)


def test_directions_are_the_same_in_whatever_order(probe, folders, tmp_path):
    for folder in folders:
        record = read_scores(folder / "scores.json")
        names = ["de-fr", "fr-de"] if folder.name.startswith("base") else ["fr-de", "de-fr"]
        record["directions"] = dict.fromkeys(names, record["directions"]["de-fr"])
        write_scores(folder / "scores.json", record)
    assert probe(*folders, "--combine", "base:a:b:a+b").status == 0
    for folder in folders[-3:]:
        record = read_scores(folder / "scores.json")
        del record["directions"]["de-fr"]
        write_scores(folder / "scores.json", record)
    result = probe(*folders, "--combine", "base:a:b:a+b")
    assert result.err == (
        f"error: {folders[-3]}/scores.json and {folders[0]}/scores.json: other directions; expected averages"
        " over the same ones\n"
    )


def test_in_the_report(probe, folders, report, tmp_path):
    assert probe(*folders, "--combine", "base:a:b:a+b", "--paired").status == 0
    page = (report(tmp_path / "out/combination.json") / "report.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 1 and ">a and b: a+b<" in page and ">+3.0 [" in page


@pytest.mark.parametrize(
    ("combine", "error"),
    [
        ("base:a:b", "expected BASE:FIRST:SECOND:BOTH"),
        ("base:a:b:c", "no system 'c'"),
        ("base:a:a:base", "--combine base:a:a:base: base occurs twice; expected four systems"),
    ],
)
def test_errors(probe, folders, combine, error):
    result = probe(*folders, "--combine", combine)
    assert result.status == 2 and error in result.err


def test_on_every_dataset_that_has_all_systems(probe, folders, tmp_path):
    copies = []
    for folder in folders:
        copies.append(tmp_path / f"other-{folder.name}")
        copies[-1].mkdir()
        record = read_scores(folder / "scores.json") | {"dataset": "other"}
        write_scores(copies[-1] / "scores.json", record)
    assert probe(*folders, *copies[:-3], "--combine", "base:a:b:a+b").status == 0
    assert datasets(tmp_path) == ["toy"]
    assert probe(*folders, *copies, "--combine", "base:a:b:a+b").status == 0
    assert datasets(tmp_path) == ["toy", "other"]


def datasets(tmp_path) -> list[str]:
    record = json.loads((tmp_path / "out/combination.json").read_text())
    return [run["dataset"] for run in record["runs"]]
