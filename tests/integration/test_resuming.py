"""A training goes on with what its task has saved, or not at all."""

import shutil

import numpy as np
import pytest

from data_prep.formats.sentences import file_prefix
from data_prep.formats.teacher_vectors import create_teacher_vectors, sentences_identity, vectors_path
from tests.fairseq_ext.folders import write_toy_folder
from tests.integration.commands import USER_DIR
from tests.integration.training import LOGS, final_state, logged

pytestmark = pytest.mark.slow

LINES, WIDTH = 12, 16
ENCODERS = {  # name of the encoder, and a file of its weights with the checksum
    "first": ("first", {"a.safetensors": "1" * 64}),
    "renamed": ("other", {"b.safetensors": "1" * 64}),
    "second": ("first", {"a.safetensors": "2" * 64}),
}
TRAINING = (
    "--task", "sentence_embedding", "--pairs", "de-en", "--teacher", "teacher", "--arch", "ems_small",
    "--encoder-layers", 1, "--encoder-embed-dim", 16, "--encoder-attention-heads", 2,
    "--encoder-ffn-embed-dim", 16, "--criterion", "weighted_losses", "--losses", "feature_distillation",
    "--optimizer", "fused_adam", "--lr", 1e-3, "--max-sentences", 12,
)  # fmt: skip


def store_vectors(folder, encoder: str) -> None:
    """Vectors by chance, of an encoder, under the name `teacher`."""
    random = np.random.default_rng(1)
    name, weights = ENCODERS[encoder]
    for split in ("train", "valid"):
        for language in ("de", "en"):
            prefix = file_prefix(folder, split, ("de", "en"), language)
            path = vectors_path(prefix, "teacher")
            path.unlink(missing_ok=True)
            description = {
                "encoder": {"name": name, "kind": "transformers", "width": WIDTH, "weights": weights},
                "text": sentences_identity(prefix), "read": {"kind": "text"},
                "lines": LINES, "width": WIDTH, "dtype": "float32", "normalized": False,
            }  # fmt: skip
            create_teacher_vectors(path, description)[:] = random.normal(size=(LINES, WIDTH))


@pytest.fixture
def folder(tmp_path):
    folder = write_toy_folder(tmp_path / "data", LINES)
    store_vectors(folder, "first")
    return folder


@pytest.fixture
def train(folder, forked, tmp_path):
    def run(model: str, updates: int, *options):
        where = ("--max-update", updates, "--save-dir", tmp_path / model)
        return forked("train", folder, *USER_DIR, *TRAINING, *LOGS, *where, *options)

    return run


def test_a_training_goes_on_with_its_own_teacher_only(train, folder, tmp_path):
    """A fine-tuning may have another one; another name of the same encoder changes nothing."""
    begun = train("model", 2)
    assert begun.status == 0, begun.text[-3000:]
    path = tmp_path / "model/checkpoint_last.pt"

    store_vectors(folder, "second")
    refused = train("model", 4)
    assert refused.status != 0 and "| train_inner |" not in refused.text
    assert f"{path}: the training cannot go on: --teacher: the checkpoint learned from" in refused.last_error
    tuned = train("tuned", 2, "--finetune-from-model", path)
    assert tuned.status == 0, tuned.text[-3000:]

    store_vectors(folder, "renamed")
    goes_on = train("model", 4)
    assert goes_on.status == 0 and "Loaded checkpoint" in goes_on.text, goes_on.text[-3000:]
    assert final_state(tmp_path / "model")["task_state"]["initialized_from"] == {}


def test_patience_counts_on(train, tmp_path):
    """With a learning rate of 0 the first validation is the best, and three more end the training."""
    stopping = ("--lr", 0, "--patience", 3, "--validate-interval-updates", 1)

    def validations(model: str, updates: int, *options) -> int:
        result = train(model, updates, *stopping, *options)
        assert result.status == 0, result.text[-3000:]
        return len(logged(result, "valid"))

    assert validations("whole", 20) == 4
    assert validations("parts", 2) == 2
    shutil.copytree(tmp_path / "parts", tmp_path / "forgetful")
    checkpoint = tmp_path / "parts/checkpoint_last.pt"
    assert validations("parts", 20) == 2  # not four, nor three beside a first one
    assert validations("parts", 20) == 1  # of more updates than had been asked for
    assert validations("forgetful", 20, "--reset-meters") == 4
    assert validations("tuned", 20, "--finetune-from-model", checkpoint) == 4


def test_weights_of_another_architecture_are_one_line(train, tmp_path):
    assert train("model", 1).status == 0
    path = tmp_path / "model/checkpoint_last.pt"
    refused = train("wider", 1, "--encoder-ffn-embed-dim", 40, "--finetune-from-model", path)
    assert refused.status != 0
    assert f"{path}: is of another architecture: size mismatch for encoder." in refused.last_error
    assert refused.last_error.endswith("; give the options of the model that it has")


def test_a_damaged_last_checkpoint_is_passed_over_for_the_newest_whole_one(train, tmp_path):
    """As a kill in the middle of a copy has left it."""
    begun = train("model", 3, "--save-interval-updates", 1, "--validate-interval-updates", 10)
    assert begun.status == 0, begun.text[-3000:]
    last = tmp_path / "model/checkpoint_last.pt"
    last.write_bytes(last.read_bytes()[:5000])
    (tmp_path / "model/checkpoint_best.pt").unlink(missing_ok=True)
    goes_on = train("model", 4)
    assert goes_on.status == 0, goes_on.text[-3000:]
    (newest,) = (tmp_path / "model").glob("checkpoint_*_3.pt")
    assert f"{last}: is damaged; the training goes on from {newest}, of 3 updates" in goes_on.text
    assert [int(report["num_updates"]) for report in logged(goes_on, "train_inner")] == [4]
