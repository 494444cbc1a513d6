"""`python -m eval probe retrieval-curves` on results of checkpoints with known numbers."""

import json
import re

import pytest
from scipy.stats import pearsonr

from command_line.measurements import Measured, numbers, read_rows
from eval.probes.training_logs import validations
from tests.eval.rows import rows_of, write_measured

UPDATES = (100, 200, 300)
LOSS = {("MLSC", 1): (9.0, 7.0, 6.5), ("MLSC", 2): (9.5, 8.0, 6.0), ("MLSC +w2w", 1): (9.0, 7.5, 7.0)}
SENTENCE = {("MLSC", 1): (0.1, 0.2, 0.5), ("MLSC", 2): (0.1, 0.4, 0.3), ("MLSC +w2w", 1): (0.2, 0.6, 0.7)}
RUNS = list(LOSS)


@pytest.fixture
def folders(tmp_path):
    """Retrieval of nine checkpoints, in folders beside which the logs of their trainings are."""
    written = []
    for name, seed in RUNS:
        training = tmp_path / f"models/{name}-{seed}"
        training.mkdir(parents=True)
        lines = [
            f"| INFO | valid | epoch 001 | loss {loss + 1} | nmt_loss {loss} | num_updates {n}\n"
            for n, loss in zip(UPDATES, LOSS[name, seed], strict=True)
        ]
        (training / "train.log").write_text("".join(lines), encoding="utf-8")
        for number, updates in enumerate(UPDATES):
            middle = SENTENCE[name, seed][number]
            checkpoint = {"path": str(training / f"checkpoint_1_{updates}.pt"), "updates": updates}
            run = {
                "system": {"name": f"{name}, {updates} updates", "seed": seed}, "dataset": "toy",
                "split": "valid", "checkpoint": checkpoint,
            }  # fmt: skip
            rows = []
            for pair, change in (("de-en", -0.05), ("en-fr", 0.05)):
                place = {"kind": "supervised", "direction": pair}
                rows += numbers({"lines": 5}, **place)
                rows += numbers({"sentence": 0.0, "sentence_in_batch": 0.0}, layer="L0", **place)
                top = {"sentence": middle + change, "sentence_in_batch": 1.0}
                rows += numbers(top, layer="output", **place)
            folder = tmp_path / f"{name}-{seed}-{updates}"
            folder.mkdir()
            write(folder, run, rows)
            written.append(folder)
    return written


def write(folder, run, rows=None) -> None:
    """Retrieval of a checkpoint; without rows those that are there remain."""
    measured = Measured()
    measured.add(run, read_rows(folder / "retrieval.csv") if rows is None else rows)
    write_measured(folder, "retrieval", measured)


@pytest.fixture
def probe(command, tmp_path):
    def call(*words):
        return command("probe", "retrieval-curves", *words, "--output", tmp_path / "out")

    return call


def test_checkpoints_become_one_curve_per_training(probe, command, folders, tmp_path):
    result = probe(*reversed(folders))
    assert result.status == 0, result.err
    rows = rows_of(tmp_path / "out/retrieval-curves.csv")
    assert {*zip(rows.system, rows.seed, strict=True)} == set(RUNS)
    for name, seed in RUNS:
        loss, sentence, r = (
            rows[(rows.system == name) & (rows.seed == seed) & (rows.measure == measure)]
            for measure in ("validation_loss", "sentence", "sentence_r")
        )
        assert list(loss["update"]) == list(sentence["update"]) == list(UPDATES)
        assert list(loss.value) == list(LOSS[name, seed])  # of translation, without what is added
        assert list(sentence.value) == pytest.approx(SENTENCE[name, seed])  # on top, the mean over pairs
        assert r.value.item() == pytest.approx(pearsonr(LOSS[name, seed], SENTENCE[name, seed]).statistic)
    assert set(rows.measure) == {"validation_loss", "sentence", "sentence_r"}  # no words
    assert (
        command("report", tmp_path / "out/retrieval-curves.json", "--output", tmp_path / "page").status == 0
    )
    page = (tmp_path / "page/report.html").read_text(encoding="utf-8")
    cells = [
        re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr[^>]*>(.*?)</tr>", page, re.DOTALL)
    ]
    loss = ["9.250 ± 0.354", "7.500 ± 0.707", "6.250 ± 0.354"]
    assert ["loss (bits per token)", "MLSC", "2", *loss] in cells
    assert ["sentence P@1 (%)", "MLSC +w2w", "1", "20.0", "60.0", "70.0"] in cells
    assert ["MLSC +w2w", "1", "-1.00"] in cells


def test_a_log_is_read_once(probe, folders, monkeypatch):
    read = []

    def noted(path):
        read.append(path)
        return validations(path)

    monkeypatch.setattr("eval.probes.retrieval_curves.validations", noted)
    assert probe(*folders).status == 0
    assert len(read) == len(set(read)) == len(RUNS)


def test_a_loss_that_is_no_number_is_no_point(probe, command, folders, tmp_path):
    log = tmp_path / "models/MLSC-1/train.log"
    log.write_text(log.read_text().replace("nmt_loss 7.0", "nmt_loss nan"))
    assert probe(*folders[:3]).status == 0
    rows = rows_of(tmp_path / "out/retrieval-curves.csv")
    loss = rows[rows.measure == "validation_loss"]
    assert dict(zip(loss["update"], loss.value, strict=True)) == {100: 9.0, 300: 6.5}
    assert "sentence_r" not in set(rows.measure)
    result = command("report", tmp_path / "out/retrieval-curves.json", "--output", tmp_path / "page")
    assert result.status == 0, result.err


def test_two_checkpoints_have_no_correlation(probe, folders, tmp_path):
    assert probe(*folders[:2]).status == 0
    assert set(rows_of(tmp_path / "out/retrieval-curves.csv").measure) == {"validation_loss", "sentence"}


@pytest.mark.parametrize(
    ("pair", "lines", "message"),
    [("en-fr", None, "is none, but 5.0 in "), ("de-en", 4, "is 4.0, but 5.0 in ")],
)
@pytest.mark.parametrize("other", [1, 3])
def test_points_of_a_curve_and_seeds_of_a_system_are_of_the_same_lines(
    probe, folders, other, pair, lines, message
):
    """The second checkpoint of the first training, and the first one of another seed; None: no such pair."""
    (run,) = json.loads((folders[other] / "retrieval.json").read_text())["runs"]
    rows = [
        row | ({"value": lines} if (row["direction"], row["measure"]) == (pair, "lines") else {})
        for row in read_rows(folders[other] / "retrieval.csv")
        if lines is not None or row["direction"] != pair
    ]
    write(folders[other], run, rows)
    result = probe(*folders)
    assert result.status == 2 and result.err.count("\n") == 1
    assert result.err.startswith(f"error: {folders[other]}/retrieval.json: lines of {pair} {message}")


@pytest.mark.parametrize(
    ("checkpoint", "message"),
    [
        ({"updates": 100}, "both are after 100 updates"),
        ({"updates": 150}, "no validation after 150 updates, only after 100, 200, 300"),
        ({"updates": None}, "does not say after how many updates its checkpoint is; make it again"),
        ({"path": "elsewhere/checkpoint_1_200.pt"}, "elsewhere/train.log: no such file; expected the log"),
    ],
)
def test_wrong_folders_are_one_line(probe, folders, checkpoint, message):
    (run,) = json.loads((folders[1] / "retrieval.json").read_text())["runs"]
    write(folders[1], run | {"checkpoint": run["checkpoint"] | checkpoint})
    result = probe(*folders[:3])
    assert result.status == 2 and message in result.err and result.err.count("\n") == 1
