"""Fewer dimensions (thesis 3.2.2): a linear map on stored vectors learns what it does on the encoder."""

from argparse import Namespace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from data_prep.formats.teacher_vectors import TeacherVectors
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.checkpoints.reading import read_checkpoint
from fairseq_ext.models.mnmt_transformer import MnmtEncoder
from tests.fairseq_ext.test_checkpoints import save
from tests.fairseq_ext.test_pretrained_encoder import write_data, write_model
from tests.fairseq_ext.test_sentence_embedding import (
    make_criterion,
    make_model,
    make_task,
    model_options,
    train,
    validate,
    whole_part,
)
from tests.fairseq_ext.test_teachers import folder, state_of  # noqa: F401, a fixture
from tests.our_commands import run_command

STORED = {"encoder_vectors": "ems"}
TEACHER = {"encoder_embed_dim": 24, "encoder_attention_heads": 2}
REDUCED = {**TEACHER, "freeze_encoder": True, "sentence_width": 6}


def reduction(data, task_options, losses="additive_margin", weights=None, **options):
    """A task, a model that begins with the teacher's weights, and a criterion."""
    task = make_task(data, max_source_positions=9, eval_retrieval=True, **task_options)
    model = make_model(task, **{**REDUCED, **options})
    model.load_state_dict(weights or read_checkpoint(data.parent / "teacher.pt")["model"])
    criterion = make_criterion(task, losses)
    for split in ("train", "valid"):
        task.load_dataset(split)
    return task, model, criterion


def losses_of(task, model, criterion) -> list:
    batches = [whole_part(task, "train", number) for number in (0, 1)]
    trained = train(task, model, criterion, batches, updates=4)
    measured = validate(task, model, criterion)
    return trained + [value for name, value in measured.items() if "loss" in name]


@pytest.mark.parametrize("random_sides", [False, True])
def test_equal_losses_of_stored_vectors_and_of_the_frozen_encoder(folder, random_sides):  # noqa: F811
    found = [
        losses_of(*reduction(folder, {**options, "random_sides": random_sides})) for options in ({}, STORED)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-4) and len(found[0]) > 6
    assert found[0][0] > found[0][3]  # it learns


def test_no_update_runs_the_layers(folder):  # noqa: F811
    task, model, criterion = reduction(folder, STORED)
    calls, plain = [], MnmtEncoder.forward

    def counted(encoder, tokens, *others):
        calls.append(len(tokens))
        return plain(encoder, tokens, *others)

    with mock.patch.object(MnmtEncoder, "forward", counted):
        losses_of(task, model, criterion)
    assert calls == [4, 4]  # a few sentences of either side, once, to see that the vectors are its own
    learn = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert learn == {"encoder.sentence_map.weight", "encoder.sentence_map.bias"}


def test_the_encoder_and_its_map_are_an_encoder_of_raw_text(folder, tmp_path):  # noqa: F811
    """The checkpoint needs no stored vectors: it has the layers."""
    task, model, criterion = reduction(folder, STORED)
    losses_of(task, model, criterion)
    state = state_of(task, model, model_options(**REDUCED), **STORED)
    path = Path(save(tmp_path / "reduced.pt", state))
    lines = ["w1 w2 w3", "w4 w5"]
    teacher, reduced = (
        EncoderOptions(each, model_data=folder, cpu=True).load().encode(lines, "de")
        for each in (folder.parent / "teacher.pt", path)
    )
    layer = model.encoder.sentence_map
    expected = teacher @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    np.testing.assert_allclose(reduced, expected, atol=1e-5)


def test_the_pooler_of_an_encoder_of_transformers(tmp_path):
    """As LaBSE's: what `encode --encoder transformers --pooling pooler` stores is what the model pools."""
    # large weights: those that transformers draws tell these sentences hardly apart, and no update shows in
    # the loss
    model_folder = write_model(tmp_path / "model", "bert", initializer_range=1.0)
    data = write_data(tmp_path, model_folder)
    words = (
        f"embeddings encode --data {data} --text {tmp_path}/raw --model {model_folder} --name pooler --cpu"
    )
    words += " --encoder transformers --pooling pooler --split train,valid --dtype float16"
    assert run_command(words.split()) == 0
    task = make_task(data, pairs="de-en", encoder_vectors="pooler")
    options = {"pooling": "pooler", "freeze_encoder": True, "sentence_width": 4}
    args = Namespace(arch="sentence_encoder", pretrained_encoder=str(model_folder), **options)
    torch.manual_seed(1)
    model = task.build_model(Namespace(_name="sentence_encoder", **vars(args)))
    criterion = make_criterion(task, "additive_margin")
    task.load_dataset("train")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    losses = train(task, model, criterion, [whole_part(task, "train", 0)], updates=3)
    assert losses[0] > losses[2] + 1e-3
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"encoder.sentence_map.weight", "encoder.sentence_map.bias"}


# --- what is refused


def refusal(*arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        losses_of(*reduction(*arguments, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("options", [{"freeze_encoder": False}, {"sentence_width": None}], ids=str)
def test_layers_that_are_trained_and_no_map(folder, options):  # noqa: F811
    assert "give --freeze-encoder and --sentence-width" in refusal(folder, STORED, **options)


def test_vectors_of_another_width(folder):  # noqa: F811
    options = {"encoder_embed_dim": 32, "encoder_attention_heads": 2}
    message = refusal(folder, STORED, **options)
    assert "--encoder-vectors ems: vectors of " in message and "and width 24, but the" in message
    assert "has those of 32 numbers" in message


def test_vectors_of_another_encoder(folder):  # noqa: F811
    weights = read_checkpoint(folder.parent / "teacher.pt")["model"]
    other = {name: value + 0.2 * torch.randn_like(value.float()) for name, value in weights.items()}
    message = refusal(folder, STORED, weights=other)
    assert "vectors of " in message and "gives others of the same sentences" in message


def test_both_encoders_are_named(folder):  # noqa: F811
    task = make_task(folder, max_source_positions=9, **STORED)
    model = make_model(task, **REDUCED)
    model.encoder.pooled_width = 32
    ours = r"from ems/best\.pt \(0123abcd\), has those of 32"
    with pytest.raises(InputError, match=rf"vectors of .* \(.*\) and width 24, but the .*, {ours}"):
        task.frozen_vectors.freeze(model, True, {"file": "ems/best.pt", "sha256": "0123abcdef"})


def test_vectors_of_length_1_are_not_those_of_the_encoder(folder):  # noqa: F811
    teacher = str(folder.parent / "teacher.pt")
    words = ["embeddings", "encode", "--data", str(folder), "--model", teacher, "--model-data", str(folder)]
    words += ["--split", "train,valid", "--name", "unit", "--normalize", "--cpu"]
    assert run_command(words) == 0
    assert abs(np.linalg.norm(TeacherVectors(folder / "train.de-en.de.unit.vectors")[0]) - 1) < 1e-5
    assert "encode --data`, without --normalize" in refusal(folder, {"encoder_vectors": "unit"})


def test_losses_of_states_of_tokens(folder):  # noqa: F811
    message = refusal(folder, STORED, losses="additive_margin,word_contrastive")
    assert "--losses word_contrastive looks at more than vectors of sentences" in message


def test_vectors_that_are_missing(folder):  # noqa: F811
    message = refusal(folder, {"encoder_vectors": "labse"})
    assert message.startswith("--encoder-vectors labse: ") and "has vectors of ems" in message
