"""Every option of fairseq's Transformer in ours: it does what it does in fairseq, or is refused, or has no
effect on what fairseq's computes either.

The options are read from fairseq itself, so that a new version's option fails here until somebody decides.
"""

import dataclasses
import inspect
import re

import pytest
import torch
from fairseq.models.transformer import (
    TransformerConfig,
    TransformerModel,
    transformer_base,
    transformer_decoder,
    transformer_encoder,
    transformer_legacy,
)
from fairseq.modules import transformer_layer

from command_line.errors import InputError
from fairseq_ext.criterions.fused_label_smoothed_cross_entropy import FusedLabelSmoothedCrossEntropyCriterion
from fairseq_ext.models.mnmt_transformer import UNSUPPORTED, MnmtTransformerModel
from tests.fairseq_ext import bridges
from tests.fairseq_ext.models import ToyTask, build, random_batch, toy_dictionary

UNSHARED = {"share_all_embeddings": False}
BANDS = {**UNSHARED, "adaptive_softmax_cutoff": "10,20"}
PRE = {"encoder_normalize_before": True, "decoder_normalize_before": True}

# Option -> (its value, what else it needs): the model becomes another one, as fairseq's does.
BUILDS = {
    "encoder_embed_dim": (16, UNSHARED),
    "encoder_ffn_embed_dim": (16, {}),
    "encoder_layers": (3, {}),
    "encoder_attention_heads": (2, {}),
    "encoder_normalize_before": (True, {"decoder_normalize_before": True}),
    "encoder_learned_pos": (True, {}),
    "encoder_layers_to_keep": ("0,2", {}),
    "encoder_embed_path": ("EMBEDDINGS", {}),
    "decoder_embed_dim": (16, UNSHARED),
    "decoder_ffn_embed_dim": (16, {}),
    "decoder_layers": (1, {}),
    "decoder_attention_heads": (2, {}),
    "decoder_normalize_before": (True, {"encoder_normalize_before": True}),
    "decoder_learned_pos": (True, {}),
    "decoder_layers_to_keep": ("0", {}),
    "decoder_embed_path": ("EMBEDDINGS", UNSHARED),
    "decoder_output_dim": (16, UNSHARED),
    "activation_fn": ("gelu", {}),
    "max_source_positions": (32, {"encoder_learned_pos": True}),
    "max_target_positions": (32, {"decoder_learned_pos": True}),
    "share_decoder_input_output_embed": (True, UNSHARED),
    "share_all_embeddings": (False, {}),
    "merge_src_tgt_embed": (True, UNSHARED),
    "no_token_positional_embeddings": (True, {}),
    "no_scale_embedding": (True, {}),
    "layernorm_embedding": (True, {}),
    "no_cross_attention": (True, {}),
    "no_decoder_final_norm": (True, PRE),
    "adaptive_softmax_cutoff": ("10,20", UNSHARED),
    "adaptive_softmax_factor": (2, BANDS),
}
# They change what a training pass computes.
TRAINS = {
    "dropout": (0.5, {}),
    "attention_dropout": (0.5, {}),
    "activation_dropout": (0.5, {}),
    "relu_dropout": (0.5, {}),
    "encoder_layerdrop": (0.5, {}),
    "decoder_layerdrop": (0.5, {}),
    "adaptive_softmax_dropout": (0.5, BANDS),
}
# They change the memory of training: states are computed again in the backward pass.
RECOMPUTES = ("checkpoint_activations", "offload_activations")
WITHOUT_EFFECT = {
    "adaptive_input": "fairseq's translation Transformer asks for it before it adds noise, and nowhere else",
    "decoder_input_dim": "fairseq takes the width of the embeddings, which is decoder_embed_dim",
    "quant_noise_pq_block_size": "of quant_noise_pq, which is refused",
    "base_sublayers": "of base_layers, which is refused",
    "base_shuffle": "of base_layers, which is refused",
    "tie_adaptive_weights": "needs adaptive input: building the model fails, in fairseq as well",
    "tie_adaptive_proj": "of tie_adaptive_weights",
    "char_inputs": "deprecated, read nowhere",
    "export": "chooses between two implementations of the same layer normalization",
    "min_params_to_wrap": "where fully sharded training cuts the model into pieces",
}


def fairseq_options() -> set[str]:
    """Names of all options that fairseq's Transformer has or looks for, as a checkpoint spells them."""
    names = set()
    for field in dataclasses.fields(TransformerConfig):
        part = getattr(TransformerConfig(), field.name)
        if dataclasses.is_dataclass(part):
            names |= {f"{field.name}_{inner.name}" for inner in dataclasses.fields(part)}
        else:
            names.add(field.name)
    parts = (
        transformer_layer,
        transformer_base,
        transformer_encoder,
        transformer_decoder,
        transformer_legacy,
    )
    for source in map(inspect.getsource, parts):
        names |= set(re.findall(r"getattr\(\s*(?:cfg|args), \"(\w+)\"", source))
    return {name for name in names if not name.endswith("_name")}


def test_every_option_is_decided_once():
    decided = [*BUILDS, *TRAINS, *RECOMPUTES, *WITHOUT_EFFECT, *UNSUPPORTED]
    assert len(decided) == len(set(decided))
    assert set(decided) == fairseq_options()
    assert {"scale_fc", "scale_heads", "scale_resids"} <= set(UNSUPPORTED)  # the search finds them


@pytest.fixture
def embeddings(tmp_path):
    """A file of word vectors of width 32."""
    rows = [f"w{number} " + " ".join([str(number / 10)] * 32) for number in range(10)]
    (tmp_path / "vectors").write_text("10 32\n" + "".join(f"{row}\n" for row in rows))
    return str(tmp_path / "vectors")


def both(option, table, embeddings=None):
    """fairseq's model and ours with the option, from the same weights, and fairseq's without it."""
    value, others = table[option]
    value = embeddings if value == "EMBEDDINGS" else value
    return tuple(
        build(model, toy_dictionary(), **{**others, **own})
        for model, own in (
            (TransformerModel, {option: value}),
            (MnmtTransformerModel, {option: value}),
            (TransformerModel, {}),
        )
    )


def shapes(model) -> dict:
    return {name: tensor.shape for name, tensor in model.state_dict().items()}


def output_of(model):
    model.decoder.adaptive_softmax = None  # features are enough: its parameters are compared
    features = getattr(model.decoder, "output_projection", None) is None
    return model(**random_batch(toy_dictionary())["net_input"], features_only=features)[0]


REAL = random_batch(toy_dictionary())["target"].ne(toy_dictionary().pad())


@pytest.mark.parametrize("option", BUILDS)
def test_it_makes_the_model_that_it_makes_in_fairseq(option, embeddings):
    stock, ours, plain = both(option, BUILDS, embeddings)
    assert shapes(ours) == shapes(stock)
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, stock.state_dict()[name]), name  # the same seed, the same weights
    same_weights = shapes(plain) == shapes(stock) and all(
        torch.equal(tensor, stock.state_dict()[name]) for name, tensor in plain.state_dict().items()
    )
    found, expected = (output_of(model.eval())[REAL] for model in (ours, stock))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert not same_weights or not torch.allclose(output_of(plain.eval())[REAL], expected, atol=1e-3)


@pytest.mark.parametrize("option", TRAINS)
def test_it_changes_training_as_in_fairseq(option):
    stock, ours, _ = both(option, TRAINS)
    ours.load_state_dict(stock.state_dict(), strict=True)
    if option == "adaptive_softmax_dropout":
        drops = [
            [m.p for m in model.decoder.adaptive_softmax.modules() if hasattr(m, "p")]
            for model in (stock, ours)
        ]
        assert drops[0] == drops[1] and 0.5 in drops[0]
        return
    trained = []
    for model in (stock, ours):
        evaluated = output_of(model.eval())[REAL]
        torch.manual_seed(7)
        trained.append(output_of(model.train())[REAL])
        assert not torch.allclose(trained[-1], evaluated, atol=1e-3)
    if option.endswith("layerdrop"):  # drawn once per layer, by the same generator
        torch.testing.assert_close(trained[1], trained[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("option", RECOMPUTES)
@pytest.mark.parametrize("bridge", [False, True])
def test_states_are_computed_again_in_the_backward_pass(option, bridge):
    def model_with(**options):
        if bridge:
            return bridges.build(**options)
        return build(MnmtTransformerModel, toy_dictionary(), **options)

    inputs = bridges.batch(bridges.TaggedTask()) if bridge else random_batch(toy_dictionary())
    gradients, passes = [], []
    for options in ({}, {option: True}):
        model, calls = model_with(**options).train(), []
        layers = [*model.encoder.layers, *model.decoder.layers]
        layers += [*model.encoder.interlingua.layers] if bridge else []
        for layer in layers:
            layer.fc2.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        model(**inputs["net_input"])[0].square().sum().backward()
        gradients.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
        passes.append(len(calls) / len(layers))
    assert passes == [1, 2]
    assert set(gradients[0]) == set(gradients[1])
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, atol=1e-4, rtol=1e-4, msg=name)


VALUES = {name: "{}" for name in UNSUPPORTED if name.endswith("config")} | {"base_layers": 1}


@pytest.mark.parametrize("option", UNSUPPORTED)
def test_it_is_refused(option):
    with pytest.raises(InputError) as caught:
        build(MnmtTransformerModel, toy_dictionary(), **{option: VALUES.get(option, 0.5)})
    shown = option.replace("_", "-")
    assert str(caught.value) == f"--{shown}: mnmt_transformer lacks it; use --arch transformer"


OTHER_NUMBERS = {
    "decoder_input_dim": 16,
    "quant_noise_pq_block_size": 4,
    "base_sublayers": 2,
    "base_shuffle": 0,
    "min_params_to_wrap": 1,
}


@pytest.mark.parametrize("option", [name for name in WITHOUT_EFFECT if name != "tie_adaptive_weights"])
def test_it_has_no_effect_in_fairseq_either(option):
    options = {option: OTHER_NUMBERS.get(option, True)}
    stock, ours = (
        build(model, toy_dictionary(), **options) for model in (TransformerModel, MnmtTransformerModel)
    )
    plain = build(TransformerModel, toy_dictionary())
    assert shapes(stock) == shapes(plain) == shapes(ours)
    expected = output_of(plain.eval())[REAL]
    torch.testing.assert_close(output_of(stock.eval())[REAL], expected)
    torch.testing.assert_close(output_of(ours.eval())[REAL], expected, atol=1e-5, rtol=1e-5)


def test_tied_adaptive_weights_fail_in_fairseq_as_well():
    for model in (TransformerModel, MnmtTransformerModel):
        with pytest.raises(AttributeError, match="weights_for_band"):
            build(model, toy_dictionary(), **BANDS, tie_adaptive_weights=True)


def test_the_fused_loss_refuses_an_adaptive_softmax():
    dictionary = toy_dictionary()
    model = build(MnmtTransformerModel, dictionary, **BANDS)
    task = ToyTask(dictionary)
    task.target_dictionary = dictionary
    criterion = FusedLabelSmoothedCrossEntropyCriterion(task, sentence_avg=False, label_smoothing=0.1)
    with pytest.raises(InputError, match="--adaptive-softmax-cutoff: the fused loss needs one projection"):
        criterion(model, random_batch(dictionary))
