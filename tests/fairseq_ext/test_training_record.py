"""A training is skipped, goes on, or is refused: what there is decides, not a mark."""

import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from command_line.errors import InputError
from fairseq_ext.training_record import TrainingRecord, finish, forget, has_ended
from tests.embeddings.encoders.folders import write_sentence_transformers, write_transformers

WORDS = ("--task", "multilingual_nmt", "--lang-pairs", "de-en", "--adam-betas", "(0.9, 0.98)", "--lr", "0.1")
ADVICE = "; train anew with --force, or give another --output"


def checkpoint(path: Path, text: str = "weights") -> Path:
    """As torch writes it: a ZIP archive."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", text * 1000)
    return path


@pytest.fixture
def data(tmp_path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    names = ["dict.de.txt", "preparation.json"]
    names += [f"{split}.de-en.de{end}" for split in ("train", "valid", "test") for end in (".bin", ".idx")]
    names += [f"train.de-en.{aligner}.alignment" for aligner in ("fast_align", "word2word")]
    for name in [*names, "train.de-en.de.bunsetsu"]:
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def model(tmp_path) -> Path:
    return tmp_path / "model"


def begin(model: Path, data: Path, *words: str) -> bool:
    return TrainingRecord(model, data, words or WORDS).begin()


def trained(model: Path, data: Path, *words: str) -> None:
    assert begin(model, data, *words)
    checkpoint(model / "checkpoint_last.pt")
    checkpoint(model / "checkpoint_best.pt")
    finish(model)


def refusal(model: Path, data: Path, *words: str) -> str:
    with pytest.raises(InputError) as raised:
        begin(model, data, *words)
    (line,) = str(raised.value).splitlines()
    return line


def test_what_is_not_finished_goes_on_and_what_is_finished_is_skipped(model, data):
    assert begin(model, data)
    assert begin(model, data)
    checkpoint(model / "checkpoint_best.pt")
    finish(model)
    assert not begin(model, data)
    shutil.copytree(model, model.with_name("elsewhere"))
    assert not begin(model.with_name("elsewhere"), data)


@pytest.mark.parametrize(
    ("words", "difference"),
    [
        ([*WORDS, "--lr", "0.5"], "with --lr 0.1, found with --lr 0.5"),
        ([*WORDS, "--fp16-no-flatten-grads"], "without --fp16-no-flatten-grads, found with --fp16"),
        (WORDS[:-2], "with --lr 0.1, found without --lr"),
        ([*WORDS, "--adam-betas=(0.9, 0.999)"], "with --adam-betas (0.9, 0.98), found with --adam"),
    ],
)  # fmt: skip
def test_other_options_are_refused_by_name(model, data, words, difference):
    begin(model, data)
    assert refusal(model, data, *words).startswith(f"{model}: began {difference}")
    trained(model, data)
    found = refusal(model, data, *words)
    assert found.startswith(f"{model}: was trained {difference}")
    assert found.endswith(ADVICE)


def test_options_that_change_nothing_of_what_is_learned_may_differ(model, data):
    trained(model, data)
    assert not begin(model, data, *WORDS[:-2], "--lr", "7", "--lr", "0.1", "--log-interval", "9")


@pytest.mark.parametrize("name", ["train.de-en.de.bin", "valid.de-en.de.idx", "dict.de.txt"])
def test_data_that_changed_or_went_are_refused(model, data, name):
    trained(model, data)
    (data / name).write_text("other")
    assert refusal(model, data) == (
        f"{model}: was trained with other data: {data / name} has changed since{ADVICE}"
    )
    (data / name).unlink()
    assert refusal(model, data) == f"{model}: was trained with other data: {name} is gone since{ADVICE}"


def test_text_that_a_pretraining_translates_is_data_too(model, data):
    """A folder of its own, with files of the same names."""
    others = shutil.copytree(data, data.with_name("translations"))
    words = (*WORDS, "--translation-data", str(others))
    trained(model, data, *words)
    assert not begin(model, data, *words)
    (others / "train.de-en.de.bin").write_text("binarized again")
    assert f"{others}/train.de-en.de.bin has changed since" in refusal(model, data, *words)


def test_files_that_it_does_not_read_may_come_and_go(model, data):
    trained(model, data, *WORDS, "--alignments", "word2word")
    for name in ("test.de-en.de.bin", "train.de-en.fast_align.alignment", "train.de-en.de.bunsetsu"):
        (data / name).unlink()
    (data / "train.de-fr.de.bin").touch()
    assert not begin(model, data, *WORDS, "--alignments", "word2word")
    (data / "train.de-en.word2word.alignment").write_text("other")
    assert "word2word.alignment has changed" in refusal(model, data, *WORDS, "--alignments", "word2word")


def test_the_only_alignments_are_read_without_being_named(model, data):
    (data / "train.de-en.fast_align.alignment").unlink()
    words, others = [*WORDS, "--losses", "translation,word_contrastive"], [*WORDS, "--losses", "translation"]
    trained(model, data, *words)
    trained(model.with_name("plain"), data, *others)
    (data / "train.de-en.word2word.alignment").write_text("other")
    assert "word2word.alignment has changed since" in refusal(model, data, *words)
    assert not begin(model.with_name("plain"), data, *others)


def test_sets_of_other_names_are_read(model, data):
    words = [*WORDS, "--valid-subset", "valid,dev"]
    (data / "dev.de-en.de.bin").touch()
    trained(model, data, *words)
    (data / "dev.de-en.de.bin").write_text("other")
    assert "dev.de-en.de.bin has changed since" in refusal(model, data, *words)


def test_folders_of_modules_are_a_start_too(model, data, tmp_path):
    teacher = write_sentence_transformers(tmp_path, dense=8)
    shutil.rmtree(teacher / "3_Normalize")  # which has no files, and so no folder as it is distributed
    words = [*WORDS, "--teacher-checkpoint", str(teacher)]
    trained(model, data, *words)
    weights = {"linear.weight": torch.zeros(8, 32), "linear.bias": torch.zeros(8)}
    save_file(weights, teacher / "2_Dense/model.safetensors")
    assert "2_Dense/model.safetensors has changed since" in refusal(model, data, *words)


def test_a_training_without_pairs_reads_all_texts_of_its_languages(model, data):
    words = ["--unpaired", "--pairs", "de-fr,en-de"]
    trained(model, data, *words)
    (data / "train.mono.en.idx").touch()
    assert not begin(model, data, *words)  # of de-en there is a bitext
    (data / "train.mono.fr.idx").touch()
    assert "train.mono.fr.idx is new since" in refusal(model, data, *words)


def test_a_pretraining_reads_the_analyses_of_its_tasks(model, data):
    words = ["--pretraining-tasks", "de=mass"]
    trained(model, data, *words)
    trained(model.with_name("bmass"), data, "--pretraining-tasks", "de=bmass+mass")
    (data / "train.de-en.de.bunsetsu").write_text("other")
    assert not begin(model, data, *words)
    found = refusal(model.with_name("bmass"), data, "--pretraining-tasks", "de=bmass+mass")
    assert "train.de-en.de.bunsetsu has changed" in found


def test_a_pretraining_reads_all_texts_of_its_languages(model, data):
    words = ["--pretraining-tasks", "de=mass,en=mass:2"]
    trained(model, data, *words)
    trained(model.with_name("translation"), data)
    for name in ("train.mono.fr.idx", "train.mono.en.bin", "dict.en.txt"):
        (data / name).touch()
    assert not begin(model, data, *words)
    (data / "train.mono.en.idx").touch()
    assert refusal(model, data, *words) == (
        f"{model}: was trained with other data: {data / 'train.mono.en.idx'} is new since{ADVICE}"
    )
    assert not begin(model.with_name("translation"), data)  # it reads the pairs that it names


@pytest.mark.parametrize("option", ["--pretrained-checkpoint", "--finetune-from-model"])
def test_the_checkpoint_to_start_from_counts_by_its_contents(model, data, tmp_path, option):
    start = checkpoint(tmp_path / "start.pt")
    trained(model, data, *WORDS, option, str(start))
    moved = shutil.move(start, tmp_path / "moved.pt")
    assert not begin(model, data, *WORDS, option, str(moved))
    checkpoint(moved, "others")
    assert f"{moved} has changed since" in refusal(model, data, *WORDS, option, str(moved))
    assert f"{option} {start}: no such file" in refusal(model, data, *WORDS, option, str(start))
    assert "is gone since" in refusal(model, data)


@pytest.mark.parametrize(
    "option", ["--pretrained-checkpoint", "--finetune-from-model", "--teacher-checkpoint"]
)
@pytest.mark.parametrize(("end", "done"), [(True, "was trained"), (False, "began")])
def test_a_start_or_teacher_that_it_did_not_have_is_refused(model, data, tmp_path, option, end, done):
    """It would be skipped, or go on from its own checkpoint, as if it had begun there."""
    (trained if end else begin)(model, data)
    words = [*WORDS, option, str(checkpoint(tmp_path / "start.pt"))]
    assert refusal(model, data, *words) == f"{model}: {done} without {option}, found with {option}{ADVICE}"


def test_an_encoder_of_transformers_counts_by_its_files(model, data, tmp_path):
    words = lambda folder: [*WORDS, "--pretrained-encoder", str(folder)]  # noqa: E731
    folder = write_transformers(tmp_path / "encoder")
    trained(model, data, *words(folder))
    moved = shutil.move(folder, tmp_path / "moved")
    assert not begin(model, data, *words(moved))
    write_transformers(moved, seed=2)
    assert f"{moved}/model.safetensors has changed since" in refusal(model, data, *words(moved))


@pytest.mark.parametrize("option", ["--teacher", "--encoder-vectors"])
def test_vectors_of_another_teacher_may_come_and_go(model, data, option):
    for teacher in ("labse", "ems"):
        (data / f"train.de-en.de.{teacher}.vectors").write_text(teacher)
    trained(model, data, *WORDS, option, "ems")
    (data / "train.de-en.de.labse.vectors").unlink()
    assert not begin(model, data, *WORDS, option, "ems")
    (data / "train.de-en.de.ems.vectors").write_text("other")
    assert "ems.vectors has changed" in refusal(model, data, *WORDS, option, "ems")


def test_a_best_checkpoint_that_is_gone_changed_or_cut_off_is_refused(model, data):
    trained(model, data)
    best = model / "checkpoint_best.pt"
    best.write_bytes(best.read_bytes()[:-20])
    assert refusal(model, data) == (f"{best}: has changed since this training came to its end{ADVICE}")
    best.unlink()
    assert refusal(model, data) == f"{best}: is gone since this training came to its end{ADVICE}"


def test_a_training_without_a_readable_best_checkpoint_is_not_finished(model, data):
    begin(model, data)
    with pytest.raises(InputError, match=r"checkpoint_best.pt: no such file after training"):
        finish(model)
    (model / "checkpoint_best.pt").write_bytes(checkpoint(model / "x").read_bytes()[:500])
    with pytest.raises(InputError, match=r"checkpoint_best.pt: is not a whole checkpoint"):
        finish(model)
    assert begin(model, data)


def test_checkpoints_without_a_record_are_nobodys(model, data):
    model.mkdir()
    checkpoint(model / "checkpoint_last.pt")
    assert refusal(model, data) == f"{model}: has checkpoint_last.pt, but no record of its training{ADVICE}"


def test_forced_it_is_trained_anew(model, data):
    trained(model, data)
    (model / "lock").touch()
    forget(model)
    assert [path.name for path in model.iterdir()] == ["lock"]
    assert begin(model, data, "--lr", "7")


def test_what_has_ended_is_known_without_its_data(model, data):
    assert not has_ended(model)
    begin(model, data)
    assert not has_ended(model)
    trained(model, data)
    shutil.rmtree(data)
    assert has_ended(model)
    (model / "training.json").write_text("{}")
    with pytest.raises(InputError, match=r"training\.json"):
        has_ended(model)


def test_no_data_no_training(model, data):
    assert refusal(model, data / "none") == f"{data / 'none'}: no such folder; run the stage prepare first"
    (data / ".binarize.unfinished").touch()
    assert "`binarize` did not finish here" in refusal(model, data)
