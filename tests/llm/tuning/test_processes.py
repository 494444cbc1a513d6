"""Two processes of torchrun are one with twice the batches of an update."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.integration.commands import run_script

pytestmark = pytest.mark.slow


def tune(processes: int, *words) -> None:
    torchrun = ("--standalone", "--nproc-per-node", processes)
    done = run_script("torch.distributed.run", *torchrun, "-m", "llm", "tune", *words)
    assert done.status == 0, done.text[-3000:]


def record_of(folder: Path) -> dict:
    return json.loads((folder / "tuning.json").read_text())


def test_two_processes_are_one_with_twice_the_batches(bloom, instructions, tmp_path):
    """Answers of one process have more tokens than those of the other."""
    given = ("--model", bloom, "--instructions", instructions, "--curriculum", "mt+align,mt", "--cpu")
    rest = ("--lora-dropout", 0, "--batch-sentences", 2, "--epochs", 1, "--loader-workers", 0)
    rates = ("--learning-rate", "1e-2,1e-8", "--valid-instructions", 7)
    tune(2, *given, *rest, *rates, "--output", tmp_path / "two")
    tune(1, *given, *rest, *rates, "--batches-per-update", 2, "--output", tmp_path / "one")
    single, two = record_of(tmp_path / "one"), record_of(tmp_path / "two")
    for first, second in zip(single["stages"], two["stages"], strict=True):
        assert first["instructions_per_update"] == second["instructions_per_update"] == 4
        assert first["updates"] == second["updates"]
        assert first["loss"] == pytest.approx(second["loss"], rel=1e-4)
        assert first["learning_rate"] == second["learning_rate"]
        for name in first["epochs"][0]["objectives"]:
            accuracies = [stage["epochs"][0]["objectives"][name]["accuracy"] for stage in (first, second)]
            assert accuracies[0] == pytest.approx(accuracies[1])
    for stage in ("stage-1", "stage-2"):
        adapters = [
            load_file(tmp_path / name / stage / "adapter_model.safetensors") for name in ("one", "two")
        ]
        torch.testing.assert_close(*adapters, rtol=1e-2, atol=1e-4)
