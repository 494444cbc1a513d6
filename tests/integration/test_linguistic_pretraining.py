"""Pre-training from the command line: learns, validates every task, goes on where it stopped."""

import pytest

from tests.fairseq_ext.monolingual import write_monolingual
from tests.integration.commands import USER_DIR
from tests.integration.training import LOGS, MODEL, OPTIMIZATION, OURS, STOCK, final_state, logged

JASS_ENSS = "ja=bmass+brss.f,en=mass+hfss"


def pretraining(data, save_dir, *options) -> list:
    """Arguments of fairseq-train; later options replace earlier ones."""
    return [
        data, *USER_DIR, "--task", "linguistic_pretraining", "--pretraining-tasks", JASS_ENSS, *MODEL,
        *OPTIMIZATION, *OURS, *LOGS, "--save-dir", save_dir, "--max-epoch", 2, *options,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def monolingual(tmp_path_factory):
    return write_monolingual(tmp_path_factory.mktemp("data"), lines=200)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--inverted-mask", "--unify-task-tokens", "--autocast-bf16", "--num-workers", 1),
        ("--pretraining-tasks", "en=pmass.s+pmass.p:2,ja=infilling+brss.r", *STOCK),
        (
            "--pretraining-tasks",
            "en=multimass,ja=deshuffling",
            "--sampling-temperature",
            5,
            "--langs",
            "ja,en,zh",
        ),
    ],
    ids=["jass-enss", "inverted", "pmass", "baselines"],
)
def test_every_choice_trains_and_validates(monolingual, forked, tmp_path, options):
    result = forked("train", *pretraining(monolingual, tmp_path / "model", *options))
    assert result.status == 0, result.text[-3000:]
    first, last = logged(result, "valid")
    mixtures = (
        options[options.index("--pretraining-tasks") + 1] if "--pretraining-tasks" in options else JASS_ENSS
    )
    for entry in mixtures.split(","):
        language, _, tasks = entry.partition("=")
        for task in tasks.split("+"):
            name = f"{language}-{task.partition(':')[0]}"
            assert 0 <= float(last[f"valid_accuracy_{name}"]) <= 100
            assert float(last[f"valid_ppl_{name}"]) > 1
    assert float(last["valid_loss"]) < float(first["valid_loss"])
    state = final_state(tmp_path / "model")["task_state"]
    assert state["languages"] == (["ja", "en", "zh"] if "--langs" in options else ["en", "ja"])


@pytest.mark.slow
def test_a_resumed_run_sees_the_same_examples(monolingual, forked, tmp_path):
    whole = forked("train", *pretraining(monolingual, tmp_path / "whole", "--max-epoch", 3))
    assert whole.status == 0, whole.text[-3000:]
    for epochs in (1, 3):
        result = forked("train", *pretraining(monolingual, tmp_path / "parts", "--max-epoch", epochs))
        assert result.status == 0, result.text[-3000:]
    losses = [float(entry["loss"]) for entry in logged(whole, "train_inner")]
    resumed = [float(entry["loss"]) for entry in logged(result, "train_inner")]
    assert resumed == losses[-len(resumed) :]
    assert len(resumed) == 2 * len(losses) // 3
