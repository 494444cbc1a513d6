"""Which tokens BERT-score compares: all that an encoder has read, in training, in its checkpoint and in its
folder alike.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from embeddings.encoders.options import EncoderOptions
from fairseq_ext.losses.comparison import similarities
from fairseq_ext.losses.global_ranking import GlobalRankingOptions
from fairseq_ext.losses.weighted_loss import ModelSizes, read_by
from tests.data_prep.tokenizer_folders import TEXT
from tests.fairseq_ext.test_checkpoints import save
from tests.fairseq_ext.test_pretrained_encoder import (
    batch_of,
    build,
    data_tokenizer,
    state_of,
    theirs,
    write_data,
    write_model,
)
from tests.fairseq_ext.test_sentence_losses import DICTIONARY, make_batch, make_model


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder of transformers, and data of its tokenizer."""
    root = tmp_path_factory.mktemp("bert")
    folder = write_model(root / "model", "bert")
    return folder, write_data(root, folder)


def library_states(folder) -> list[torch.Tensor]:
    """Of every line, [CLS] and [SEP] included, T x C."""
    output, mask = theirs(folder)
    return [states[own.squeeze(1).bool()] for states, own in zip(output.last_hidden_state, mask, strict=True)]


def f_in_a_loop(source, target, with_specials: bool) -> float:
    """Of dot products, 2.2; special tokens are matches, whether or not they count."""
    products = source @ target.t()
    counted = slice(None) if with_specials else slice(1, -1)
    recall, precision = products.amax(1)[counted].mean(), products.amax(0)[counted].mean()
    return float(2 * precision * recall / (precision + recall))


@pytest.mark.parametrize("with_specials", [True, False])
def test_training_compares_the_tokens_of_the_library(world, with_specials):
    folder, data = world
    task, model, _ = build(folder, data)
    tokens = batch_of(task, data)
    encoded = model.encoder(tokens)
    outputs = SimpleNamespace(source=encoded, mirror=encoded)
    given = GlobalRankingOptions(normalization=0.0, without_specials=not with_specials)
    batch = {side: {"src_tokens": tokens} for side in ("net_input", "mirror")}
    found = similarities(outputs, batch, given, ModelSizes.of(model, task.dictionary)).detach().numpy()
    states = library_states(folder)
    expected = [[f_in_a_loop(one, other, with_specials) for other in states] for one in states]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_checkpoint_and_its_folder_have_the_same_tokens(world, tmp_path):
    folder, data = world
    task, model, args = build(folder, data)
    path = save(tmp_path / "model.pt", state_of(task, model, args))
    model.encoder.save_pretrained(tmp_path / "exported", data_tokenizer(str(data)))
    of_checkpoint, of_folder, of_export = (
        EncoderOptions(cpu=True, **given).load().encode_tokens(TEXT)
        for given in (
            {"model": tmp_path / path, "model_data": data},
            {"model": folder},
            {"model": tmp_path / "exported"},
        )
    )
    for line, expected in enumerate(library_states(folder)):
        special = [True, *[False] * (len(expected) - 2), True]
        for found in (of_checkpoint, of_folder, of_export):
            np.testing.assert_allclose(found.states[line], expected.numpy(), atol=1e-5)
            assert found.special[line].tolist() == special


def test_an_encoder_of_our_own_that_reads_a_symbol_in_front():
    """Losses of words have the states of the batch's tokens; those that compare sentences have all."""
    model, tokens = make_model(pooling="cls").eval(), make_batch()["net_input"]["src_tokens"]
    encoded = model.encoder(tokens)
    read = read_by(encoded, tokens)
    assert read.tokens[:, 0].tolist() == [DICTIONARY.bos()] * len(tokens)
    assert torch.equal(read.tokens[:, 1:], tokens)
    assert torch.equal(read.padding, read.tokens.eq(DICTIONARY.pad()))
    assert torch.equal(read.states[0], encoded["sentence_vectors"])
    assert torch.equal(read.states[1:], encoded["token_states"][0])
