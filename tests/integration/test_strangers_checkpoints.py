"""A stranger's checkpoint with code among its options, through every command that reads checkpoints.

Without the gate they run it: `tests/fairseq_ext/checkpoints/test_options_gate.py`.
"""

import pytest

from tests.fairseq_ext.attacks import write_attack
from tests.integration.training import PAIRS, STOCK_TASK, TASK, USER_DIR, training

STOCK = ("--task", "translation", "-s", "de", "-t", "en", "--cpu")
SIDES = ("-s", "de", "-t", "en", "--cpu")


def by_fairseq(data, checkpoint, output) -> dict[str, tuple]:
    """Commands of fairseq; `--task` of ours and stock ones."""
    trainings = ("--restore-file", "--finetune-from-model", "--pretrained-checkpoint")
    return {
        "generate": ("generate", data, *USER_DIR, *STOCK, "--path", checkpoint),
        "generate, ours": ("generate", data, *USER_DIR, *TASK, *SIDES, "--path", checkpoint),
        "interactive": ("interactive", data, *USER_DIR, *STOCK_TASK, *SIDES, "--path", checkpoint),
        "validate": ("validate", data, *USER_DIR, *STOCK, "--path", checkpoint, "--max-tokens", 1000),
        **{option: ("train", *training(data, output, option, checkpoint)) for option in trainings},
    }  # fmt: skip


def by_ours(data, checkpoint, output) -> dict[str, tuple]:
    arguments = ("--checkpoint", checkpoint, "--data", data, "--output", output, "--cpu")
    return {
        "translate": ("eval", "translate", *arguments),
        "probe states": ("eval", "probe", "states", *arguments),
        "probe interlingua": ("eval", "probe", "interlingua", *arguments),
        "describe": ("fairseq_ext", "describe", checkpoint),
    }


COMMANDS = list(by_fairseq("", "", "")) + list(by_ours("", "", ""))


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_runs(data, refusal, our_refusal, tmp_path, name):
    sentinel = tmp_path / "owned"
    path = write_attack(tmp_path / "evil.pt", data, sentinel, "adaptive_softmax_cutoff")
    ours = by_ours(data, path, tmp_path / "out")
    refuse = our_refusal if name in ours else refusal
    message = refuse(*(ours | by_fairseq(data, path, tmp_path / "out"))[name])
    assert message.startswith(f"{path}: option model.adaptive_softmax_cutoff is ")
    assert not sentinel.exists()


def test_nothing_runs_when_a_training_goes_on(data, refusal, tmp_path):
    """checkpoint_last.pt of a folder that somebody else has written to."""
    sentinel, folder = tmp_path / "owned", tmp_path / "model"
    folder.mkdir()
    path = write_attack(folder / "checkpoint_last.pt", data, sentinel, "left_pad_source", "args")
    message = refusal("train", *training(data, folder, *PAIRS))
    assert message.startswith(f"{path}: option args.left_pad_source is ")
    assert not sentinel.exists()


def test_the_environment_stays_where_it_is(data, trained, our_refusal, tmp_path):
    """`${oc.env:…}` was resolved by OmegaConf and written to translate.json."""
    import torch

    state = torch.load(trained / "checkpoint_best.pt", weights_only=True)
    state["cfg"]["model"].drop_residual_layers = "${oc.env:HOME}"
    torch.save(state, tmp_path / "x.pt")
    arguments = ("--checkpoint", tmp_path / "x.pt", "--data", data, "--output", tmp_path / "out", "--cpu")
    message = our_refusal("eval", "translate", *arguments)
    assert "option model.drop_residual_layers is '${oc.env:HOME}'; expected no ${" in message
