"""`python -m eval probe learning-curves` on scored folders of checkpoints with known numbers."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, pearsonr

from command_line.measurements import Measured, numbers, write_rows
from eval.derived.llr_and_bleu import correlations
from eval.measurements import as_table
from eval.scoring.significance import holm
from tests.eval.rows import rows_of
from tests.eval.scored import SCORING, read_scores, write_scores
from tests.eval.scored import direction as scored_direction

BLEU = {("Pre", 1): (2, 25, 30), ("Pre", 2): (4, 23, 28), ("Post", 1): (1, 8, 46)}
OFF_TARGET = {("Pre", 1): (0.1, 0.2, 0.4), ("Pre", 2): (0.1, 0.4, 0.6), ("Post", 1): (0.1, 0.1, None)}
SOURCE = {("Pre", 1): (0.9, 0.8, 0.8), ("Pre", 2): (0.9, 0.7, 0.7), ("Post", 1): (0.9, 0.6, 0.3)}
UPDATES = (100, 200, 300)
RUNS = list(BLEU)


@pytest.fixture
def folders(tmp_path):
    """Scored folders (nine checkpoints), and the layer-wise language recognition of each."""
    scored, recognized = [], []
    for name, seed in RUNS:
        for number, updates in enumerate(UPDATES):
            sha256 = f"{name}{seed}{updates}".encode().hex().zfill(64)
            system = {"name": f"{name}, {updates} updates", "seed": seed}
            path = f"{name}-{seed}/checkpoint_1_{updates}.pt"
            zero_shot = {"bleu": BLEU[name, seed][number], "off_target": OFF_TARGET[name, seed][number]}
            scores = {
                "format": 1, "kind": "scores", "system": system, "data": {"path": "toy"}, "split": "valid",
                "checkpoint": {"path": path, "sha256": sha256, "updates": updates},
                "directions": {"de-fr": scored_direction("zero-shot", **zero_shot)}, "scoring": SCORING,
            }  # fmt: skip
            scored.append(write_scores(tmp_path / f"{name}-{seed}-{updates}/scores.json", scores).parent)
            run = {
                "system": system, "dataset": "toy", "checkpoint": {"sha256": sha256}, "tokens": "all",
                "forced": "output", "training": {},
            }  # fmt: skip
            folder = tmp_path / f"llr-{name}-{seed}-{updates}"
            folder.mkdir()
            accuracy = SOURCE[name, seed][number]
            measured = []
            for repeat, change in enumerate((-0.05, 0.05)):
                for direction in ("de-fr", "fr-de"):
                    place = {"direction": direction, "part": "source", "layer": "L3", "repeat": repeat}
                    rows = numbers({"accuracy": accuracy + change}, kind="zero-shot", **place)
                    rows += numbers({"accuracy": 1.0}, kind="supervised", **place)
                    measured += [{"run": 0, "dataset": "toy", "system": name, **row} for row in rows]
            sha256 = write_rows(folder / "llr.csv", measured)
            record = {"format": 1, "kind": "llr", "runs": [run], "rows_sha256": sha256}
            (folder / "llr.json").write_text(json.dumps(record), encoding="utf-8")
            recognized.append(folder)
    return scored, recognized


@pytest.fixture
def probe(command, tmp_path):
    def call(*words):
        return command("probe", "learning-curves", *words, "--output", tmp_path / "out")

    return call


def test_checkpoints_become_one_curve_per_training(probe, folders, tmp_path, draws):
    scored, _ = folders
    result = probe(*reversed(scored))
    assert result.status == 0, result.err
    rows = rows_of(tmp_path / "out/learning-curves.csv")
    assert {*zip(rows.measure, rows.kind, strict=True)} == {
        ("bleu", "zero-shot"),
        ("off_target", "zero-shot"),
    }
    for table, measure in ((BLEU, "bleu"), (OFF_TARGET, "off_target")):
        measured = rows[rows.measure == measure]
        assert {
            (row.system, row.seed, row.update): row.value for row in measured.itertuples(index=False)
        } == {
            (name, seed, update): value
            for (name, seed), values in table.items()
            for update, value in zip(UPDATES, values, strict=True)
            if value is not None
        }
    assert (tmp_path / "out/learning_curves_zero-shot_toy.png").read_bytes().startswith(b"\x89PNG")
    assert not list((tmp_path / "out").glob("llr_and_bleu*"))
    assert not list((tmp_path / "out").glob("*supervised*"))


def test_means_over_seeds_in_the_report(probe, report, folders, tmp_path):
    assert probe(*folders[0]).status == 0
    page = (report(tmp_path / "out/learning-curves.json") / "report.html").read_text(encoding="utf-8")
    rows = [
        re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr[^>]*>(.*?)</tr>", page, re.DOTALL)
    ]
    for row in (
        ["BLEU", "Pre", "2", "3.0 ± 1.4", "24.0 ± 1.4", "29.0 ± 1.4"],
        ["off-target %", "Pre", "2", "10.0 ± 0.0", "30.0 ± 14.1", "50.0 ± 14.1"],
        ["off-target %", "Post", "1", "10.0", "10.0", "–"],
    ):
        assert row in rows


def test_correlation_over_checkpoints(probe, folders, tmp_path):
    """Of two systems there is none of their last checkpoints: their seeds are not independent."""
    scored, recognized = folders
    result = probe(*scored, "--llr", *recognized)
    assert result.status == 0, result.err
    rows = rows_of(tmp_path / "out/learning-curves.csv", measure="accuracy")
    assert [(row.part, row.layer, row.kind) for row in rows.itertuples()] == [
        ("source", "L3", "zero-shot")
    ] * 9
    with open(tmp_path / "out/llr_and_bleu_toy.csv", encoding="utf-8", newline="") as stream:
        listed = list(csv.DictReader(stream))
    every = pearsonr(*([value for run in RUNS for value in table[run]] for table in (SOURCE, BLEU)))
    assert {(record["system"], record["part"], record["layer"]) for record in listed} == {
        ("all checkpoints", "source", "L3")
    }
    values = {record["measure"]: float(record["value"]) for record in listed}
    assert values == {"n": 9, "r": pytest.approx(every.statistic, rel=1e-3)}


def curves(*trainings: tuple) -> pd.DataFrame:
    """Rows of trainings: the system, BLEU and accuracies by layer of its last checkpoint, and the dataset, if
    it is another one. The first checkpoint says nothing.
    """
    measured = Measured()
    for name, bleu, accuracies, *dataset in trainings:
        rows = []
        for update, values in ((1, dict.fromkeys(accuracies, 0.5)), (2, accuracies)):
            rows += numbers({"bleu": bleu if update == 2 else 0.0}, kind="zero-shot", update=update)
            for layer, value in values.items():
                rows += numbers(
                    {"accuracy": value}, kind="zero-shot", part="source", layer=layer, update=update
                )
        measured.add({"system": {"name": name}, "dataset": "".join(dataset) or "set"}, rows)
    return as_table(measured.rows)


def last_of(rows: pd.DataFrame) -> list[dict]:
    return [correlation for correlation in correlations(rows) if correlation["points"] == "last"]


def test_correlation_over_systems_is_of_means_over_seeds_with_holm_over_the_table():
    values = {"a": ((1, 0.2), (3, 0.4)), "b": ((5, 0.1), (5, 0.3)), "c": ((9, 0.6),), "d": ((4, 0.5),)}
    rows = curves(
        *((name, bleu, {"L1": accuracy, "L2": accuracy**2 + bleu})
          for name, seeds in values.items() for bleu, accuracy in seeds)
    )  # fmt: skip
    listed = last_of(rows)
    means = {name: np.mean(seeds, axis=0) for name, seeds in values.items()}
    first = pearsonr([mean[1] for mean in means.values()], [mean[0] for mean in means.values()])
    assert [(record["layer"], record["n"]) for record in listed] == [("L1", 4), ("L2", 4)]
    assert listed[0]["r"] == pytest.approx(first.statistic)
    alone = [
        record["p_value"] for layer in ("L1", "L2") for record in last_of(rows[rows.layer.isin(["", layer])])
    ]
    assert alone[0] == pytest.approx(first.pvalue)
    assert [record["p_value"] for record in listed] == pytest.approx(holm(alone))
    apart = correlations(
        curves(*((name, bleu, {"L1": bleu}, name[0]) for name, bleu in (("x1", 1), ("y1", 2))))
    )
    assert apart == []  # datasets are not put together


def test_last_checkpoints_are_the_last_of_their_trainings():
    """Not those that languages were last recognized at: systems would be at other times of their training."""
    rows = curves(*((name, bleu, {"L1": bleu**2}) for name, bleu in zip("abcd", (1, 4, 2, 3), strict=True)))
    (whole,) = last_of(rows)
    assert whole["n"] == 4
    is_lacking = (rows.system == "a") & (rows["update"] == 2) & (rows.measure == "accuracy")
    (without,) = last_of(rows[~is_lacking])
    (others,) = last_of(rows[rows.system != "a"])
    assert (without["n"], without["r"]) == (3, others["r"])


def test_the_report_correlates_the_trainings_of_all_files_together(probe, command, folders, tmp_path):
    """A file of each system, as of recipes that were run one after the other."""
    for number, chosen in enumerate((slice(0, 6), slice(6, 9))):
        scored, recognized = (part[chosen] for part in folders)
        words = ["probe", "learning-curves", *scored, "--llr", *recognized]
        assert command(*words, "--output", tmp_path / f"out{number}").status == 0
    files = [tmp_path / f"out{number}/learning-curves.json" for number in (0, 1)]
    assert command("report", *files, "--output", tmp_path / "report").status == 0
    every = pearsonr(*([value for run in RUNS for value in table[run]] for table in (SOURCE, BLEU)))
    text = (tmp_path / "report/report.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if "| source | L3 |" in line]
    assert rows == [f"| all checkpoints | source | L3 | 9 | {every.statistic:.2f} |"]


def test_five_percent_of_unrelated_systems_seem_related():
    """Accuracy and BLEU of a system have nothing to do with each other; its seeds are alike in both."""
    rng, rejected = np.random.default_rng(3), 0
    for _ in range(200):
        runs = []
        for name in "abcde":
            bleu, accuracy = rng.normal(0, 3, 2)
            runs += [(name, bleu + rng.normal(), {"L1": accuracy + rng.normal()}) for _ in range(5)]
        (last,) = last_of(curves(*runs))
        rejected += last["p_value"] < 0.05
    assert binomtest(rejected, 200, 0.05).pvalue > 1e-3, rejected


def changed(folder, name: str, change) -> None:
    path = folder / name
    if name == "scores.json":
        record = read_scores(path)
        change(record)
        write_scores(path, record)
        return
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record)
    path.write_text(json.dumps(record), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.update(beam=1), "beam is 1, but 5 in "),
        (
            lambda record: record["directions"].update({"fr-de": record["directions"]["de-fr"]}),
            "directions.fr-de is ",
        ),
        (
            lambda record: record["directions"]["de-fr"].update(reference_sha256="cd"),
            "direction de-fr: reference_sha256 is cd, but ab in ",
        ),
    ],
)
@pytest.mark.parametrize("other", [1, 3])
def test_points_of_a_curve_and_seeds_of_a_system_are_measured_alike(probe, folders, other, change, message):
    """The second checkpoint of the first training, and the first one of another seed."""
    scored, _ = folders
    for folder in scored:
        changed(
            folder, "scores.json", lambda record: record["directions"]["de-fr"].update(reference_sha256="ab")
        )
    assert probe(*scored).status == 0
    changed(scored[other], "scores.json", change)
    result = probe(*scored)
    assert result.status == 2 and result.err.count("\n") == 1
    assert result.err.startswith(f"error: {scored[other]}/scores.json: {message}")


def test_checkpoints_of_two_systems_are_no_training(probe, folders):
    scored, _ = folders
    changed(scored[1], "scores.json", lambda record: record["system"].update(norm_placement="post"))
    result = probe(*scored[:3])
    assert result.status == 2 and result.err.count("\n") == 1
    assert result.err.startswith(f"error: {scored[1]}/scores.json: system.norm_placement is post, but ")


def test_a_training_that_was_made_longer_is_one_curve(probe, folders, tmp_path):
    scored, _ = folders
    schedule = {"lr": [0.001], "max_update": 200}
    for number, folder in enumerate(scored[:3]):
        longer = {"max_update": 300} if number == 2 else {}
        changed(
            folder,
            "scores.json",
            lambda record, longer=longer: record["system"].update(schedule=schedule | longer),
        )
    assert probe(*scored[:3]).status == 0
    changed(
        scored[1], "scores.json", lambda record: record["system"].update(schedule=schedule | {"lr": [0.002]})
    )
    result = probe(*scored[:3])
    assert result.status == 2 and "system.schedule is {'lr': [0.002]}, but {'lr': [0.001]} in " in result.err


def test_recognition_of_a_checkpoint_is_given_once(probe, folders, tmp_path):
    """Of two protocols, or of all tokens and of words alone, one would be taken."""
    scored, recognized = folders
    again = tmp_path / "again"
    again.mkdir()
    for name in ("llr.json", "llr.csv"):
        (again / name).write_bytes((recognized[0] / name).read_bytes())
    result = probe(*scored, "--llr", *recognized, again)
    assert (result.status, result.err) == (
        2, f"error: {again}/llr.json and {recognized[0]}/llr.json: both are of one checkpoint; give one\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.update(tokens="words"), "tokens is words, but all in "),
        (lambda record: record.update(forced="reference"), "forced is reference, but output in "),
        (lambda record: record.update(split="valid"), "split is valid, but test in "),
        (
            lambda record: record["training"].update(protocol="paper"),
            "training.protocol is paper, but optimum in ",
        ),
    ],
)
def test_recognition_is_measured_alike(probe, folders, change, message):
    scored, recognized = folders
    for folder in recognized:
        changed(
            folder, "llr.json",
            lambda record: record["runs"][0].update(
                split="test", training={"protocol": "optimum", "tokens": {}}
            ),
        )  # fmt: skip
    assert probe(*scored, "--llr", *recognized).status == 0
    changed(recognized[4], "llr.json", lambda record: change(record["runs"][0]))
    result = probe(*scored, "--llr", *recognized)
    assert (result.status, result.err) == (
        2, f"error: {recognized[4]}/llr.json: {message}{recognized[0]}/llr.json\n",
    )  # fmt: skip


def test_wrong_folders_are_one_line(probe, folders):
    scored, recognized = folders
    result = probe(scored[0], scored[1], scored[0])
    assert result.status == 2 and "both are after 100 updates" in result.err
    result = probe(scored[0], "--llr", recognized[1])
    assert result.status == 2 and "is of a checkpoint that no scored folder has" in result.err
    path = scored[1] / "scores.json"
    path.write_text(path.read_text().replace('"split": "valid"', '"split": "test"'))
    result = probe(scored[0], scored[1])
    assert result.status == 2 and "split is test, but valid in " in result.err
    path.write_text(path.read_text().replace('"updates": 200', '"updates": null'))
    result = probe(scored[1])
    assert result.status == 2 and "does not say after how many updates" in result.err
