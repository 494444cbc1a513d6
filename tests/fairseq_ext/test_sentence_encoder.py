"""Model `sentence_encoder`: every pooling against a loop over its sentences, the decoder that sees the vector
alone."""

from argparse import Namespace

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext.losses.weighted_loss import ModelSizes, padding_of, states_of, vectors_of
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.models.sentence_encoder import SentenceEncoderModel, ems_architecture
from fairseq_ext.modules.residual_block import PLACEMENTS
from tests.fairseq_ext.models import SIZES, ToyTask, build, random_batch, toy_dictionary

ENCODER = {name: value for name, value in SIZES.items() if not name.startswith("decoder_")}
DECODER = {name: value for name, value in SIZES.items() if name.startswith("decoder_")}


@pytest.fixture(scope="module")
def dictionary():
    return toy_dictionary()


def encoder_of(dictionary, seed: int = 1, **options) -> SentenceEncoderModel:
    torch.manual_seed(seed)
    args = Namespace(**{"dropout": 0.0, "attention_dropout": 0.0, **ENCODER, **options})
    return SentenceEncoderModel.build_model(args, ToyTask(dictionary)).eval()


def sentences(dictionary) -> torch.Tensor:
    return random_batch(dictionary)["net_input"]["src_tokens"]


def alone(model, tokens: torch.Tensor, row: int) -> tuple[list[int], list[torch.Tensor]]:
    """The tokens of a sentence without padding, and their states (after the final norm) when it is encoded by
    itself.
    """
    row_tokens = tokens[row][tokens[row].ne(model.encoder.padding_idx)]
    states = states_of(model.encoder(row_tokens.unsqueeze(0)))[:, 0]
    return row_tokens.tolist(), list(states)


LOOPS = {
    "mean": lambda states: sum(states) / len(states),
    "sum": sum,
    "max": lambda states: torch.stack([max(column) for column in torch.stack(states).unbind(1)]),
}


@pytest.mark.parametrize("norm_placement", PLACEMENTS)
@pytest.mark.parametrize("without_eos", [False, True])
@pytest.mark.parametrize("pooling", LOOPS)
def test_a_vector_is_pooled_over_the_tokens_of_its_sentence(dictionary, pooling, without_eos, norm_placement):
    model = encoder_of(
        dictionary, pooling=pooling, pooling_without_eos=without_eos, norm_placement=norm_placement
    )
    tokens = sentences(dictionary)
    vectors = vectors_of(model(tokens))
    for row, vector in enumerate(vectors):
        words, states = alone(model, tokens, row)
        assert words[-1] == dictionary.eos()
        expected = LOOPS[pooling](states[:-1] if without_eos else states)
        torch.testing.assert_close(vector, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("pooling", ["cls", "pooler"])
def test_cls_is_the_state_of_a_token_in_front(dictionary, pooling):
    model = encoder_of(dictionary, pooling=pooling)
    tokens = sentences(dictionary)
    in_front = torch.cat([torch.full((len(tokens), 1), dictionary.bos()), tokens], dim=1)
    same = build(MnmtTransformerModel, dictionary, decoder_layers=1).eval()
    weights = {k.removeprefix("encoder."): v for k, v in model.state_dict().items() if "pooler" not in k}
    same.encoder.load_state_dict(weights)
    expected = same.encoder(in_front)["encoder_out"][0]
    encoded = model(tokens)
    torch.testing.assert_close(states_of(encoded), expected[1:])
    assert torch.equal(padding_of(encoded), tokens.eq(dictionary.pad()))
    vectors = expected[0]
    if pooling == "pooler":
        dense = model.encoder.pooler
        vectors = torch.tanh(vectors @ dense.weight.t() + dense.bias)
    torch.testing.assert_close(vectors_of(encoded), vectors)


@pytest.mark.parametrize("norm_placement", PLACEMENTS)
def test_a_layer_is_what_an_encoder_that_ends_there_returns(dictionary, norm_placement):
    tokens = sentences(dictionary)
    model = encoder_of(dictionary, pooling_layer="2", norm_placement=norm_placement)
    short = encoder_of(dictionary, encoder_layers=2, norm_placement=norm_placement)
    own = short.state_dict()
    short.load_state_dict({name: value for name, value in model.state_dict().items() if name in own})
    torch.testing.assert_close(vectors_of(model(tokens)), vectors_of(short(tokens)))
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert trained == {name for name, _ in short.named_parameters()}


def test_a_mixture_is_the_softmax_of_all_layers(dictionary):
    tokens = sentences(dictionary)
    model = encoder_of(dictionary, pooling_layer="mix", norm_placement="pre")
    weights = torch.tensor([0.3, -1.0, 2.0, 0.0, 0.5])
    model.encoder.layer_weights.data.copy_(weights)
    expected = 0
    for number, weight in enumerate(weights):
        share = weight.exp() / sum(other.exp() for other in weights)
        layer = encoder_of(dictionary, pooling_layer=str(number), norm_placement="pre")
        layer.load_state_dict({k: v for k, v in model.state_dict().items() if "layer_weights" not in k})
        expected = expected + share * vectors_of(layer(tokens))
    torch.testing.assert_close(vectors_of(model(tokens)), expected)


def test_an_average_of_all_layers_is_not_trained(dictionary):
    tokens = sentences(dictionary)
    model = encoder_of(dictionary, pooling_layer="average", norm_placement="pre")
    layers = []
    for number in range(5):
        layer = encoder_of(dictionary, pooling_layer=str(number), norm_placement="pre")
        layer.load_state_dict({k: v for k, v in model.state_dict().items() if "layer_weights" not in k})
        layers.append(vectors_of(layer(tokens)))
    torch.testing.assert_close(vectors_of(model(tokens)), sum(layers) / 5)
    assert not model.encoder.layer_weights.requires_grad


def test_the_linear_map_sets_the_width(dictionary):
    tokens = sentences(dictionary)
    model = encoder_of(dictionary, sentence_width=6)
    encoded = model(tokens)
    linear = model.encoder.sentence_map
    means = vectors_of({k: v for k, v in encoded.items() if k != "sentence_vectors"})
    torch.testing.assert_close(vectors_of(encoded), means @ linear.weight.t() + linear.bias)
    sizes = ModelSizes.of(model, dictionary, ["de", "en", "fr"])
    assert (sizes.sentence_width, sizes.encoder_width, sizes.languages) == (6, 32, 3)
    assert (sizes.has_decoder, sizes.decoder_layers) == (False, None)


@pytest.mark.parametrize("pooling", ["mean", "max", "sum", "cls", "pooler"])
def test_padding_and_order_change_no_vector(dictionary, pooling):
    model = encoder_of(dictionary, pooling=pooling, sentence_width=8, pooling_layer="mix")
    tokens = sentences(dictionary)
    vectors = vectors_of(model(tokens))
    padded = torch.nn.functional.pad(tokens, (0, 5), value=dictionary.pad())
    torch.testing.assert_close(vectors_of(model(padded)), vectors, atol=1e-5, rtol=1e-4)
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(vectors_of(model(tokens[order])), vectors[order], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("pooling", LOOPS)
def test_a_sentence_without_words_has_a_vector(dictionary, pooling):
    model = encoder_of(dictionary, pooling=pooling, pooling_without_eos=True)
    tokens = torch.tensor([[dictionary.eos(), dictionary.pad()], [7, dictionary.eos()]])
    _, (eos,) = alone(model, tokens, 0)
    torch.testing.assert_close(vectors_of(model(tokens))[0], eos, atol=1e-5, rtol=1e-4)


def test_any_encoder_has_vectors(dictionary):
    """Of a translation model they are the means of its states."""
    model = build(MnmtTransformerModel, dictionary).eval()
    tokens = sentences(dictionary)
    encoded = model.encoder(tokens)
    for row, vector in enumerate(vectors_of(encoded)):
        own = encoded["encoder_out"][0][tokens[row].ne(dictionary.pad()), row]
        torch.testing.assert_close(vector, sum(own) / len(own))
    assert ModelSizes.of(model, dictionary).sentence_width == 32


@pytest.mark.parametrize("width", [None, 12])
def test_the_decoder_sees_the_vector_alone(dictionary, width):
    model = encoder_of(dictionary, sentence_width=width, **DECODER)
    batch = random_batch(dictionary)["net_input"]
    logits, _ = model(**batch)
    encoded = model.encoder(batch["src_tokens"])
    vectors = vectors_of(encoded)
    only = {"encoder_out": [vectors[None]], "encoder_padding_mask": [torch.zeros(3, 1, dtype=torch.bool)]}
    torch.testing.assert_close(model.decoder(batch["prev_output_tokens"], encoder_out=only)[0], logits)
    logits[0, 3].sum().backward()
    for name, parameter in model.encoder.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("options", [{}, {"pooling": "pooler", "pooling_layer": "mix", "sentence_width": 8}])
def test_training_starts_from_the_encoder_of_a_translation_model(dictionary, caplog, options):
    translation = build(MnmtTransformerModel, dictionary, seed=5)
    model = encoder_of(dictionary, **options)
    before = {name: value.clone() for name, value in model.encoder.pooling_state().items()}
    model.load_state_dict(translation.state_dict())
    assert len(before) == (5 if options else 0)
    for name, value in model.encoder.state_dict().items():
        expected = before[name] if name in before else translation.encoder.state_dict()[name]
        assert torch.equal(value, expected), name
    assert f"{len(before)} of the pooling begin untrained" in caplog.text
    with pytest.raises(RuntimeError, match="Missing key"):  # nothing else may be missing
        model.load_state_dict({k: v for k, v in translation.state_dict().items() if "layers.3.fc1" not in k})


@pytest.mark.parametrize("pooling", ["pooler", "mean"])
def test_the_vectors_below_the_last_map_may_have_a_width_of_their_own(dictionary, pooling):
    """Distillation-first of A.1: wide vectors for the teacher, small ones on top of them."""
    model = encoder_of(dictionary, pooling=pooling, pooler_width=48, sentence_width=12)
    encoded = model.encoder(sentences(dictionary))
    pooled = encoded["pooled_vectors"]
    sizes = ModelSizes.of(model, dictionary)
    assert pooled.shape == (3, 48) and (sizes.pooled_width, sizes.sentence_width) == (48, 12)
    torch.testing.assert_close(vectors_of(encoded), model.encoder.sentence_map(pooled))
    plain = encoder_of(dictionary, pooling=pooling.replace("pooler", "cls"))
    plain.load_state_dict(
        {k: v for k, v in model.state_dict().items() if "pooler" not in k and "map" not in k}
    )
    expected = model.encoder.pooler(vectors_of(plain.encoder(sentences(dictionary))))
    torch.testing.assert_close(pooled, expected.tanh() if pooling == "pooler" else expected)
    assert vectors_of(encoder_of(dictionary, pooler_width=48).encoder(sentences(dictionary))).shape == (3, 48)


def test_of_a_frozen_encoder_the_layers_above_the_pooling_learn_alone(dictionary, caplog):
    """3.2.2: a dense layer on a teacher that stays as it is, dropout in training included."""
    teacher = encoder_of(dictionary, seed=5)
    options = {"sentence_width": 12, "freeze_encoder": True, "dropout": 0.5}
    model = encoder_of(dictionary, **options)
    model.load_state_dict(teacher.state_dict())
    assert "2 of the pooling begin untrained" in caplog.text
    model.train()
    encoded = model.encoder(sentences(dictionary))
    torch.testing.assert_close(encoded["pooled_vectors"], vectors_of(teacher.encoder(sentences(dictionary))))
    vectors_of(encoded).sum().backward()
    learn = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert learn == {"encoder.sentence_map.weight", "encoder.sentence_map.bias"}
    assert {name for name, parameter in model.named_parameters() if parameter.grad is not None} == learn
    assert encoder_of(dictionary, sentence_width=12).train().encoder.training


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_as_many_tokens_are_read_whatever_the_pooling(dictionary, pooling, learned):
    """2.3.3's limit is of a sentence's tokens; `<s>` comes on top."""
    model = encoder_of(dictionary, pooling=pooling, max_source_positions=9, encoder_learned_pos=learned)
    assert model.encoder.max_positions() == 9
    tokens = torch.tensor([[5] * 8 + [dictionary.eos()]])
    assert torch.isfinite(vectors_of(model.encoder(tokens))).all()


def test_learned_positions_without_one_for_cls_are_read(dictionary, caplog):
    """Those of a checkpoint whose `<s>` had a token's position, and of a model that does not read it."""
    options = {"encoder_learned_pos": True, "max_source_positions": 9}
    before = encoder_of(dictionary, pooling="cls", **{**options, "max_source_positions": 8})
    model = encoder_of(dictionary, seed=2, pooling="cls", **options)
    model.load_state_dict(before.state_dict())
    assert "no position for <s>" in caplog.text
    tokens = torch.tensor([[5, 6, 7, 8, 9, 10, 11, dictionary.eos()]])
    assert torch.equal(vectors_of(model.encoder(tokens)), vectors_of(before.encoder(tokens)))
    positions = model.encoder.embed_positions.weight
    assert torch.equal(positions[-1], positions[-2])
    with pytest.raises(RuntimeError, match="size mismatch"):  # of another length altogether
        encoder_of(dictionary, pooling="cls", **{**options, "max_source_positions": 12}).load_state_dict(
            before.state_dict()
        )


def test_a_decoder_has_room_for_what_may_be_a_source(dictionary):
    for given, expected in ((None, 10), (30, 30)):
        options = {**DECODER, "decoder_layers": 1, "max_source_positions": 9, "max_target_positions": given}
        assert encoder_of(dictionary, **options).max_positions() == (9, expected)


def test_ems_is_the_encoder_of_the_thesis():
    args = Namespace(max_source_positions=120, max_target_positions=121)
    ems_architecture(args)
    assert (args.encoder_layers, args.encoder_embed_dim, args.encoder_attention_heads) == (6, 1024, 16)
    assert (args.encoder_ffn_embed_dim, args.dropout, args.attention_dropout) == (4096, 0.1, 0.1)
    assert (args.decoder_layers, str(args.pooling), args.sentence_width) == (0, "mean", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling_layer": "5"}, "--pooling-layer 5: expected top, mix, average or a number from 0 to 4"),
        ({"pooling_layer": "²"}, "--pooling-layer ²: expected top"),
        ({"pooling_layer": "last"}, "--pooling-layer last: expected top"),
        ({"sentence_width": 0}, "--sentence-width 0: expected a number above 0"),
        ({"pooler_width": 0}, "--pooler-width 0: expected a number above 0"),
        ({"pooling_layer": "mix", "encoder_layerdrop": 0.1}, "--encoder-layerdrop 0.1: --pooling-layer mix"),
    ],
)
def test_bad_options_are_one_line(dictionary, options, message):
    with pytest.raises(InputError) as caught:
        encoder_of(dictionary, **options)
    assert str(caught.value).startswith(message)
