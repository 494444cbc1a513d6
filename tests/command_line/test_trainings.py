"""Folders of trainings: of two processes, the second one is told to wait, and not to begin anew."""

import json
import os

import pytest

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.trainings import STATE, TrainingFolder


def training(folder, seed: int = 1) -> TrainingFolder:
    stamp = Stamp(folder / ".x.done", "training", {"seed": seed})
    return TrainingFolder(stamp, False, "training.json", "model")


def error_elsewhere(folder, seed: int = 1) -> str:
    """What another process is told that would train here; nothing where it may."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            training(folder, seed).goes_on()
        except InputError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with open(read, encoding="utf-8") as stream:
        return stream.read()


@pytest.mark.parametrize("seed", [1, 2])
def test_while_another_process_trains_nobody_is_told_to_begin_anew(tmp_path, seed):
    """Not even of another training, nor where the state has gone already and the record is not there yet."""
    begun = training(tmp_path)
    begun.begin()
    (tmp_path / "model").mkdir()
    (tmp_path / STATE / "work.json").unlink()
    before = sorted(tmp_path.iterdir())
    assert error_elsewhere(tmp_path, seed).endswith("running here in another process; wait for its end")
    assert sorted(tmp_path.iterdir()) == before


def test_a_training_that_another_process_has_just_finished(tmp_path):
    """It was not complete when the command asked, and is when it would begin."""
    late = training(tmp_path)
    assert not late.is_complete()
    begun = training(tmp_path)
    begun.begin()
    (tmp_path / "model").mkdir()
    (tmp_path / "model/weights").write_text("1")
    begun.finish({"updates": 1})
    with pytest.raises(InputError, match="another process has just finished this training; give the command"):
        late.begin()
    assert json.loads((tmp_path / "training.json").read_text()) == {"updates": 1}
    assert training(tmp_path).is_complete()


def test_a_model_without_a_record_is_never_removed_unasked(tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(InputError, match=r"has model, but neither the record .* or --force to train anew"):
        training(tmp_path).begin()
