"""Fine-tuning a pre-trained checkpoint from the command line; resumed, it goes on with its own weights."""

import math

import pytest

from tests.fairseq_ext.folders import write_dictionaries, write_pair
from tests.fairseq_ext.monolingual import write_monolingual
from tests.integration.commands import USER_DIR
from tests.integration.training import LOGS, MODEL, OPTIMIZATION, OURS, logged

pytestmark = pytest.mark.slow

COMMON = [*USER_DIR, *MODEL, *OPTIMIZATION, *OURS, *LOGS]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    eos = write_dictionaries(folder, ["en", "ja"]).eos()
    for split in ("train", "valid"):
        sentences = [[4 + i % 30, 4 + (i + 1) % 30, eos] for i in range(60)]
        write_pair(folder, split, "en-ja", sentences, [[*line[::-1][1:], eos] for line in sentences])
    return folder


def test_a_resumed_finetuning_goes_on_with_its_own_weights(pairs, forked, tmp_path):
    def train(data, save_dir, *options) -> list[float]:
        """The validation losses."""
        result = forked("train", data, *COMMON, "--save-dir", tmp_path / save_dir, *options)
        assert result.status == 0, result.text[-3000:]
        return [float(entry["valid_loss"]) for entry in logged(result, "valid")]

    text = write_monolingual(tmp_path / "text", lines=60)
    tasks = ["--task", "linguistic_pretraining", "--pretraining-tasks", "ja=bmass,en=mass"]
    train(text, "pretrained", *tasks, "--max-epoch", 1)
    checkpoint = tmp_path / "pretrained/checkpoint_last.pt"
    tune = ["--task", "multilingual_nmt", "--lang-pairs", "ja-en", "--pretrained-checkpoint", checkpoint]

    first, second = train(pairs, "whole", *tune, "--max-epoch", 2)
    assert train(pairs, "parts", *tune, "--max-epoch", 1) == [first]
    assert train(pairs, "parts", *tune, "--max-epoch", 2) == [second]


def test_training_stops_where_accuracy_and_perplexity_do_not_improve_together(pairs, forked, tmp_path):
    """With a learning rate of 0 the first validation is the last improvement; resumed, it counts on."""
    stopping = [
        "--improvement-metrics", "accuracy,ppl", "--report-accuracy", "--best-checkpoint-metric",
        "improvements", "--maximize-best-checkpoint-metric",
    ]  # fmt: skip

    def train(*options) -> list[float]:
        result = forked(
            "train", pairs, *COMMON, *stopping, "--task", "multilingual_nmt", "--lang-pairs", "ja-en",
            "--max-tokens", 200, "--validate-interval-updates", 1,
            "--lr-scheduler", "fixed", "--save-dir", tmp_path / "model", *options,
        )  # fmt: skip
        assert result.status == 0, result.text[-3000:]
        return [float(entry["valid_improvements"]) for entry in logged(result, "valid")]

    assert train("--lr", 0, "--patience", 2, "--max-update", 20) == [1, 0.5, 0.5]
    faster = ("--lr", 0.02, "--reset-lr-scheduler", "--validate-interval-updates", 6)
    learned = [math.ceil(count) for count in train(*faster, "--patience", 20, "--max-update", 24)]
    assert (learned[0] in (1, 2), learned == sorted(learned), learned[-1] > 2) == (True, True, True), learned
    assert (tmp_path / "model" / "checkpoint_best.pt").exists()
    (last,) = train("--lr", 0, "--reset-lr-scheduler", "--max-update", 25)
    assert math.ceil(last) == learned[-1]
