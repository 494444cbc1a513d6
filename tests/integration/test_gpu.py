"""Trainings on a GPU, in half precision, and resumed: what no other test sees."""

import math

import pytest
import torch

from tests.integration import test_sentence_embedding
from tests.integration.training import final_state, logged, training

pytestmark = [pytest.mark.gpu, pytest.mark.slow]
KINDS = {"translation": training, "sentence_embedding": test_sentence_embedding.training}


@pytest.mark.parametrize("precision", ["--fp16", "--autocast-bf16"])
@pytest.mark.parametrize("kind", KINDS)
def test_two_updates_and_two_more_are_four(data, forked, tmp_path, kind, precision):
    """As near as sums on a GPU are, whose order is not always the same."""

    def train(name: str, updates: int):
        options = ("--disable-validation", "--max-tokens", 400, "--max-update", updates, precision)
        words = KINDS[kind](data, tmp_path / name, *options)
        result = forked("train", *(word for word in words if word != "--cpu"))
        assert result.status == 0, result.text[-3000:]
        for entry in logged(result, "train_inner"):
            assert math.isfinite(float(entry["loss"]))
            assert ("loss_scale" in entry) == (precision == "--fp16")
        return result, final_state(tmp_path / name)

    train("parts", 2)
    result, found = train("parts", 4)
    assert "Loaded checkpoint" in result.text
    _, expected = train("whole", 4)
    for state in (found, expected):
        assert state["optimizer_history"][-1]["num_updates"] == 4
    for part in ("model", "criterion"):  # the latter has nothing where it is translation alone
        own, others = (state[part] or {} for state in (found, expected))
        assert own.keys() == others.keys()
        for name, tensor in others.items():
            assert tensor.isfinite().all(), name
            torch.testing.assert_close(own[name], tensor, atol=2e-3, rtol=0, msg=name)
