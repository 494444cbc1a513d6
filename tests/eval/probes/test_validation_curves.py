"""`python -m eval probe validation-curves` on logs as fairseq writes them."""

import csv
import json
import re

import pytest

from tests.eval.rows import rows_of
from tests.eval.scored import SCORING, direction, write_scores

SIMPLE = """2026-01-01 10:00:00 | INFO | train_inner | epoch 001:    100 / 200 loss=9.1, nll_loss=8
2026-01-01 10:00:01 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 5.9 | nll_loss 4.1 | num_updates 100
2026-01-01 10:00:02 | INFO | valid | epoch 002 | valid on 'valid' subset | loss 4.5 | nll_loss 3.1 | num_updates 200
2026-01-01 10:00:03 | INFO | valid | epoch 002 | valid on 'valid' subset | loss 4.4 | nll_loss 3 | num_updates 200 | best_loss 4.4
"""  # noqa: E501
JSON = """2026-01-01 10:00:01 | INFO | valid | {"epoch": 1, "valid_loss": "7.0", "valid_nmt_loss": "5.1", "valid_num_updates": "100"}
2026-01-01 10:00:02 | INFO | valid | {"epoch": 2, "valid_loss": "6.0", "valid_nmt_loss": "4.1", "valid_num_updates": "200"}
2026-01-01 10:00:03 | INFO | valid | {"epoch": 3, "valid_lo
"""  # noqa: E501


@pytest.fixture
def probe(command, tmp_path):
    (tmp_path / "simple.log").write_text(SIMPLE)
    (tmp_path / "json.log").write_text(JSON)
    (tmp_path / "none.log").write_text("2026-01-01 | INFO | train | epoch 001 | loss 4\n")

    def run(*logs):
        logs = [f"{name}={tmp_path}/{file}.log" for name, file in logs]
        return command("probe", "validation-curves", *logs, "--dataset", "toy", "--output", tmp_path / "out")

    return run


def losses(tmp_path, run: int) -> dict[int, float]:
    rows = rows_of(tmp_path / "out/validation-curves.csv", run=run, measure="validation_loss")
    return dict(zip(rows["update"], rows.value, strict=True))


def test_both_formats_and_the_loss_of_translation(probe, tmp_path, draws):
    result = probe(("MNMT", "simple"), ("ours", "json"))
    assert result.status == 0, result.err
    runs = json.loads((tmp_path / "out/validation-curves.json").read_text())["runs"]
    assert [run["metric"] for run in runs] == ["loss", "nmt_loss"]
    assert losses(tmp_path, run=0) == {100: 5.9, 200: 4.4}
    assert losses(tmp_path, run=1) == {100: 5.1, 200: 4.1}
    with open(tmp_path / "out/validation_loss_toy.csv", encoding="utf-8", newline="") as stream:
        rows = [(row["system"], row["update"], row["value"]) for row in csv.DictReader(stream)]
    assert rows == [
        ("MNMT", "100", "5.9"), ("MNMT", "200", "4.4"), ("ours", "100", "5.1"), ("ours", "200", "4.1"),
    ]  # fmt: skip
    assert (tmp_path / "out/validation_loss_toy.png").read_bytes().startswith(b"\x89PNG")


def test_a_training_that_diverged_keeps_its_other_validations(probe, report, tmp_path):
    (tmp_path / "bad.log").write_text(SIMPLE.replace("loss 5.9", "loss nan"))
    assert probe(("A", "bad"), ("B", "simple")).status == 0
    assert (losses(tmp_path, run=0), losses(tmp_path, run=1)) == ({200: 4.4}, {100: 5.9, 200: 4.4})
    html = (report(tmp_path / "out/validation-curves.json") / "report.html").read_text(encoding="utf-8")
    rows = [
        re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr[^>]*>(.*?)</tr>", html, re.DOTALL)
    ]
    assert ["loss (bits per token)", "A", "1", "–", "4.400"] in rows


def test_seeds_and_the_report(probe, report, tmp_path):
    assert probe(("A", "simple"), ("A", "json")).status == 0
    html = (report(tmp_path / "out/validation-curves.json") / "report.html").read_text(encoding="utf-8")
    assert "Validation loss" in html and "5.500" in html and "4.250" in html  # means of both


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ([("A", "none")], "none.log: no validation in it; expected a log of fairseq-train (simple or json)"),
        ([("A", "no")], "no.log: no such file; expected the log of a training"),
        ([("", "simple")], "expected NAME=VALUE, for example MNMT=train.log"),
    ],
)
def test_bad_logs(probe, logs, message):
    result = probe(*logs)
    assert result.status == 2
    assert result.err.startswith("error: ") and message in result.err


def test_the_report_shows_losses_of_scored_systems_from_their_logs(tmp_path, report):
    """One curve for all scores of a training; none without a log, or of a log without validations."""
    files = []
    logs = {
        "A": SIMPLE,
        "A, through a pivot": SIMPLE,
        "A, 200 updates": SIMPLE,
        "B": "2026-01-01 | INFO | train | epoch 001 | loss 4\n",
        "C": None,
    }
    for number, (name, log) in enumerate(logs.items()):
        training, _, other = name.partition(", ")
        has_pivot = other == "through a pivot"
        file = "checkpoint_1_200.pt" if other == "200 updates" else "checkpoint_best.pt"
        model = tmp_path / training
        model.mkdir(exist_ok=True)
        if log:
            (model / "train.log").write_text(log)
        checkpoint = {"path": str(model / file), "sha256": "ab" * 32, "epoch": 1}
        record = {
            "format": 1,
            "kind": "scores",
            "system": {"name": training if has_pivot else name, "seed": 1},
            "data": {"path": "toy", "dictionary_sha256": None},
            "split": "test",
            "checkpoint": checkpoint,
            "pivot": "en" if has_pivot else None,
            "directions": {"de-fr": direction("zero-shot", lines=3.0)},
            "scoring": SCORING,
        }
        files.append(write_scores(tmp_path / str(number) / "scores.json", record))
    text = (report(*files) / "report.md").read_text(encoding="utf-8")
    section = text[text.index("## Validation loss of the scored systems") :].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| loss")]
    assert rows == ["| loss (bits per token) | A | 1 | 5.900 | 4.400 |"]
