"""Teachers in training: stored vectors and a running one give the same losses; others are refused by name."""

import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from data_prep.formats.teacher_vectors import TeacherVectors, create_teacher_vectors
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.axes.record import describe
from fairseq_ext.checkpoints.choosing import Candidate
from fairseq_ext.inference import load_for_inference
from tests.fairseq_ext.folders import write_preparation, write_sentences, write_toy_folder
from tests.fairseq_ext.test_checkpoints import save
from tests.fairseq_ext.test_pretrained_encoder import TEXT, WIDTH, write_data, write_model
from tests.fairseq_ext.test_sentence_embedding import (
    make_criterion,
    make_model,
    make_task,
    model_options,
    train,
    validate,
    whole_part,
)
from tests.our_commands import run_command

BOTH = "feature_distillation,logit_distillation"


def state_of(task, model, options: Namespace, **task_options) -> dict:
    """What a checkpoint of a model holds, which reads 9 tokens of a sentence."""
    task_options |= {"_name": "sentence_embedding", "max_source_positions": 9, "max_target_positions": 9}
    return {
        "model": model.state_dict(),
        "cfg": {"model": options, "task": task_options, "common": {"seed": 1}},
        "task_state": task.state_dict(),
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "FusedAdam", "lr_scheduler_state": {}}],
        "extra_state": {"train_iterator": {"epoch": 2, "iterations_in_epoch": 3}},
        "last_optimizer_state": None,
        "args": None,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Data in which a sentence is longer than the student reads, and has vectors of the teacher `ems`."""
    folder = write_toy_folder(tmp_path_factory.mktemp("taught") / "data")
    write_sentences(folder / "train.de-en.de", [[4 + i % 20] * (1 + 2 * i) + [2] for i in range(6)])
    write_preparation(folder)
    task = make_task(folder)
    model = make_model(task, encoder_embed_dim=24, encoder_attention_heads=2)
    torch.manual_seed(3)
    for parameter in model.parameters():
        if parameter.dim() > 1:  # with large biases all sentences have one vector, and nobody learns
            torch.nn.init.normal_(parameter, std=0.3)
    options = model_options(encoder_embed_dim=24, encoder_attention_heads=2)
    path = save(folder.parent / "teacher.pt", state_of(task, model, options))
    words = ["embeddings", "encode", "--data", str(folder), "--model", path, "--model-data", str(folder)]
    assert run_command([*words, "--split", "train,valid", "--name", "ems", "--cpu"]) == 0
    return folder


STORED, RUNNING = "stored", "running"


def student_of(folder, kind: str, losses: str = BOTH, **options):
    teacher = (
        {"teacher": "ems"} if kind == STORED else {"teacher_checkpoint": str(folder.parent / "teacher.pt")}
    )
    task = make_task(folder, max_source_positions=5, **teacher, **options)
    model = make_model(task)
    criterion = make_criterion(task, losses)
    for split in ("train", "valid"):
        task.load_dataset(split)
    return task, model, criterion


def losses_of(folder, kind: str, **options) -> list:
    task, model, criterion = student_of(folder, kind, **options)
    batches = [whole_part(task, "train", number) for number in (0, 1)]
    trained = train(task, model, criterion, batches, updates=3)
    return trained + [value for name, value in validate(task, model, criterion).items() if "loss" in name]


@pytest.mark.parametrize("options", [{}, {"random_sides": True}], ids=str)
def test_stored_vectors_and_a_running_teacher_give_equal_losses(folder, options):
    """Also of sentences that the student cuts, and the teacher elsewhere, and with sides at random."""
    stored, running = (losses_of(folder, kind, **options) for kind in (STORED, RUNNING))
    assert len(stored) == len(running) > 5
    assert stored == pytest.approx(running, rel=1e-5)
    assert stored[0] > stored[2]  # it learns


def of_stored_and_running(data: Path, **running) -> tuple[list, list, object]:
    """Losses and states of trainings with the stored vectors `labse` and with a running teacher, which cut
    sentences; and the second one's task. A training of the first goes on with the second.
    """
    losses, states = [], []
    for teacher in ({"teacher": "labse"}, running):
        task = make_task(data, pairs="de-en", max_source_positions=4, **teacher)
        model, criterion = make_model(task), make_criterion(task, BOTH)
        for split in ("train", "valid"):
            task.load_dataset(split)
        states.append(task.state_dict())
        losses.append(train(task, model, criterion, [whole_part(task, "train", 0)], updates=3))
        task.load_state_dict(states[0])
    return losses, states, task


@pytest.mark.parametrize(
    ("pooling", "longest"), [("mean", None), ("cls", None), ("pooler", None), ("mean", 8)]
)
def test_a_folder_of_transformers_inside_the_training_gives_what_it_has_stored(tmp_path, pooling, longest):
    """In its own vocabulary, of sentences that the student cuts, too, and of those that the teacher cuts; a
    training goes on with either.
    """
    labse = write_model(tmp_path / "labse", "bert", initializer_range=1.0)
    if longest:
        settings = labse / "tokenizer_config.json"
        changed = {**json.loads(settings.read_text()), "model_max_length": longest}
        settings.write_text(json.dumps(changed))
    data = write_data(tmp_path, labse)
    words = f"embeddings encode --data {data} --text {tmp_path}/raw --model {labse} --name labse --cpu"
    words += f" --encoder transformers --pooling {pooling} --split train,valid"
    assert run_command(words.split()) == 0
    losses, states, _ = of_stored_and_running(data, teacher_checkpoint=str(labse), teacher_pooling=pooling)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][0] > losses[0][2]
    names = [state["teacher"].pop("name") for state in states]
    assert names == ["labse", f"labse ({pooling})"]
    assert states[0]["teacher"] == states[1]["teacher"]


@pytest.mark.parametrize("pooling", ["mean", "pooler"])
def test_lines_without_words_have_the_vectors_that_are_stored(tmp_path, pooling):
    """Of a folder those of its special tokens; evaluation sets keep such lines."""
    labse = write_model(tmp_path / "labse", "bert", initializer_range=1.0)
    data = write_data(tmp_path, labse)
    write_sentences(data / "valid.de-en.de", [[2], *([[5, 6, 2]] * (len(TEXT) - 1))])
    task = make_task(
        data, pairs="de-en", max_source_positions=9, teacher_checkpoint=str(labse), teacher_pooling=pooling
    )
    make_model(task)
    make_criterion(task, BOTH)
    task.load_dataset("valid")
    batch = task.teacher.complete(whole_part(task, "valid", 0))
    found = batch["teacher"]["source"][batch["lines"].tolist().index(0)]
    expected = EncoderOptions(labse, encoder="transformers", pooling=pooling).load().encode([""])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert expected.any()


def test_of_a_checkpoint_lines_without_words_have_zeros(folder):
    """As the vectors that are stored of it."""
    task, *_ = student_of(folder, RUNNING)
    tokens = torch.tensor([[2, task.dictionary.pad(), task.dictionary.pad()], [5, 6, 2]])
    empty, other = task.teacher.complete({"teacher": {"source": tokens}})["teacher"]["source"]
    assert not empty.any() and other.any()


def write_modules(folder: Path, tokenizer: str, pooling: str = "mean", longest: int = 38, **prompts) -> Path:
    """A folder of sentence-transformers, as LaBSE's: a pooling, a dense layer with tanh, length 1.

    Args:
        longest: tokens that it reads; XLM-R keeps two of its 40 positions.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

    written = write_model(folder / "model", tokenizer, initializer_range=1.0)
    model = Transformer(str(written), max_seq_length=longest)
    modules = [model, Pooling(WIDTH, pooling_mode=pooling), Dense(WIDTH, 12), Normalize()]
    SentenceTransformer(modules=modules, device="cpu", **prompts).save(str(folder / "labse"))
    return folder / "labse"


@pytest.mark.parametrize(
    ("tokenizer", "pooling", "longest"), [("bert", "cls", 38), ("xlmr", "mean", 38), ("bert", "mean", 5)]
)
def test_modules_inside_the_training_give_what_they_have_stored(tmp_path, tokenizer, pooling, longest):
    """Of sentences that the student or the teacher cuts, too, and of lines without words; a training goes on
    with either.
    """
    labse = write_modules(tmp_path, tokenizer, pooling, longest)
    data = write_data(tmp_path, labse)
    words = f"embeddings encode --data {data} --text {tmp_path}/raw --model {labse} --name labse --cpu"
    assert run_command([*words.split(), "--split", "train,valid"]) == 0
    losses, states, task = of_stored_and_running(data, teacher_checkpoint=str(labse))
    make_task(f"{data}:{data}", pairs="de-en", teacher_checkpoint=str(labse))  # an epoch of each in turn
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][0] > losses[0][2]
    assert states[0]["teacher"] == states[1]["teacher"]
    write_sentences(data / "valid.de-en.de", [[2], *([[5, 6, 2]] * (len(TEXT) - 1))])
    task.load_dataset("valid")
    batch = task.teacher.complete(whole_part(task, "valid", 0))
    found = batch["teacher"]["source"][batch["lines"].tolist().index(0)]
    np.testing.assert_allclose(found, EncoderOptions(labse).load().encode([""])[0], rtol=1e-4, atol=1e-5)


def test_modules_that_do_not_run_inside_a_training(tmp_path):
    labse = write_modules(tmp_path, "bert", "cls", prompts={"query": "q: "}, default_prompt_name="query")
    data = write_data(tmp_path, labse)
    for options, message in (
        ({}, "puts a prompt in front of every sentence, which a training does not"),
        ({"teacher_pooling": "cls"}, r"--teacher-pooling cls: .*modules\.json says how it is pooled; leave"),
    ):
        with pytest.raises(InputError, match=message):
            make_task(data, pairs="de-en", teacher_checkpoint=str(labse), **options)
    (tmp_path / "other").mkdir()
    other = write_modules(tmp_path / "other", "xlmr", "cls")
    with pytest.raises(InputError, match="its tokenizer is not that of --teacher-checkpoint"):
        make_task(data, pairs="de-en", teacher_checkpoint=str(other))


def test_a_batch_has_the_vectors_of_its_sentences(folder):
    task, *_ = student_of(folder, STORED)
    batch = whole_part(task, "train", 1)  # fr-en, whose files are named en-fr
    for side, language in (("source", "fr"), ("target", "en")):
        vectors = TeacherVectors(folder / f"train.en-fr.{language}.ems.vectors")
        expected = np.stack([vectors[line] for line in batch["lines"]])
        np.testing.assert_array_equal(batch["teacher"][side].numpy(), expected)
        assert batch["teacher"][side].dtype == torch.float32


def test_the_teacher_does_not_learn_and_is_not_saved(folder):
    task, model, criterion = student_of(folder, RUNNING)
    before = {name: value.clone() for name, value in task.teacher.module.state_dict().items()}
    train(task, model, criterion, [whole_part(task, "train", 0)], updates=2)
    after = task.teacher.module.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert not task.teacher.module.training
    dense = "losses.feature_distillation.dense"
    assert set(criterion.state_dict()) == {f"{dense}.weight", f"{dense}.bias"}
    of_encoder = {"name", "width", "weights", "pooling", "layer", "prefix", "target_lang"}
    assert task.state_dict()["teacher"].keys() == {*of_encoder, "normalized"}


@pytest.mark.parametrize("kind, option", [(STORED, "--teacher ems"), (RUNNING, "--teacher-checkpoint /.*")])
def test_a_teacher_from_which_no_loss_learns(folder, kind, option):
    said = f"^{option}: none of --losses additive_margin learns from a teacher; leave the option out, or add "
    with pytest.raises(InputError, match=said + "feature_distillation or logit_distillation$"):
        student_of(folder, kind, losses="additive_margin")


# --- what is refused


def changed(folder, tmp_path, name: str, **changes) -> Path:
    """A copy of the folder in which the description of one file is another."""
    copy = tmp_path / "data"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    path = copy / name
    description = json.loads(json.dumps(TeacherVectors(path).description))
    for field, value in changes.items():
        description[field] = {**description[field], **value} if isinstance(value, dict) else value
    path.unlink()
    create_teacher_vectors(path, description)
    return copy


FILE = "train.en-fr.en.ems.vectors"


def refusal(folder, **options) -> str:
    with pytest.raises(InputError) as caught:
        student_of(folder, STORED, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_vectors_of_another_encoder(folder, tmp_path):
    data = changed(folder, tmp_path, FILE, encoder={"name": "LaBSE"})
    message = refusal(data)
    assert message.startswith(f"{data}/{FILE}: vectors of the encoder LaBSE (")
    assert f"but {data}/train.de-en.de.ems.vectors has those of " in message


def test_vectors_of_another_width(folder, tmp_path):
    data = changed(folder, tmp_path, FILE, encoder={"width": 7}, width=7)
    assert "and width 7, but" in (message := refusal(data)) and "and width 24; encode with one" in message


def test_vectors_of_another_text(folder, tmp_path):
    data = changed(folder, tmp_path, FILE)
    write_sentences(data / "train.en-fr.en", [[9, 2]] * 6)
    assert f"{data}/{FILE}: vectors of another text than {data}/train.en-fr.en.bin" in refusal(data)


def test_vectors_of_length_1_beside_others(folder, tmp_path):
    data = changed(folder, tmp_path, FILE, normalized=True)
    assert refusal(data).startswith(f"{data}/{FILE}: vectors of length 1, but {data}/train.de-en.de.ems.vec")


def test_vectors_of_a_checkpoint_that_was_renamed(folder, tmp_path):
    (digest,) = TeacherVectors(folder / FILE).description["encoder"]["weights"].values()
    student_of(changed(folder, tmp_path, FILE, encoder={"weights": {"renamed.pt": digest}}), STORED)


def test_vectors_that_are_missing(folder, tmp_path):
    data = changed(folder, tmp_path, FILE)
    (data / "valid.de-en.de.ems.vectors").unlink()
    assert "valid.de-en.de.ems.vectors: no such file; `python -m embeddings encode --data" in refusal(data)
    with pytest.raises(InputError, match=r"--teacher labse: .* has vectors of ems; "):
        make_task(data, teacher="labse")


TEACHERS = r"learned from the teacher .* \(\w{8}\), here it is .* \(\w{8}\), with other "


def test_a_checkpoint_of_another_teacher(folder):
    task, *_ = student_of(folder, STORED)
    state = task.state_dict()
    task.load_state_dict(state)
    student_of(folder, RUNNING)[0].load_state_dict(state)  # the same teacher, elsewhere
    teacher = state["teacher"]
    task.load_state_dict({**state, "teacher": {**teacher, "name": "as it was called"}})
    for changes in ({"weights": ["0"]}, {"normalized": True}, {"pooling": "words"}, {"width": 7}):
        with pytest.raises(InputError, match=TEACHERS + ", ".join(changes)):
            task.load_state_dict({**state, "teacher": {**teacher, **changes}})
    nameless = {**teacher, "name": "LaBSE", "weights": None}
    task.teacher.encoder = {**task.teacher.encoder, "weights": None}
    with pytest.raises(InputError, match=TEACHERS + "name"):
        task.load_state_dict({**state, "teacher": nameless})


def test_a_teacher_that_cannot_run(folder, tmp_path):
    for options, message in (
        ({"teacher_checkpoint": str(tmp_path / "x.pt")}, "--teacher-checkpoint .*x.pt: no such file"),
        ({"teacher_checkpoint": "x", "teacher": "ems"}, "--teacher: --teacher-checkpoint is given, too"),
        ({"teacher": "ems", "teacher_pooling": "cls"}, "--teacher-pooling: needs a folder as --teacher-ch"),
        (
            {"teacher_checkpoint": "x", "teacher_pooling": "max"},
            "--teacher-pooling: found 'max', expected on",
        ),
        (
            {"teacher_checkpoint": str(folder.parent / "teacher.pt"), "teacher_pooling": "cls"},
            "--teacher-pooling cls: .*teacher.pt is a checkpoint, which pools by itself; leave it out",
        ),
        ({"teacher_checkpoint": str(folder), "teacher_pooling": None}, "says not how it is pooled; give "),
        (
            {"teacher_checkpoint": str(tmp_path), "teacher_pooling": "cls"},
            f"--teacher-checkpoint {tmp_path}: no weights in it",
        ),
    ):
        with pytest.raises(InputError, match=message):
            make_task(folder, **options)


def test_losses_and_their_teacher_are_part_of_a_systems_name():
    criterion = Namespace(_name="weighted_losses", losses=BOTH, feature_distillation_pattern="synchronized")
    task = Namespace(_name="sentence_embedding", teacher="ems")
    cfg = {"criterion": criterion, "model": model_options(), "task": task, "common": {"seed": 1}}
    losses = "+feature_distillation (pattern synchronized, teacher {0}) +logit_distillation (teacher {0})"
    assert losses.format("LaBSE") in describe(cfg, "none", teacher="LaBSE")["name"]
    assert losses.format("ems") in describe(cfg, "none")["name"]  # what the user called its vectors


def test_a_running_teacher_is_part_of_a_systems_name_and_its_place_is_not(folder, tmp_path):
    """What the checkpoint of a student says of it; its path stays out of a checkpoint (security)."""
    task, model, _ = student_of(folder, RUNNING)
    state = state_of(task, model, model_options(), teacher_checkpoint=str(folder.parent / "teacher.pt"))
    state["cfg"]["criterion"] = Namespace(_name="weighted_losses", losses=BOTH)
    path = save(tmp_path / "student.pt", state)
    teacher = task.teacher.encoder["name"]
    for system in (load_for_inference(path, folder, False).system(), Candidate.read(path).system):
        assert system["losses"]["logit_distillation"] == {"teacher": teacher}
        assert f"+logit_distillation (teacher {teacher})" in system["name"]
