"""`run-training`: a training is run, skipped, resumed or refused, with a stand-in for fairseq-train."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from fairseq_ext.training_record import parse_options
from tests import hanging
from tests.our_commands import run_command

TRAINER = """#!/bin/bash
folder=$3
echo "$*" >> "$folder/calls"
echo "2026-01-01 | INFO | fairseq_cli.train | hello"
echo "2026-01-01 | INFO | train_inner | epoch 001: loss=1"
[[ ! -e $folder/stay ]] || { echo $$ > "$folder/pid"; exec sleep SECONDS; }
[[ ! -e $folder/fail ]] || exit 3
cp "$(dirname "$0")/whole.pt" "$folder/checkpoint_best.pt"
"""


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Function from options of a training to the command."""
    (tmp_path / "bin").mkdir()
    trainer = tmp_path / "bin/fairseq-train"
    trainer.write_text(TRAINER.replace("SECONDS", str(2 * hanging.SECONDS)))
    trainer.chmod(0o755)
    with zipfile.ZipFile(tmp_path / "bin/whole.pt", "w") as archive:
        archive.writestr("archive/data.pkl", "weights")
    (tmp_path / "data").mkdir()
    for name in ("dict.en.txt", "train.en-it.en.bin"):
        (tmp_path / "data" / name).write_text(name)
    (tmp_path / "model").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    model, data = str(tmp_path / "model"), str(tmp_path / "data")

    def command(*options: str, own: tuple = ()) -> list[str]:
        trained = ["fairseq-train", data, "--save-dir", model, *options]
        return ["fairseq_ext", "run-training", "--output", model, "--data", data, *own, "--", "env", *trained]

    return command


def calls(folder: Path) -> int:
    return len((folder / "model/calls").read_text().splitlines())


def test_it_trains_and_says_so_and_is_skipped_then(words, tmp_path, capsys):
    assert run_command(words("--lr", "1")) == 0
    model = tmp_path / "model"
    log = (model / "train.log").read_text()
    assert log.splitlines()[0].endswith("| hello")
    said = capsys.readouterr().err.splitlines()
    assert said == [f"== {model}: training, log in train.log", "model: epoch 001: loss=1"]
    record = json.loads((model / "training.json").read_text())
    assert record["options"] == {"--lr": "1"} and record["outputs"]
    assert run_command(words("--lr", "1")) == 0
    assert capsys.readouterr().err == f"== {model}: trained, skipped\n"
    assert calls(tmp_path) == 1
    assert (model / "train.log").read_text() == log


def test_devices_may_change_and_options_may_not(words, tmp_path, capsys):
    (tmp_path / "model/fail").touch()
    assert (
        run_command(words("--lr", "1", "--update-freq", "2", "--distributed-world-size", "4", "--fp16")) == 2
    )
    (tmp_path / "model/fail").unlink()
    assert run_command(words("--lr", "2")) == 2
    assert "began with --lr 1, found with --lr 2; train anew with --force" in capsys.readouterr().err
    assert run_command(words("--lr", "1", "--cpu", "--ddp-backend", "legacy_ddp")) == 0
    assert run_command(words("--lr", "2", own=("--force",))) == 0
    assert calls(tmp_path) == 3


def test_a_failure_is_one_line_after_the_end_of_the_log(words, tmp_path, capsys):
    (tmp_path / "model/fail").touch()
    assert run_command(words()) == 2
    *_, last, error = capsys.readouterr().err.splitlines()
    assert last.endswith("train_inner | epoch 001: loss=1")
    assert error == (
        f"error: {tmp_path}/model: training failed with status 3, see {tmp_path}/model/train.log"
    )
    assert len((tmp_path / "model/cpu_seconds.txt").read_text().splitlines()) == 1


def test_the_precision_of_the_first_start_stays(words, tmp_path, capsys):
    (tmp_path / "model/fail").touch()
    run_command(words(own=("--precision", "bf16")))
    assert (tmp_path / "model/precision.txt").read_text() == "bf16\n"
    assert run_command(words(own=("--precision", "fp16"))) == 2
    assert "began with --precision bf16, found fp16; give that or auto" in capsys.readouterr().err
    (tmp_path / "model/fail").unlink()
    assert run_command(words()) == 0


def test_a_launcher_writes_curves_beside_the_log_unless_told_otherwise(words, tmp_path):
    own = ("--launcher", "cpu", "--precision", "float32")
    assert run_command(words(own=own)) == 0
    (tmp_path / "model/tensorboard").mkdir()
    assert run_command(words("--tensorboard-logdir", "curves", own=(*own, "--force"))) == 0
    first, second = (
        parse_options(line.split()) for line in (tmp_path / "model/calls").read_text().splitlines()
    )
    assert first["--tensorboard-logdir"] == str(tmp_path / "model/tensorboard")
    assert not (tmp_path / "model/tensorboard").exists()  # the curves of a training that is forgotten
    assert second["--tensorboard-logdir"] == "curves"


def test_a_command_that_does_not_train_is_refused(words, capsys):
    assert run_command([*words()[:-5], "echo"]) == 2
    assert "after --: expected a command with the word fairseq-train" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("number", "goes_on"), [(signal.SIGTERM, False), (signal.SIGKILL, True)])
def test_the_training_ends_with_it_but_outlives_a_kill(words, tmp_path, capsys, number, goes_on):
    (tmp_path / "model/stay").touch()
    process = subprocess.Popen([sys.executable, "-m", *words()], stderr=subprocess.DEVNULL)
    path = tmp_path / "model/pid"
    _wait(lambda: path.exists() and path.read_text().strip())
    process.send_signal(number)
    assert process.wait(hanging.SECONDS) == (-number if goes_on else 128 + number)
    training = int(path.read_text())
    if goes_on:
        assert run_command(words()) == 2
        assert "model: is being trained by another process; wait for its end" in capsys.readouterr().err
        os.kill(training, signal.SIGTERM)  # it was there
    _wait(lambda: not Path(f"/proc/{training}").exists())


def _wait(is_so) -> None:
    deadline = time.monotonic() + hanging.SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
