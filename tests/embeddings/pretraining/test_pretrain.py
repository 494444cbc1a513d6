"""`embeddings pretrain`: trains, goes on where it was killed, and what is refused."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from data_prep.formats.vectors import VectorsFile
from embeddings.pretraining import training
from tests.embeddings.pretraining.monolingual import write_monolingual

SIZE = "--layers 1 --width 16 --heads 2 --inner-width 32 --max-length 12 --vocabulary-size 70"
TRAINING = "--batch-tokens 100 --updates 6 --warmup-updates 2 --save-updates 2 --learning-rate 1e-2 --cpu"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_monolingual(tmp_path_factory.mktemp("pretraining") / "text")


def options(text, output, *others) -> list:
    given = ["--text", text, "--languages", "de,en", *SIZE.split(), *TRAINING.split(), "--output", output]
    return ["pretrain", *given, *others]


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory):
    """A complete training."""
    from command_line.dispatch import run
    from embeddings.__main__ import COMMANDS

    output = tmp_path_factory.mktemp("trained") / "out"
    assert run("embeddings", "", COMMANDS, [str(word) for word in options(text, output)]) == 0
    return output


def weights(folder):
    return load_file(folder / "model.safetensors")


def same(first, second) -> bool:
    return all(np.array_equal(second[name], value) for name, value in first.items())


def test_keeps_complete_encoders_with_their_validation(trained, completed, tmp_path):
    assert sorted(path.name for path in trained.iterdir() if path.name[0] != ".") == [
        "pretraining.json", "update-2", "update-4", "update-6",
    ]  # fmt: skip
    record = json.loads((trained / "pretraining.json").read_text())
    assert [encoder["update"] for encoder in record["encoders"]] == [2, 4, 6]
    last = record["encoders"][-1]
    assert last == {"folder": "update-6"} | json.loads((trained / "update-6/validation.json").read_text())
    assert set(last["languages"]) == {"de", "en"}
    assert last["loss"] == pytest.approx(sum(one["loss"] for one in last["languages"].values()) / 2)
    assert 0 < last["loss"] < record["encoders"][0]["loss"]
    assert not same(weights(trained / "update-2"), weights(trained / "update-6"))
    (tmp_path / "test.de").write_text("das Haus\nder Baum läuft\n")
    completed(
        "encode", tmp_path / "test.de", "--model", trained / "update-6", "--cpu", "--output", tmp_path / "out"
    )
    assert VectorsFile.open(tmp_path / "out/test.de.npy").width == 16


@pytest.mark.parametrize("moment", ["state", "encoder"])
def test_goes_on_where_it_was_killed(trained, text, command, completed, tmp_path, monkeypatch, moment):
    """In the middle of writing the state of update 4, or behind it and before the encoder is kept."""
    before = training.Encoders.on_save

    def killed(self, args, state, control, **kwargs):
        if state.global_step == 4:
            if moment == "state":
                (trainers / "checkpoint-4/trainer_state.json").write_text("{")
            raise KeyboardInterrupt
        before(self, args, state, control, **kwargs)

    output = tmp_path / "out"
    trainers = output / "training"
    monkeypatch.setattr(training.Encoders, "on_save", killed)
    monkeypatch.setattr(training.OrderedTrainer, "_rotate_checkpoints", lambda *args, **kwargs: None)
    with pytest.raises(KeyboardInterrupt):
        command(*options(text, output))
    assert not (output / "update-4").exists()
    monkeypatch.undo()
    completed(*options(text, output))
    for update in ("update-2", "update-4", "update-6"):
        assert same(weights(trained / update), weights(output / update))
        validation = [(folder / update / "validation.json").read_text() for folder in (trained, output)]
        assert validation[0] == validation[1]
    assert not trainers.exists()


def test_what_is_done_is_skipped_and_another_training_is_refused(trained, text, command, refusal):
    done = command(*options(text, trained))
    assert done.status == 0
    assert "complete, skipped" in done.err
    refused = refusal(*options(text, trained, "--seed", 2))
    assert "another seed; give another --output, or --force to begin anew" in refused
    assert (trained / "update-6/model.safetensors").is_file()


def test_what_a_kill_at_the_very_end_leaves_is_removed(trained, text, command, tmp_path):
    output = shutil.copytree(trained, tmp_path / "out")
    shutil.copytree(trained / "update-4", output / "training/checkpoint-4")
    done = command(*options(text, output))
    assert done.status == 0 and "complete, skipped" in done.err
    assert not (output / "training").exists()
    assert same(weights(trained / "update-4"), weights(output / "update-4"))


@pytest.mark.parametrize("gone", [".pretraining.done", "update-2"])
def test_encoders_are_never_removed_unasked(trained, text, refusal, tmp_path, gone):
    """Copied without the hidden record, or thinned out to save disk."""
    output = shutil.copytree(trained, tmp_path / "out")
    path = output / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "nor a state to go on from; give another --output, or --force" in refusal(*options(text, output))
    assert same(weights(trained / "update-6"), weights(output / "update-6"))


@pytest.mark.parametrize("saved", [True, False])
def test_another_training_that_was_begun_is_refused_if_it_could_go_on(
    text, command, refusal, tmp_path, monkeypatch, saved
):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(*((training.Encoders, "on_save") if saved else (training, "train")), stop)
    with pytest.raises(KeyboardInterrupt):
        command(*options(text, tmp_path / "out"))
    other = options(text, tmp_path / "out", "--mask-rate", 0.3)
    if saved:
        assert f"{tmp_path}/out: was trained with another mask_rate" in refusal(*other)
    with pytest.raises(KeyboardInterrupt):
        command(*other, *(["--force"] if saved else []))


@pytest.mark.parametrize("others", [["--tokenizer", "/nothing"], ["--batch-tokens", "5"]])
def test_what_is_refused_removes_nothing(trained, text, command, tmp_path, others):
    output = shutil.copytree(trained, tmp_path / "out")
    assert command(*options(text, output, *others, "--force")).status == 2
    assert "complete, skipped" in command(*options(text, output)).err
    new = tmp_path / "new"
    assert command(*options(text, new, *others)).status == 2
    assert command(*options(text, new)).status == 0
    assert same(weights(trained / "update-6"), weights(new / "update-6"))


def test_blocks_and_several_batches_in_an_update(text, completed, tmp_path):
    completed(
        *options(text, tmp_path / "out", "--examples", "blocks", "--batches-per-update", 2, "--updates", 3)
    )
    assert (tmp_path / "out/update-3/model.safetensors").is_file()


def test_the_tokenizer_of_another_model(trained, text, completed, tmp_path):
    completed(*options(text, tmp_path / "out", "--tokenizer", trained / "update-2", "--updates", 3))
    tokenizers = [
        (folder / "tokenizer.json").read_text()
        for folder in (trained / "update-2", tmp_path / "out/update-3")
    ]
    assert tokenizers[0] == tokenizers[1]


def test_another_vocabulary_is_another_training(trained, text, command, refusal, tmp_path):
    """Whatever its file is called."""
    tokenizer = shutil.copytree(trained / "update-2", tmp_path / "tokenizer")
    (tokenizer / "vocab.txt").write_text("one\n")
    words = options(text, tmp_path / "out", "--tokenizer", tokenizer, "--updates", 3)
    assert command(*words).status == 0
    assert "complete, skipped" in command(*words).err
    (tokenizer / "vocab.txt").write_text("other\n")
    assert "vocab.txt" in refusal(*words)


@pytest.mark.parametrize(
    ("others", "line"),
    [
        (["--languages", "de,fr"], "no train.fr; expected monolingual text of all of --languages"),
        (["--heads", "3"], "--heads 3: do not share --width 16 evenly; expected a divisor"),
        (["--warmup-updates", "6"], "--warmup-updates 6: expected fewer than --updates 6"),
        (["--batch-tokens", "5"], "--batch-tokens 5: expected room for several examples"),
        (["--vocabulary-size", "9"], "--vocabulary-size 9: sentencepiece cannot learn"),
        (["--tokenizer", "/nothing"], "--tokenizer /nothing: no such folder"),
        (["--seed", "3"], "--learning-rate 0.01: the loss is nan at update 1; expected a number"),
    ],
)  # fmt: skip
def test_refusals(text, command, tmp_path, monkeypatch, others, line):
    if "loss is nan" in line:
        forward = training.OrderedTrainer.compute_loss
        monkeypatch.setattr(
            training.OrderedTrainer,
            "compute_loss",
            lambda *args, **kwargs: forward(*args, **kwargs) * float("nan"),
        )
    refused = command(*options(text, tmp_path / "out", *others))
    assert refused.status == 2
    errors = [line for line in refused.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert line in errors[0]


def test_it_is_one_process(text, refusal, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused = refusal(*options(text, tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert "WORLD_SIZE 2: pre-training runs in one process, on one device; start it" in refused


def test_text_without_words(refusal, tmp_path):
    folder = write_monolingual(tmp_path / "text")
    (folder / "valid.en").write_text("\n \n")
    refused = refusal(*options(folder, tmp_path / "out"))
    assert f"{folder}/valid.en: has no words, expected a sentence per line" in refused
