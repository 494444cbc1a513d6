"""A training that is killed while it saves leaves whole checkpoints, and goes on from the newest of them."""

import logging
from types import SimpleNamespace

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.dataclass.configs import CheckpointConfig

from command_line.errors import InputError
from fairseq_ext.checkpoints.progress import BEST, LAST
from fairseq_ext.checkpoints.whole import is_whole, whole_or_newest
from tests.kill_points import sweep


def state_after(updates: int, optimizer: dict | None = None) -> dict:
    """Of a training, without options: those are read by nobody here."""
    return {
        "args": None, "cfg": None, "model": {"weights": torch.full((5000,), float(updates))},
        "optimizer_history": [{"num_updates": updates}], "last_optimizer_state": optimizer,
        "extra_state": {},
    }  # fmt: skip


def save(path, updates: int, optimizer: dict | None = None):
    torch.save(state_after(updates, {} if optimizer is None else optimizer), path)
    return path


class Trainer:
    """What fairseq asks of its trainer when it saves."""

    data_parallel_rank = 0
    should_save_checkpoint_on_current_rank = True
    checkpoint_suffix = ""
    task = None

    def __init__(self, updates: int):
        self.updates = updates

    def consolidate_optimizer(self) -> None:
        pass

    def get_num_updates(self) -> int:
        return self.updates

    def save_checkpoint(self, filename: str, extra_state: dict) -> None:
        checkpoint_utils.torch_persistent_save(state_after(self.updates, {}), filename)


def save_by_fairseq(folder, updates: int) -> int:
    """An epoch's end with a better validation than before: three names, the first of which is written."""
    epoch = SimpleNamespace(epoch=updates, end_of_epoch=lambda: True, state_dict=dict)
    config = CheckpointConfig(save_dir=str(folder), keep_last_epochs=1)
    checkpoint_utils.save_checkpoint(config, Trainer(updates), epoch, 1.0 / updates)
    return 0


def test_a_kill_at_any_write_of_a_save_leaves_whole_checkpoints(tmp_path):
    folder = tmp_path / "training"

    def reset() -> None:
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        save_by_fairseq(folder, 1)

    def read() -> dict:
        for path in folder.glob("*.pt"):
            assert is_whole(path), path
        if torch.load(folder / LAST)["optimizer_history"][0]["num_updates"] < 2:
            raise InputError("the save has not come to its end")
        return {}

    def comparable(contents: dict) -> dict:
        """Without what a save has not removed yet, or has left under its temporary name."""
        kept = {name: content for name, content in contents.items() if "checkpoint1.pt" not in name}
        return {name: content for name, content in kept.items() if not name.endswith(".tmp")}

    def save_twice() -> int:
        return save_by_fairseq(folder, 2)

    sweep(save_twice, [folder], reset, read, InputError, most=50, comparable=comparable)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Checkpoints of 10, 20 and 30 updates, of which the last one is cut off, and an average of more."""
    monkeypatch.setattr("fairseq_ext.checkpoints.reading.pass_gate", lambda state, path: state)
    save(tmp_path / BEST, 20)
    save(tmp_path / "checkpoint_1_10.pt", 10)
    torch.save(state_after(40), tmp_path / "checkpoint_mean.pt")
    last = save(tmp_path / LAST, 30)
    last.write_bytes(last.read_bytes()[:9000])
    return tmp_path


def test_a_whole_last_one_is_taken(folder):
    save(folder / LAST, 5)
    assert whole_or_newest(folder / LAST) == folder / LAST


def test_a_damaged_last_one_is_passed_over_for_that_of_the_most_updates(folder, caplog):
    """Not for the youngest file: a copied folder has lost its times. Nor for an average."""
    with caplog.at_level(logging.WARNING):
        assert whole_or_newest(folder / LAST) == folder / BEST
    assert caplog.messages == [
        f"{folder / LAST}: is damaged; the training goes on from {folder / BEST}, of 20 updates"
    ]
    (folder / BEST).write_bytes(b"PK")
    assert whole_or_newest(folder / LAST) == folder / "checkpoint_1_10.pt"


def test_no_other_one_is_one_line(folder):
    for name in (BEST, "checkpoint_1_10.pt"):
        (folder / name).unlink()
    with pytest.raises(InputError, match=rf"^{folder / LAST}: is damaged, and no other checkpoint .* remove"):
        whole_or_newest(folder / LAST)


def test_torch_writes_what_counts_as_whole(tmp_path):
    path = save(tmp_path / "model.pt", 1)
    assert is_whole(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert not is_whole(path)
