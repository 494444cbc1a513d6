"""Zero-shot translation at equal supervised BLEU, on curves with known crossings."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from command_line.measurements import Measured, numbers
from eval.derived.equal_supervised import at_equal_supervised, compared
from eval.measurements import Measurements
from tests.eval.scored import SCORING, write_scores
from tests.eval.scored import direction as scored_direction

UPDATES = [100, 200, 400]


def run(supervised, zero_shot, off_target=(0.1, 0.2, 0.4)) -> pd.DataFrame:
    columns = {
        ("supervised", "bleu"): supervised,
        ("zero-shot", "bleu"): zero_shot,
        ("zero-shot", "off_target"): off_target,
    }
    return pd.DataFrame(columns, index=UPDATES, dtype=float)


def test_between_the_checkpoints_around_the_level():
    """The second training ends lowest, with 20: the first is there halfway between its last two."""
    slow, fast = run((2, 10, 20), (1, 3, 8)), run((10, 16, 24), (6, 10, 4))
    assert at_equal_supervised([fast, slow]) == [
        {"level": 20, "updates": 300, "bleu": 7, "off_target": pytest.approx(0.3)},
        {"level": 20, "updates": 400, "bleu": 8, "off_target": pytest.approx(0.4)},
    ]


def test_as_numpy_interpolates_a_curve_that_rises():
    rng = np.random.default_rng(1)
    runs = [run(np.sort(rng.uniform(0, 9, 3)), rng.uniform(0, 9, 3)) for _ in range(9)]
    level = min(training["supervised", "bleu"].iloc[-1] for training in runs)
    for training, reached in zip(runs, at_equal_supervised(runs), strict=True):
        curve = training["supervised", "bleu"]
        if curve.iloc[0] >= level:
            assert reached is None
            continue
        assert reached["updates"] == pytest.approx(np.interp(level, curve, UPDATES))
        assert reached["bleu"] == pytest.approx(np.interp(level, curve, training["zero-shot", "bleu"]))


def test_the_first_time_that_a_level_is_reached():
    falling = run((1, 9, 7), (0, 4, 1))
    assert at_equal_supervised([falling, run((1, 2, 5), (0, 0, 0))])[0]["updates"] == 150


def test_what_has_no_number():
    """Above the level from the beginning; no off-target rate; no supervised direction."""
    early, slow = run((6, 7, 8), (1, 2, 3)), run((1, 2, 5), (1, 2, 3), (None, None, None))
    assert at_equal_supervised([early, slow])[0] is None
    assert np.isnan(at_equal_supervised([early, slow])[1]["off_target"])
    lonely = run((None,) * 3, (1, 2, 3)).drop(columns=[("supervised", "bleu")])
    assert at_equal_supervised([slow, lonely]) == [None, None]


def test_a_training_whose_seed_nobody_knows():
    measured = Measured()
    rows = [
        row
        for update, bleu in zip(UPDATES, (1, 5, 9), strict=True)
        for kind in ("supervised", "zero-shot")
        for row in numbers({"bleu": bleu}, kind=kind, update=update)
    ]
    measured.add({"system": {"name": "A"}, "dataset": "toy"}, rows)
    (run,) = compared(Measurements.derived(measured)).runs
    assert run["system"] == {"name": "A", "seed": None}


@pytest.mark.parametrize("files", ["one", "one per system"])
def test_in_the_report(tmp_path, command, files):
    """Two systems with two seeds: the difference has Welch's interval. The level is that of all of them."""
    curves = {("A", 1): (1, 5, 9), ("A", 2): (2, 4, 8), ("B", 1): (0, 2, 6), ("B", 2): (1, 4, 7)}
    folders = []
    for (name, seed), bleu in curves.items():
        for updates, supervised in zip(UPDATES, bleu, strict=True):
            folder = tmp_path / f"{name}-{seed}-{updates}"
            folder.mkdir()
            zero_shot = {"bleu": 10 * supervised + seed + 5 * (name == "B")}
            record = {
                "format": 1, "kind": "scores", "system": {"name": f"{name}, {updates} updates", "seed": seed},
                "data": {"path": "toy"}, "split": "valid", "scoring": SCORING,
                "checkpoint": {
                    "path": f"checkpoint_1_{updates}.pt",
                    "sha256": f"{name}{seed}{updates}".encode().hex(),
                    "updates": updates,
                },
                "directions": {
                    "de-fr": scored_direction("zero-shot", **zero_shot),
                    "de-en": scored_direction("supervised", supervised),
                },
            }  # fmt: skip
            write_scores(folder / "scores.json", record)
            folders.append(folder)
    groups = [folders] if files == "one" else [folders[: len(folders) // 2], folders[len(folders) // 2 :]]
    results = []
    for number, group in enumerate(groups):
        out = tmp_path / f"out{number}"
        assert command("probe", "learning-curves", *group, "--output", out).status == 0
        results.append(out / "learning-curves.json")
    result = command("report", *results, "--output", tmp_path / "report")
    assert result.status == 0, result.err
    # Level 6: zero-shot BLEU is 60 and the seed, of B 5 more, whatever the speed.
    interval = ttest_ind([66, 67], [61, 62], equal_var=False).confidence_interval(0.95)
    assert interval.low < 5 < interval.high
    text = (tmp_path / "report/report.md").read_text(encoding="utf-8")
    shown = rf"+5.0 \[{interval.low:+.1f}, {interval.high:+.1f}\]"
    assert "| B | 2 | 6.0 | 367 ± 47 | 66.5 ± 0.7 |" in text
    assert f"| B from A | {shown} |" in text
