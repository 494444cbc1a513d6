"""`--pretrained-encoder` with kinds of encoders that say more, or less, of themselves than BERT and XLM-R."""

import json
import shutil

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext.inference import load_for_inference
from fairseq_ext.models import pretrained_encoder
from fairseq_ext.models.pretrained_configuration import config_of, read_config
from tests.data_prep.tokenizer_folders import KINDS
from tests.fairseq_ext.test_checkpoints import save
from tests.fairseq_ext.test_pretrained_encoder import (
    batch_of,
    build,
    data_tokenizer,
    state_of,
    theirs,
    write_data,
)

DEBERTA = {  # the options of mDeBERTa-v3
    "relative_attention": True, "position_buckets": 4, "pos_att_type": "p2c|c2p", "share_att_key": True,
    "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0,
}  # fmt: skip
SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 40, "pad_token_id": 0, "initializer_range": 0.3,
}  # fmt: skip
OF_KIND = {
    "deberta-v2": SIZES | DEBERTA,
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 40,
                   "initializer_range": 0.3},
    "rembert": SIZES | {"input_embedding_size": 8},
    "albert": SIZES | {"embedding_size": 8},
    "xlm": {"emb_dim": 16, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 40, "pad_index": 0,
            "pad_token_id": 0},
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A folder with a tokenizer alone, and data of it."""
    root = tmp_path_factory.mktemp("tokenizer")
    folder = KINDS["bert"](root / "tokenizer")
    return folder, write_data(root, folder)


def write_kind(folder, kind: str, tokenizer):
    """An encoder of random weights, with a tokenizer."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    shutil.copytree(tokenizer, folder)
    symbols = len(AutoTokenizer.from_pretrained(tokenizer))
    torch.manual_seed(5)
    AutoModel.from_config(AutoConfig.for_model(kind, vocab_size=symbols, **OF_KIND[kind])).save_pretrained(
        folder
    )
    return folder


@pytest.mark.parametrize("kind", ["deberta-v2", "distilbert"])
def test_states_are_those_of_the_library(tokenizer, tmp_path, kind):
    """Also in the checkpoint, which has the configuration alone, and in a folder that is written again."""
    folder, data = write_kind(tmp_path / "model", kind, tokenizer[0]), tokenizer[1]
    task, model, args = build(folder, data)
    tokens = batch_of(task, data)
    loaded = load_for_inference(
        save(tmp_path / "model.pt", state_of(task, model, args)), data, translates=False
    )
    loaded.model.encoder.save_pretrained(tmp_path / "again", data_tokenizer(str(data)))
    output, mask = theirs(folder)
    again, _ = theirs(tmp_path / "again")
    torch.testing.assert_close(again.last_hidden_state * mask, output.last_hidden_state * mask)
    for each in (model, loaded.model.eval()):
        found = each.encoder(tokens, return_all_hiddens=True)
        for states, expected in zip(found["encoder_states"], output.hidden_states, strict=True):
            torch.testing.assert_close(states.transpose(0, 1) * mask, expected * mask, atol=1e-5, rtol=1e-4)
    trained = [name for name, one in build(folder, data, pooling_layer="1")[1].named_parameters()
               if one.requires_grad]  # fmt: skip
    assert any("layer.0." in name for name in trained)
    assert not any("layer.1." in name for name in trained)


def test_a_configuration_keeps_its_lists(tokenizer, tmp_path):
    text = read_config(write_kind(tmp_path / "model", "deberta-v2", tokenizer[0]))
    assert config_of(text).pos_att_type == json.loads(text)["pos_att_type"] == ["p2c", "c2p"]
    assert not {"id2label", "architectures"} & set(json.loads(text))


def test_an_encoder_that_would_compute_something_else_is_refused(tokenizer, tmp_path, monkeypatch):
    """Whatever it is that the configuration and the embeddings of tokens do not say."""
    folder = write_kind(tmp_path / "model", "deberta-v2", tokenizer[0])

    def without_positions(path) -> str:
        return json.dumps(json.loads(read_config(path)) | {"pos_att_type": ["c2p"]})

    monkeypatch.setattr(pretrained_encoder, "read_config", without_positions)
    with pytest.raises(
        InputError, match=r"^--pretrained-encoder .*: its states are others than those of its conf"
    ):
        build(folder, tokenizer[1])


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (
            "rembert",
            "--pretrained-encoder: an encoder of the kind rembert with embeddings of width 8 below layers",
        ),
        (
            "albert",
            "--pretrained-encoder: an encoder of the kind albert with embeddings of width 8 below layers",
        ),
        ("xlm", "field 'model_type' is 'xlm'; expected a text model that is known here, such as bert"),
    ],
)
def test_kinds_that_are_refused(tokenizer, tmp_path, kind, line):
    folder = write_kind(tmp_path / "model", kind, tokenizer[0])
    with pytest.raises(InputError) as found:
        build(folder, tokenizer[1])
    assert line in str(found.value)
    assert "\n" not in str(found.value)
