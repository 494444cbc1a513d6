"""Training: every choice of every axis runs, killed runs continue exactly, two processes equal one."""

import pytest
import torch

from tests.integration.commands import FAIRSEQ, Forked, train_in_processes
from tests.integration.toy_corpus import SUPERVISED
from tests.integration.training import final_state, logged, training

TINY = ("--max-update", 2, "--max-tokens", 400, "--disable-validation")


def same_tensors(first: dict, second: dict) -> bool:
    assert first.keys() == second.keys()
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    "options",
    [
        ("--language-tags", "s-enc-t-dec", "--norm-placement", "post", "--autocast-bf16"),
        ("--language-tags", "t-enc", "--norm-placement", "pre", "--no-encoder-final-norm"),
        ("--language-tags", "t-dec", "--norm-placement", "swap-pre", "--no-norm-affine"),
        ("--language-tags", "t-dec", "--norm-placement", "sandwich"),
        ("--language-tags", "s-enc-t-enc", "--norm-placement", "pre", "--drop-residual-layers", "1"),
        ("--language-tags", "t-enc", "--norm-placement", "post", "--sampling-temperature", 5),
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_two_updates_with_every_choice(data, forked, tmp_path, options):
    result = forked("train", *training(data, tmp_path / "model", *TINY, "--dropout", 0.1, *options))
    assert result.status == 0, result.text[-3000:]
    losses = [float(entry["loss"]) for entry in logged(result, "train_inner")]
    assert len(losses) == 2
    assert all(0 < loss < 20 for loss in losses)
    state = final_state(tmp_path / "model")
    assert state["task_state"]["language_tags"] == options[1]
    assert state["task_state"]["lang_pairs"] == SUPERVISED
    assert all(torch.isfinite(tensor).all() for tensor in state["model"].values())
    weights = {tensor.dtype for name, tensor in state["model"].items() if name.endswith("weight")}
    assert weights == {torch.float32}


def test_the_best_checkpoint_is_chosen_without_zero_shot_directions(data, forked, tmp_path):
    """Zero-shot loss rises while the supervised loss falls: the last checkpoint is the best."""
    result = forked(
        "train",
        *training(
            data, tmp_path / "model", "--zero-shot-lang-pairs", "de-fr,fr-de,de-cs,cs-de", "--eval-bleu",
            "--eval-bleu-args", '{"beam": 1, "max_len_b": 10}', "--max-epoch", 3,
        ),
    )  # fmt: skip
    assert result.status == 0, result.text[-3000:]
    found = logged(result, "valid")
    assert len(found) == 3
    for entry in found:
        names = [f"valid_bleu_{direction}" for direction in (*SUPERVISED, "de-fr", "cs-de")]
        assert all(0 <= float(entry[name]) <= 100 for name in names)
        supervised = [float(entry[f"valid_loss_{direction}"]) for direction in SUPERVISED]
        assert float(entry["valid_loss"]) == pytest.approx(sum(supervised) / 6, rel=0.05)
        assert min(supervised) <= float(entry["valid_loss"]) <= max(supervised)
    best = min(float(entry["valid_loss"]) for entry in found)
    assert final_state(tmp_path / "model", "checkpoint_best.pt")["extra_state"]["best"] == pytest.approx(best)


# --- a killed run


def killed_run(log, arguments, saves: int) -> None:
    """Run fairseq-train until it has saved so often, and is killed."""
    saving = "fairseq.checkpoint_utils:save_checkpoint"
    result = Forked(log, FAIRSEQ["train"], *arguments, dies_after=(saving, saves)).wait()
    assert result.status == -9, result.text[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--max-epoch", 2, "--num-workers", 1),
        ("--max-epoch", 3, "--num-workers", 0, "--sampling-temperature", 5),
    ],
    ids=["all data", "temperature"],
)
def test_resumed_after_a_kill_it_ends_with_the_same_parameters(data, forked, tmp_path, options):
    """About 29 updates per epoch; the checkpoint of update 40 lies inside the second."""
    common = ("--dropout", 0.1, "--disable-validation", "--save-interval-updates", 20, *options)
    whole = forked("train", *training(data, tmp_path / "whole", *common))
    assert whole.status == 0, whole.text[-3000:]
    arguments = training(data, tmp_path / "killed", *common)
    killed_run(tmp_path / "run", arguments, saves=3)  # update 20, the first epoch, update 40
    assert (tmp_path / "killed/checkpoint_2_40.pt").exists()
    iterator = final_state(tmp_path / "killed")["extra_state"]["train_iterator"]
    assert iterator["epoch"] == 2
    assert iterator["iterations_in_epoch"] > 0
    resumed = forked("train", *arguments)
    assert resumed.status == 0, resumed.text[-3000:]
    assert "Loaded checkpoint" in resumed.text
    expected, found = final_state(tmp_path / "whole"), final_state(tmp_path / "killed")
    updates = found["optimizer_history"][-1]["num_updates"]
    assert updates == expected["optimizer_history"][-1]["num_updates"] > 50
    assert same_tensors(found["model"], expected["model"])
    for number, state in expected["last_optimizer_state"]["state"].items():
        assert same_tensors(found["last_optimizer_state"]["state"][number], state)
    losses = {entry["num_updates"]: entry["loss"] for entry in logged(whole, "train_inner")}
    for entry in logged(resumed, "train_inner")[1:]:  # the first is an average that began before the kill
        assert entry["loss"] == losses[entry["num_updates"]]


@pytest.mark.slow
@pytest.mark.parametrize("end", [("--max-update", 20), ("--max-epoch", 1)], ids=["updates", "epochs"])
def test_killed_after_its_last_save_it_makes_no_further_update(data, forked, tmp_path, end):
    """About 29 updates per epoch: the one ends inside it, the other with it."""
    model = tmp_path / "model"
    arguments = training(data, model, "--disable-validation", "--save-interval-updates", 20, *end)
    killed_run(tmp_path / "run", arguments, saves=1 if end[0] == "--max-update" else 2)
    before = final_state(model)
    resumed = forked("train", *arguments)
    assert resumed.status == 0, resumed.text[-3000:]
    assert not logged(resumed, "train_inner")
    after = final_state(model)
    updates = [state["optimizer_history"][-1]["num_updates"] for state in (before, after)]
    assert updates[0] == updates[1] >= 20
    assert same_tensors(after["model"], before["model"])


# --- two processes


@pytest.mark.slow
def test_two_processes_with_gloo_give_the_single_process_loss(data, forked, tmp_path):
    """Two processes with one batch each see, per update, the two batches of one process that accumulates.

    Seven directions of one batch are validated: the process that has only three makes one up.
    """
    common = (
        "--max-update", 10, "--max-tokens", 500, "--dropout", 0, "--max-epoch", 1, "--eval-bleu",
        "--eval-bleu-args", '{"beam": 1, "max_len_b": 10}', "--zero-shot-lang-pairs", "de-fr",
        "--max-tokens-valid", 2000, "--required-batch-size-multiple", 1,
    )  # fmt: skip
    single = forked("train", *training(data, tmp_path / "single", *common, "--update-freq", 2))
    assert single.status == 0, single.text[-3000:]
    double = train_in_processes(tmp_path / "logs", 2, training(data, tmp_path / "double", *common))
    for kind, names, count in (
        ("train_inner", ["loss", "nll_loss", "gnorm", "bsz", "wpb"], 10),
        (
            "valid",
            ["valid_loss", "valid_loss_de-en", "valid_loss_de-fr", "valid_bleu", "valid_bleu_de-fr"],
            1,
        ),
    ):
        expected, found = logged(single, kind), logged(double, kind)
        assert len(expected) == len(found) == count
        for reference, entry in zip(expected, found, strict=True):
            for name in names:
                assert float(entry[name]) == pytest.approx(float(reference[name]), abs=2e-3), name
    expected, found = (final_state(tmp_path / name)["model"] for name in ("single", "double"))
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, atol=1e-4, rtol=1e-3, msg=name)
