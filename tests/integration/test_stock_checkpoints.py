"""Checkpoints of stock fairseq's `translation_multi_simple_epoch` and `translation` on the same data."""

import shutil

import pytest
import torch

from command_line.lines import read_lines
from data_prep.formats.preparation import Preparation
from tests.integration.commands import run_forked
from tests.integration.test_fairseq_commands import hypotheses
from tests.integration.test_translate import translate_arguments
from tests.integration.toy_corpus import LANGUAGES
from tests.integration.training import (
    LOGS,
    OPTIMIZATION,
    SIZE,
    STOCK,
    STOCK_TASK,
    TASK,
    USER_DIR,
    final_state,
    training,
)

pytestmark = pytest.mark.slow


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


# --- fairseq-preprocess and fairseq-train --task translation, from text to checkpoint without this toolkit


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory, data):
    """A folder of fairseq-preprocess (its own dictionary, without tags) and `model/` trained on it."""
    folder = tmp_path_factory.mktemp("bilingual")
    texts = {f"--{split}pref": data.parent / "sub" / f"{split}.de-en" for split in ("train", "valid", "test")}
    result = run_forked(
        folder / "logs", "preprocess", "-s", "de", "-t", "en", "--joined-dictionary", "--destdir", folder,
        *(word for option in texts.items() for word in option),
    )  # fmt: skip
    assert result.status == 0, result.text[-3000:]
    result = run_forked(
        folder / "logs", "train", folder, "--task", "translation", "--arch", "transformer", *SIZE,
        "--share-all-embeddings", *OPTIMIZATION, *STOCK, *LOGS, "--max-update", 150, "--disable-validation",
        "--save-dir", folder / "model",
    )  # fmt: skip
    assert result.status == 0, result.text[-3000:]
    preparation = Preparation.load(data)  # how to detokenize is all that such a folder lacks
    for name in ("preparation.json", preparation.subword["model"]):
        shutil.copy(data / name, folder / name)
    return folder


def test_a_bilingual_model_gives_the_hypotheses_of_stock_generate(bilingual, forked, tmp_path):
    checkpoint, out = bilingual / "model" / "checkpoint_last.pt", tmp_path / "out"
    ours = forked("eval", *translate_arguments(bilingual, checkpoint, out, "--max-len-b", 30))
    assert ours.status == 0, ours.text
    theirs = forked(  # the user folder only makes the checkpoint readable for today's torch
        "generate", bilingual, *USER_DIR, "--task", "translation", "--path", checkpoint, "-s", "de", "-t",
        "en", "--cpu", "--skip-invalid-size-inputs-valid-test", "--required-batch-size-multiple", 1,
        "--max-len-b", 30,
    )  # fmt: skip
    assert theirs.status == 0, theirs.text
    expected, preparation = hypotheses(theirs), Preparation.load(bilingual)
    assert [path.name for path in out.glob("*.txt")] == ["de-en.txt"]
    found = list(read_lines(out / "de-en.txt"))
    assert (len(found), len(expected)) == (40, 39)
    for number, text in expected.items():
        assert found[number] == preparation.detokenize("en", text), number
    assert len(set(found)) > 20


def test_a_bilingual_model_is_probed(bilingual, forked, tmp_path):
    checkpoint = bilingual / "model" / "checkpoint_last.pt"
    result = forked(
        "eval", "probe", "states", "--checkpoint", checkpoint, "--data", bilingual, "--cpu", "--max-lines", 5,
        "--output", tmp_path / "states",
    )  # fmt: skip
    assert result.status == 0, result.text
