"""The architectures of Tables 3.1 and A.3: parameters are those of the tables, and outputs those of BERT."""

import re
from argparse import Namespace

import pytest
import torch

from embeddings.encoders.sizes import size_of_transformers
from fairseq_ext.checkpoints.parameters import ENCODER_LAYERS, count_parameters
from fairseq_ext.models.lealla_architectures import ROWS
from fairseq_ext.models.sentence_encoder import SentenceEncoderModel
from tests.fairseq_ext.models import ToyTask, toy_dictionary

VOCABULARY = 501_153
TABLE = {  # row of Table A.3: L, d_h, d_ff, H, P and P_E in millions
    0: (12, 768, 3072, 12, 471, 85),
    1: (6, 768, 3072, 12, 428, 42),
    2: (3, 768, 3072, 12, 407, 21),
    3: (12, 384, 1536, 12, 214, 21),
    4: (12, 192, 768, 12, 102, 6),
    5: (24, 384, 1536, 12, 235, 42),
    6: (24, 256, 1024, 8, 147, 19),
    7: (24, 192, 768, 12, 107, 11),
    8: (24, 128, 512, 8, 69, 5),
    9: (24, 64, 256, 8, 33, 1),
    10: (24, 256, 256, 4, 138, 10),
    11: (24, 192, 192, 4, 102, 6),
    12: (24, 128, 128, 4, 66, 2),
}
# Printed otherwise than rounded: 42.5 and 42.6 as 42, 66.6 as 66, 9.499 as 10, and 5.3 and 5.4 as 6, which is
# P without the word embeddings (102 - 96). No one definition gives all numbers of P_E.
ROUNDED_OTHERWISE = {(1, "P_E"), (5, "P_E"), (12, "P"), (10, "P_E"), (4, "P_E"), (11, "P_E")}


class Vocabulary501k(ToyTask):
    """A task with a dictionary of the size of LaBSE's, of which nothing but special symbols is looked at."""

    def __init__(self):
        dictionary = toy_dictionary(0)
        dictionary.symbols = range(VOCABULARY)
        super().__init__(dictionary)


def model_of(name: str, task, **options) -> SentenceEncoderModel:
    from fairseq.models import ARCH_CONFIG_REGISTRY

    args = Namespace(max_source_positions=511, max_target_positions=None, **options)
    ARCH_CONFIG_REGISTRY[name](args)
    return SentenceEncoderModel.build_model(args, task)


def parameters_of_layer(width: int, ffn_width: int) -> int:
    """Four maps of attention, two of the feed-forward network, two norms; all with biases."""
    attention, norms = 4 * (width * width + width), 2 * 2 * width
    return attention + (width * ffn_width + ffn_width) + (ffn_width * width + width) + norms


@pytest.mark.parametrize("row", TABLE)
def test_parameters_are_those_of_the_table(row):
    layers, width, ffn_width, heads, *expected = TABLE[row]
    with torch.device("meta"):
        model = model_of(ROWS[row][0], Vocabulary501k())
    layer = model.encoder.layers[0]
    assert (len(model.encoder.layers), model.encoder.sentence_width) == (layers, width)
    assert (layer.fc1.out_features, layer.self_attn.heads) == (ffn_width, heads)
    found = count_parameters(model.state_dict())
    exact = layers * parameters_of_layer(width, ffn_width)
    rows = VOCABULARY + len(model.encoder.embed_positions.weight)
    assert found[ENCODER_LAYERS] == exact
    assert found["total"] == exact + rows * width + 2 * width + width * width + width  # norm, pooler
    assert found["total"] == sum(one.numel() for one in model.parameters())
    for label, part, millions in zip(("P", "P_E"), ("total", ENCODER_LAYERS), expected, strict=True):
        error = abs(found[part] / 1e6 - millions)
        assert error < (1 if (row, label) in ROUNDED_OTHERWISE else 0.5), (row, label, found[part])


@pytest.mark.parametrize(("name", "row"), [("lealla_small", 8), ("lealla_base", 7), ("lealla_large", 6)])
def test_lealla_is_the_rows_that_the_text_names(name, row):
    assert ROWS[row][0] == name


def test_a_sentence_has_the_pooler_output_of_bert():
    """Against `BertModel` of transformers with the same weights."""
    from transformers import BertConfig, BertModel

    dictionary = toy_dictionary()
    ours = model_of("thin_deep_64", ToyTask(dictionary), encoder_layers=2).eval()
    config = BertConfig(
        vocab_size=len(dictionary), hidden_size=64, num_hidden_layers=2, num_attention_heads=8,
        intermediate_size=256, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=dictionary.pad(),
    )  # fmt: skip
    theirs = BertModel(config).eval()
    theirs.load_state_dict(as_bert(ours.encoder.state_dict(), dictionary.pad()), strict=True)
    tokens = torch.tensor([[7, 9, 12, 5, 2], [8, 2, 1, 1, 1]])
    with torch.no_grad():
        found = ours.encoder(tokens, tokens.ne(1).sum(1))["sentence_vectors"]
        with_cls = torch.cat([tokens.new_full((2, 1), dictionary.bos()), tokens], dim=1)
        expected = theirs(with_cls, attention_mask=with_cls.ne(1).long()).pooler_output
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def as_bert(weights: dict, pad: int) -> dict:
    """Our encoder's weights under the names of transformers' BERT."""
    names = {
        "embed_tokens.weight": "embeddings.word_embeddings.weight",
        "layernorm_embedding": "embeddings.LayerNorm",
        "pooler": "pooler.dense",
        "layers": "encoder.layer",
        "self_attn.q_proj": "attention.self.query",
        "self_attn.k_proj": "attention.self.key",
        "self_attn.v_proj": "attention.self.value",
        "self_attn.out_proj": "attention.output.dense",
        "self_attn_layer_norm": "attention.output.LayerNorm",
        "fc1": "intermediate.dense",
        "fc2": "output.dense",
        "final_layer_norm": "output.LayerNorm",
    }
    found = {"embeddings.token_type_embeddings.weight": torch.zeros(1, 64)}
    for name, value in weights.items():
        if name == "embed_positions.weight":
            found["embeddings.position_embeddings.weight"] = value[pad + 1 :]
            continue
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        found[name] = value
    return {name: value for name, value in found.items() if not name.endswith("version")}


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "distilbert", "modernbert", "xlnet"])
def test_layers_of_transformers_are_counted_whatever_they_are_called(kind):
    import transformers

    config = transformers.CONFIG_MAPPING[kind]()
    sizes = {"hidden_size": 8, "dim": 8, "d_model": 8, "num_hidden_layers": 2, "n_layers": 2, "n_layer": 2}
    sizes |= {"num_attention_heads": 2, "n_heads": 2, "n_head": 2, "d_head": 4, "intermediate_size": 16}
    sizes |= {"hidden_dim": 16, "d_inner": 16, "vocab_size": 20, "pad_token_id": 1}
    for name, value in sizes.items():
        if hasattr(config, name):
            setattr(config, name, value)
    model = transformers.AutoModel.from_config(config)
    layers = [module for name, module in model.named_modules() if re.search(r"layers?\.\d+$", name)]
    expected = sum(one.numel() for layer in layers for one in layer.parameters())
    assert len(layers) == 2 and size_of_transformers(model).layer_parameters == expected
    stored = {f"encoder.model.{name}": value for name, value in model.state_dict().items()}
    assert count_parameters(stored)[ENCODER_LAYERS] == expected
