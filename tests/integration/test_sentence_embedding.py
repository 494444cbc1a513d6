"""Sentence encoders trained by fairseq-train: they learn to retrieve, in one process and in two."""

import copy
import shutil

import pytest
import torch

from tests.integration.commands import USER_DIR, run_forked, train_in_processes
from tests.integration.training import LOGS, final_state, logged
from tests.made_once import made_once

EMS = "token_reconstruction,sentence_contrast"
EMS_SIZES = ("--token-reconstruction-language-dim", 8, "--sentence-contrast-dim", 16)
TASK = ("--task", "sentence_embedding", "--pairs", "en-de,cs-en,en-fr")
SIZE = (
    "--arch", "ems_small", "--encoder-layers", 1, "--encoder-embed-dim", 32, "--encoder-ffn-embed-dim", 64,
    "--encoder-attention-heads", 2, "--dropout", 0, "--attention-dropout", 0,
)  # fmt: skip
CHANCE = 100 / 30  # percent of 30 validation lines


def training(data, save_dir, *options) -> list:
    """Of EMS, if the options name no other losses."""
    losses = () if "--losses" in options else ("--losses", EMS, *EMS_SIZES)
    return [
        data, *USER_DIR, *TASK, *SIZE, "--criterion", "weighted_losses", *losses, "--optimizer", "fused_adam",
        "--lr", 0.003, "--lr-scheduler", "inverse_sqrt", "--warmup-updates", 20, "--max-sentences", 32,
        *LOGS, "--save-dir", save_dir, *options,
    ]  # fmt: skip


SELECTION = (
    "--eval-retrieval", "--best-checkpoint-metric", "retrieval", "--maximize-best-checkpoint-metric",
)  # fmt: skip


POST_PRETRAINING = (
    "--losses", "momentum_contrast,translation_language_modelling", "--momentum-contrast-queue", 100,
    "--momentum-contrast-dim", 16, "--pooling", "cls", "--random-sides",
)  # fmt: skip
FROM_NOTHING = (  # without an encoder that has been pre-trained, in few updates
    "--momentum-contrast-dim", 0, "--pooling", "mean", "--momentum-contrast-momentum", 0.9,
    "--translation-language-modelling-weight", 0.1,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--random-sides", "--sampling-temperature", 2),
        ("--losses", f"translation,{EMS}", *EMS_SIZES, "--decoder-layers", 1, "--sentence-width", 16),
        ("--pooling", "pooler", "--norm-placement", "pre", "--autocast-bf16"),
        ("--pooling", "max", "--pooling-layer", "mix", "--pooling-without-eos"),
        (*POST_PRETRAINING, *FROM_NOTHING, "--max-pair-tokens", 60),
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_it_learns_to_retrieve(data, forked, tmp_path, options):
    steps = ("--max-update", 120, "--validate-interval-updates", 60)
    result = forked("train", *training(data, tmp_path / "model", *SELECTION, *steps, *options))
    assert result.status == 0, result.text[-3000:]
    validations = logged(result, "valid")
    found = [float(entry["valid_retrieval"]) for entry in validations]
    assert max(found) > 8 * CHANCE
    assert found[-1] == pytest.approx(
        sum(float(validations[-1][f"valid_retrieval_{pair}"]) for pair in ("en-de", "cs-en", "en-fr")) / 3,
        abs=0.02,
    )
    assert float(validations[-1]["valid_best_retrieval"]) == max(found)
    best = final_state(tmp_path / "model", "checkpoint_best.pt")
    assert best["extra_state"]["val_loss"] == max(found)
    assert "have collapsed" not in result.text

    again = forked(
        "validate", data, *USER_DIR, "--task", "sentence_embedding", "--path",
        tmp_path / "model/checkpoint_best.pt", "--cpu", "--log-format", "json", "--num-workers", 0,
        "--max-sentences", 7, *(("--autocast-bf16",) if "--autocast-bf16" in options else ()),
    )  # fmt: skip
    assert again.status == 0, again.text[-3000:]
    (entry,) = logged(again, "valid")
    assert float(entry["valid_retrieval"]) == max(found)


@pytest.mark.slow
@pytest.mark.parametrize("similarity", ["cosine", "bert-score"])
def test_two_processes_equal_one(data, forked, tmp_path, similarity):
    """Without a decoder, and with retrieval among the sentences of both processes. Of nine batches that are
    validated, the second process has four, and another time one that the first has, too.
    """
    common = (
        *SELECTION, "--eval-retrieval-similarity", similarity, "--max-update", 6, "--max-sentences", 8,
        "--required-batch-size-multiple", 1, "--max-sentences-valid", 13,
    )  # fmt: skip
    single = forked("train", *training(data, tmp_path / "single", *common, "--update-freq", 2))
    assert single.status == 0, single.text[-3000:]
    double = train_in_processes(tmp_path / "logs", 2, training(data, tmp_path / "double", *common))
    expected, found = logged(single, "train_inner"), logged(double, "train_inner")
    assert len(expected) == len(found) == 6
    for reference, entry in zip(expected, found, strict=True):
        for name in ("loss", "gnorm", *EMS.split(",")):
            assert float(entry[name]) == pytest.approx(float(reference[name]), abs=5e-3), name
    (reference,), (entry,) = logged(single, "valid"), logged(double, "valid")
    for name, value in reference.items():
        if "retrieval" in name or name in ("valid_mean_cosine", "valid_effective_rank"):
            assert float(entry[name]) == pytest.approx(float(value), abs=0.02), name
    assert "valid_retrieval_cs-en" in entry
    expected, found = (final_state(tmp_path / name) for name in ("single", "double"))
    for part in ("model", "criterion"):
        for name, tensor in expected[part].items():
            torch.testing.assert_close(found[part][name], tensor, atol=1e-4, rtol=1e-3, msg=name)


@pytest.mark.slow
def test_it_goes_on_from_its_checkpoint_to_the_last_bit(data, forked, tmp_path):
    options = ("--random-sides", "--disable-validation", "--save-interval-updates", 5, "--max-update")
    whole = forked("train", *training(data, tmp_path / "whole", *options, 10))
    assert whole.status == 0, whole.text[-3000:]
    for updates in (5, 10):
        result = forked("train", *training(data, tmp_path / "parts", *options, updates))
        assert result.status == 0, result.text[-3000:]
    expected, found = (final_state(tmp_path / name) for name in ("whole", "parts"))
    for part in ("model", "criterion"):
        assert all(torch.equal(found[part][name], tensor) for name, tensor in expected[part].items())


UNPAIRED = (
    "--pairs", "en-de", "--unpaired", "--losses", "adversarial_alignment,cycle_consistency",
    "--pooling", "sum", "--pooling-layer", "mix", "--sentence-width", 16, "--disable-validation",
    "--adversarial-alignment-hidden", 8, "--adversarial-alignment-bound", "spectral-norm",
    "--max-sentences", 8, "--required-batch-size-multiple", 1, "--save-interval-updates", 4, "--max-update",
)  # fmt: skip


@pytest.fixture(scope="module")
def unpaired(data, tmp_path_factory) -> dict:
    """The end of eight updates, of two batches each, in one process without a stop."""

    def train(folder) -> None:
        result = run_forked(folder, "train", *training(data, folder, *UNPAIRED, 8, "--update-freq", 2))
        assert result.status == 0, result.text[-3000:]

    return final_state(made_once(tmp_path_factory, "unpaired", train))


def discriminator_of(state: dict) -> tuple[dict, dict]:
    """Tensors of model and losses, and those of the discriminator's Adam."""
    extra = state["criterion"].pop("losses.adversarial_alignment.discriminator._extra_state")
    moments = {
        f"{number} {name}": tensor
        for number, found in extra["state"].items()
        for name, tensor in found.items()
    }
    assert len(moments) == 3 * 4  # step and two moments of two layers
    assert {float(value) for name, value in moments.items() if name.endswith("step")} == {16}  # kappa is 2
    return state["model"] | state["criterion"], moments


def moments_of(state: dict) -> dict:
    """Tensors of fairseq's optimizer, of model and losses."""
    found = state["last_optimizer_state"]["state"]
    moments = {
        f"{number} {name}": tensor
        for number, each in found.items()
        for name, tensor in each.items()
        if torch.is_tensor(tensor)
    }
    assert moments
    return moments


@pytest.mark.slow
def test_a_discriminator_learns_the_same_in_two_processes(data, unpaired, tmp_path):
    train_in_processes(tmp_path / "logs", 2, training(data, tmp_path / "double", *UNPAIRED, 8))
    found = discriminator_of(final_state(tmp_path / "double"))
    for one, other in zip(found, discriminator_of(copy.deepcopy(unpaired)), strict=True):
        for name, tensor in other.items():
            if "k_proj.bias" in name:  # has no influence: its gradient is rounding, which Adam magnifies
                continue
            torch.testing.assert_close(one[name], tensor, atol=1e-4, rtol=1e-3, msg=name)


@pytest.mark.slow
def test_a_discriminator_goes_on_from_its_checkpoint_to_the_last_bit(data, forked, unpaired, tmp_path):
    for updates in (4, 8):
        result = forked("train", *training(data, tmp_path / "parts", *UNPAIRED, updates, "--update-freq", 2))
        assert result.status == 0, result.text[-3000:]
    found = discriminator_of(final_state(tmp_path / "parts"))
    for one, other in zip(found, discriminator_of(copy.deepcopy(unpaired)), strict=True):
        assert all(torch.equal(one[name], tensor) for name, tensor in other.items())


def queue_of(state: dict) -> dict:
    """Tensors of model and losses, of the queue and of the slow encoder."""
    extra = state["criterion"].pop("losses.momentum_contrast._extra_state")
    assert extra["place"] == 8 * 16 % 100
    return {**state["model"], **state["criterion"], **extra["weights"], "queue": extra["queue"]}


@pytest.mark.slow
def test_a_queue_is_the_same_in_two_processes(data, forked, tmp_path):
    options = (
        "--losses", "momentum_contrast", *POST_PRETRAINING[2:], "--disable-validation", "--max-sentences", 8,
        "--required-batch-size-multiple", 1, "--max-update", 8,
    )  # fmt: skip
    single = forked("train", *training(data, tmp_path / "single", *options, "--update-freq", 2))
    assert single.status == 0, single.text[-3000:]
    train_in_processes(tmp_path / "logs", 2, training(data, tmp_path / "double", *options))
    expected, found = (queue_of(final_state(tmp_path / name)) for name in ("single", "double"))
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        if "k_proj.bias" not in name:  # has no influence: its gradient is rounding, which Adam magnifies
            torch.testing.assert_close(found[name], tensor, atol=1e-4, rtol=1e-3, msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "losses",
    [(), ("--losses", "momentum_contrast", "--momentum-contrast-dim", 0)],
    ids=["both", "without parameters"],
)
def test_post_pretraining_goes_on_from_its_checkpoint_to_the_last_bit(data, forked, tmp_path, losses):
    options = (*POST_PRETRAINING, *losses, "--max-sentences", 16, "--disable-validation", "--dropout", 0.1)
    for folder, steps in (("whole", (8,)), ("parts", (3, 8))):
        for updates in steps:
            words = (*options, "--save-interval-updates", 3, "--max-update", updates)
            result = forked("train", *training(data, tmp_path / folder, *words))
            assert result.status == 0, result.text[-3000:]
    expected, found = (queue_of(final_state(tmp_path / name)) for name in ("whole", "parts"))
    assert [name for name, tensor in expected.items() if not torch.equal(found[name], tensor)] == []


CHANCE_EVERYWHERE = (
    "--adversarial-alignment-bound", "gradient-penalty", "--adversarial-alignment-dropout", 0.2,
    "--cycle-consistency-dropout", 0.2, "--cycle-consistency-random-negatives", 1, "--dropout", 0.2,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), CHANCE_EVERYWHERE], ids=["spectral norm", "chance everywhere"])
def test_two_processes_go_on_from_their_checkpoint_to_the_last_bit(data, tmp_path, options):
    """From what the fourth update has left, as if they had been killed after it."""
    states = []
    for folder in (tmp_path / "whole", tmp_path / "rest"):
        if states:
            folder.mkdir()
            shutil.copy(tmp_path / "whole/checkpoint_1_4.pt", folder / "checkpoint_last.pt")
        arguments = training(data, folder, *UNPAIRED, 8, *options)
        result = train_in_processes(tmp_path / f"{folder.name}-logs", 2, arguments)
        found = [int(entry["num_updates"]) for entry in logged(result, "train_inner")]
        assert found == list(range(5 if states else 1, 9))
        states.append(final_state(folder))
    expected, found = ((*discriminator_of(state), moments_of(state)) for state in states)
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        assert [name for name, tensor in other.items() if not torch.equal(one[name], tensor)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--losses", "global_ranking", "--global-ranking-temperature", 1),
        (
            "--losses",
            "triplet_ranking",
            "--triplet-ranking-margin",
            0.2,
            "--triplet-ranking-random-negatives",
            1,
        ),
    ],
    ids=lambda options: str(options[1]),
)
def test_ranking_losses_learn_to_retrieve(data, forked, tmp_path, options):
    steps = ("--max-update", 100, "--validate-interval-updates", 100, "--pair-budget", 900, "--min-tokens", 4)
    result = forked("train", *training(data, tmp_path / "model", *SELECTION, *steps, *options))
    assert result.status == 0, result.text[-3000:]
    assert float(logged(result, "valid")[-1]["valid_retrieval"]) > 8 * CHANCE


def test_a_pair_without_data_is_refused(data, refusal, tmp_path):
    arguments = training(data, tmp_path / "model", "--pairs", "en-de,de-fr", "--max-update", 1)
    assert "train.de-fr.de.idx: no such file" in refusal("train", *arguments)
