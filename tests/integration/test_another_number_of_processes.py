"""Training on one, two and three processes with gloo, and going on with another number of them."""

import json

import pytest
import torch

from tests import hanging
from tests.integration.commands import train_in_processes
from tests.integration.training import final_state, logged, training
from tests.recipes.commands import recipe

pytestmark = pytest.mark.slow

BATCHES = 4
COMMON = (
    "--batches-per-update", BATCHES, "--max-tokens", 400, "--dropout", 0, "--required-batch-size-multiple", 1,
    "--disable-validation",
)  # fmt: skip


def train(data, folder, processes: int, updates: int):
    """fairseq-train in so many processes, up to an update that may lie inside an epoch; rank 0's result."""
    options = (*COMMON, "--max-update", updates, "--update-freq", -(-BATCHES // processes))
    arguments = training(data, folder, *options)
    return train_in_processes(folder.with_name(f"{folder.name}-{updates}-logs"), processes, arguments)


def losses(result) -> dict:
    """Per update: the loss per token, the tokens of the batch and the norm of its gradient."""
    return {
        entry["num_updates"]: [float(entry[name]) for name in ("loss", "wpb", "bsz", "gnorm")]
        for entry in logged(result, "train_inner")
    }


@pytest.fixture(scope="module")
def alone(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone") / "model"
    return losses(train(data, folder, 1, 32)), final_state(folder)


@pytest.mark.parametrize("teams", [(1, 2), (3, 1)], ids=["from one to two", "from three to one"])
def test_training_goes_on_with_another_number_of_processes(data, alone, tmp_path, teams):
    """The checkpoint lies inside the second epoch; 4 batches on 3 processes leave two places empty."""
    expected, state = alone
    found = {}
    for processes, updates in zip(teams, (29, 32), strict=True):
        result = train(data, tmp_path / "model", processes, updates)
        found |= losses(result)
    assert "Loaded checkpoint" in result.text
    assert found.keys() == expected.keys()
    for update, values in expected.items():
        if update != 30:  # an average that began before the interruption
            assert found[update] == pytest.approx(values, rel=2e-3, abs=2e-3), update
    continued = final_state(tmp_path / "model")
    iterators = [each["extra_state"]["train_iterator"] for each in (continued, state)]
    for name in ("epoch", "batches_in_epoch"):
        assert iterators[0][name] == iterators[1][name] > 0
    for name, tensor in state["model"].items():
        if name.endswith("k_proj.bias"):  # softmax is blind to it: its gradient is rounding
            continue
        torch.testing.assert_close(continued["model"][name], tensor, atol=1e-4, rtol=1e-3, msg=name)


CONFIGURATION = """
CORPUS=text
LANGUAGES=(cs de en fr)
MERGES=60
ARCHITECTURE=mnmt_transformer_tiny
MODEL_OPTIONS=(--encoder-layers 1 --decoder-layers 1)
DROPOUT=0
LEARNING_RATE=1e-3
EPOCHS=1
BATCH_GPUS=3
MAX_TOKENS=1000
MAX_LENGTH=64
"""


def test_a_recipe_trains_in_processes_and_goes_on_in_one(data, tmp_path):
    """torchrun and gloo with `--launcher cpu --gpus 2`, from the command line to the checkpoint."""
    (tmp_path / "toy.sh").write_text(CONFIGURATION)
    (tmp_path / "out/data").mkdir(parents=True)
    (tmp_path / "out/data/toy").symlink_to(data)
    folder = tmp_path / "out/models/system1-seed1"

    def run(processes: int) -> str:
        options = ("--config", tmp_path / "toy.sh", "--systems", 1, "--seeds", 1, "--stages", "train")
        result = recipe(
            "zero_shot", *map(str, options), "--output", "out", "--gpus", str(processes),
            "--", "--max-update", "4", "--num-workers", "0", cwd=tmp_path, timeout=hanging.SECONDS,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr + (folder / "train.log").read_text()[-3000:]
        return (folder / "train.log").read_text()

    log = run(2)
    assert "training on 2 devices" in log
    assert "'update_freq': [2]" in log
    record = json.loads((folder / "training.json").read_text())
    (folder / "training.json").write_text(json.dumps(record | {"outputs": None}))  # as if it had been stopped
    log = run(1)
    assert "Loaded checkpoint out/models/system1-seed1/checkpoint_last.pt (epoch 1 @ 4 updates)" in log
    assert "'update_freq': [3]" in log
