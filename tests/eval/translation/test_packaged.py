"""A packaged folder in place of checkpoint and data: the same hypotheses, wherever it lies."""

import json
import shutil
from pathlib import Path

import pytest

from tests.eval.translation.packages import package, write_checkpoint, write_data

SEARCH = ("--cpu", "--max-len-b", "6", "--beam", "3")


@pytest.fixture
def data(tmp_path) -> Path:
    return write_data(tmp_path / "data")


@pytest.fixture
def checkpoint(tmp_path, data) -> Path:
    return write_checkpoint(tmp_path / "checkpoint_best.pt", data)


def hypotheses(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*-*.txt"))}


def test_a_package_that_was_moved_gives_the_hypotheses_of_its_checkpoint(tmp_path, data, checkpoint, command):
    made = package(tmp_path / "here", data, checkpoint, options=("--sets", "test"))
    before = command(
        "translate", "--checkpoint", checkpoint, "--data", data, "--output", tmp_path / "a", *SEARCH
    )
    assert before.status == 0, before.err
    (tmp_path / "elsewhere").mkdir()
    moved = Path(shutil.move(made, tmp_path / "elsewhere/system"))
    shutil.rmtree(data)
    checkpoint.unlink()
    after = command("translate", "--checkpoint", moved, "--output", tmp_path / "b", *SEARCH)
    assert after.status == 0, after.err
    moved_hypotheses = hypotheses(tmp_path / "b")
    assert len(moved_hypotheses) == 6 and len(set(moved_hypotheses.values())) > 3
    assert moved_hypotheses == hypotheses(tmp_path / "a")
    records = [json.loads((tmp_path / name / "translate.json").read_text()) for name in "ab"]
    for field in ("system", "dataset", "split", "directions"):
        assert records[0][field] == records[1][field]
    assert command("score", tmp_path / "b", "--workers", "1").status == 0


def test_other_data_may_be_given(tmp_path, data, checkpoint, command):
    made = package(tmp_path / "system", data, checkpoint)
    none = command("translate", "--checkpoint", made, "--output", tmp_path / "a", *SEARCH)
    assert none.status == 2 and "no test set for all directions" in none.err
    assert (
        command("translate", "--checkpoint", made, "--data", data, "--output", tmp_path / "a", *SEARCH).status
        == 0
    )
    assert len(hypotheses(tmp_path / "a")) == 6


def test_a_probe_takes_it(tmp_path, data, checkpoint, command):
    made = package(tmp_path / "system", data, checkpoint, options=("--sets", "test,valid"))
    result = command("probe", "states", "--checkpoint", made, "--output", tmp_path / "states", *SEARCH)
    assert result.status == 0, result.err


def test_an_ensemble_is_a_system_of_its_own(tmp_path, data, checkpoint, command):
    other = write_checkpoint(tmp_path / "other.pt", data, seed=2)
    options = ("--sets", "test", "--combine", "ensemble")
    made = package(tmp_path / "both", data, checkpoint, other, options=options)
    assert command("translate", "--checkpoint", made, "--output", tmp_path / "a", *SEARCH).status == 0
    record = json.loads((tmp_path / "a/translate.json").read_text())
    assert record["system"]["ensemble"] == 2 and record["system"]["name"].endswith("ensemble of 2")
    assert len(record["checkpoint"]["ensemble"]) == 2
    alone = command("probe", "states", "--checkpoint", made, "--output", tmp_path / "states", *SEARCH)
    assert (alone.status, alone.err.count("\n")) == (2, 1) and "an ensemble of 2 models" in alone.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--checkpoint", "{checkpoint}"], "--data: is missing; expected the binarized folder"),
        (["--checkpoint", "{data}"], "--data: is missing; expected the binarized folder"),
        (
            ["--checkpoint", "{data}", "--data", "{data}"],
            "data: is a folder, expected a fairseq checkpoint, or",
        ),
    ],
)
def test_no_package(tmp_path, data, checkpoint, command, words, message):
    words = [word.format(data=data, checkpoint=checkpoint) for word in words]
    result = command("translate", *words, "--output", tmp_path / "a", *SEARCH)
    assert (result.status, result.err.count("\n")) == (2, 1) and message in result.err
