"""Checkpoints of stock fairseq's `translation_multi_simple_epoch` on the same data."""

import torch

from command_line.lines import read_lines
from data_prep.preparation import Preparation
from tests.integration.test_fairseq_commands import hypotheses
from tests.integration.test_translate import translate_arguments
from tests.integration.toy_corpus import LANGUAGES
from tests.integration.training import STOCK_TASK, TASK, USER_DIR, final_state, training


def test_translate_gives_the_hypotheses_of_stock_generate(data, stock, forked, tmp_path):
    out = tmp_path / "out"
    ours = forked(
        "eval", *translate_arguments(data, stock, out, "--directions", "de-en,de-fr", "--max-len-b", 30)
    )
    assert ours.status == 0, ours.text
    preparation = Preparation.load(data)
    for direction in ("de-en", "de-fr"):
        source, target = direction.split("-")
        theirs = forked(
            "generate", data, *USER_DIR, *STOCK_TASK, "--path", stock, "-s", source,
            "-t", target, "--cpu", "--skip-invalid-size-inputs-valid-test",
            "--required-batch-size-multiple", 1, "--max-len-b", 30,
        )  # fmt: skip
        assert theirs.status == 0, theirs.text
        expected = hypotheses(theirs)
        assert len(expected) == 39
        found = list(read_lines(out / f"{direction}.txt"))
        assert len(found) == 40
        for number, text in expected.items():
            assert found[number] == preparation.detokenize(target, text), (direction, number)


def test_its_weights_are_those_of_an_mnmt_transformer(data, stock, forked, tmp_path):
    """Fine-tuning with a learning rate of 0 starts from the stock weights and leaves them as they are."""
    result = forked(
        "train",
        *training(
            data, tmp_path / "model", "--finetune-from-model", stock, "--norm-placement", "pre",
            "--max-update", 1, "--lr", 0, "--lr-scheduler", "fixed", "--langs", ",".join(LANGUAGES),
        ),
    )  # fmt: skip
    assert result.status == 0, result.text[-3000:]
    expected, found = final_state(stock.parent)["model"], final_state(tmp_path / "model")["model"]
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


def test_the_task_of_the_toolkit_says_what_it_cannot_read(data, stock, forked):
    result = forked("generate", data, *USER_DIR, *TASK, "--path", stock, "-s", "de", "-t", "en", "--cpu")
    assert result.status != 0
    assert "the checkpoint is not of the task multilingual_nmt" in result.last_error
