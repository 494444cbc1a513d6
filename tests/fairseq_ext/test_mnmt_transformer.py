"""`mnmt_transformer` against fairseq's `transformer`, and the residual block axis against its equations."""

import pytest
import torch
from fairseq.models.transformer import TransformerModel

from command_line.errors import InputError
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.modules.residual_block import PLACEMENTS
from tests.fairseq_ext.models import build, random_batch, reference_block, toy_dictionary


@pytest.fixture
def dictionary():
    return toy_dictionary()


def stock_and_ours(dictionary, placement):
    pre = placement == "pre"
    stock = build(TransformerModel, dictionary, encoder_normalize_before=pre, decoder_normalize_before=pre)
    ours = build(MnmtTransformerModel, dictionary, seed=2, norm_placement=placement)
    ours.load_state_dict(stock.state_dict(), strict=True)
    return stock, ours


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_same_weights_give_fairseqs_outputs_and_gradients(dictionary, placement):
    stock, ours = stock_and_ours(dictionary, placement)
    batch = random_batch(dictionary)
    real = batch["target"].ne(dictionary.pad())
    outputs = [model.train()(**batch["net_input"])[0] for model in (stock, ours)]
    torch.testing.assert_close(outputs[1][real], outputs[0][real], atol=1e-5, rtol=1e-5)
    for output in outputs:
        output[real].square().sum().backward()
    expected = dict(stock.named_parameters())
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name].grad, atol=1e-3, rtol=1e-4, msg=name)


# --- dropout


def without_chance(x: torch.Tensor, p: float, *others, **options) -> torch.Tensor:
    """In place of dropout: of every row the first numbers are dropped, as many as would be on average."""
    kept = torch.arange(x.size(-1)) >= p * x.size(-1)
    return x * kept / (1 - p)


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_dropout_is_where_fairseq_has_it(dictionary, placement, monkeypatch):
    """Of embeddings, of what sublayers return, and after the activation, in other shares."""
    monkeypatch.setattr("torch.nn.functional.dropout", without_chance)
    monkeypatch.setattr("fairseq_ext.modules.dropout.cheap_dropout", without_chance)
    pre, shares = placement == "pre", {"dropout": 0.25, "activation_dropout": 0.5}
    norms = {"encoder_normalize_before": pre, "decoder_normalize_before": pre}
    stock = build(TransformerModel, dictionary, **norms, **shares)
    ours = build(MnmtTransformerModel, dictionary, norm_placement=placement, **shares)
    batch = random_batch(dictionary)
    real = batch["target"].ne(dictionary.pad())
    expected, found = (model.train()(**batch["net_input"])[0][real] for model in (stock, ours))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(found, ours.eval()(**batch["net_input"])[0][real], atol=0.1)


@pytest.mark.parametrize(
    ("placement", "with_residual", "without"),
    [("post", 55, 45), ("pre", 123, 121), ("swap-pre", 227, 225), ("sandwich", 3027, 3025)],
)
def test_dropout_is_the_last_that_happens_to_what_is_added(placement, with_residual, without):
    """x = 2, F(x) = x + 1, LN(x) = 5 x, and a square in place of dropout."""
    block = PLACEMENTS[placement].apply
    norms = [lambda x: 5 * x] * PLACEMENTS[placement].norms
    norm = norms[0] if len(norms) == 1 else norms
    functions = (lambda x: x + 1, norm, lambda x: x**2)
    assert [block(2, *functions, residual) for residual in (True, False)] == [with_residual, without]


def test_of_dropped_attention_weights_nothing_comes(dictionary):
    """With all of them dropped, the states of a token are the same beside any others; in training only."""
    model = build(MnmtTransformerModel, dictionary, attention_dropout=1.0)
    inputs = [random_batch(dictionary, ((6, 6),), seed=seed)["net_input"] for seed in (3, 4)]
    for each in inputs:
        each["src_tokens"][:, 3] = each["prev_output_tokens"][:, 3] = dictionary.index("w5")
    for training in (True, False):
        model.train(training)
        encoded = [model.encoder(each["src_tokens"])["encoder_out"][0][3] for each in inputs]
        decoded = [model(**each)[0][:, 3] for each in inputs]
        for one, other in (encoded, decoded):
            assert torch.allclose(one, other, atol=1e-5) == training


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_same_seed_gives_fairseqs_initial_weights(dictionary, placement):
    pre = placement == "pre"
    stock = build(TransformerModel, dictionary, encoder_normalize_before=pre, decoder_normalize_before=pre)
    ours = build(MnmtTransformerModel, dictionary, norm_placement=placement)
    expected = stock.state_dict()
    assert set(ours.state_dict()) == set(expected)
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, expected[name]), name


def step_by_step(model, batch, beam: int = 1):
    """Decoder outputs of incremental decoding with a forced target, B x T x V, each sentence `beam` times."""
    inputs = batch["net_input"]
    encoder_out = model.encoder(inputs["src_tokens"], inputs["src_lengths"])
    order = torch.arange(len(batch["target"])).repeat_interleave(beam)
    encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
    model.decoder.set_beam_size(beam)
    state = {}
    previous = inputs["prev_output_tokens"][order]
    steps = []
    for length in range(1, previous.size(1) + 1):
        output, _ = model.decoder(previous[:, :length], encoder_out, incremental_state=state)
        steps.append(output)
        model.decoder.reorder_incremental_state_scripting(state, torch.arange(len(order)))
    return torch.cat(steps, dim=1)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_incremental_decoding_equals_the_full_pass(dictionary, placement, beam):
    model = build(MnmtTransformerModel, dictionary, norm_placement=placement).eval()
    batch = random_batch(dictionary)
    real = batch["target"].ne(dictionary.pad())
    full = model(**batch["net_input"])[0]
    stepped = step_by_step(model, batch, beam)
    for hypothesis in range(beam):
        torch.testing.assert_close(stepped[hypothesis::beam][real], full[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_incremental_decoding_equals_fairseqs(dictionary, placement):
    stock, ours = stock_and_ours(dictionary, placement)
    batch = random_batch(dictionary)
    real = batch["target"].ne(dictionary.pad())
    expected, found = (step_by_step(model.eval(), batch, beam=2) for model in (stock, ours))
    torch.testing.assert_close(found[::2][real], expected[::2][real], atol=1e-5, rtol=1e-5)


def test_finished_sentences_leave_the_beam(dictionary):
    """Dropping a sentence from the batch reorders the shared encoder cache as well."""
    model = build(MnmtTransformerModel, dictionary).eval()
    batch = random_batch(dictionary)
    inputs = batch["net_input"]
    encoder_out = model.encoder(inputs["src_tokens"], inputs["src_lengths"])
    order = torch.arange(3).repeat_interleave(2)
    model.decoder.set_beam_size(2)
    state = {}
    previous = inputs["prev_output_tokens"][order]
    encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
    model.decoder(previous[:, :1], encoder_out, incremental_state=state)
    kept = torch.tensor([2, 3, 4, 5])  # sentence 0 is finished
    model.decoder.reorder_incremental_state_scripting(state, kept)
    encoder_out = model.encoder.reorder_encoder_out(encoder_out, kept)
    found, _ = model.decoder(previous[kept, :2], encoder_out, incremental_state=state)
    expected = model(**inputs)[0][:, 1]
    torch.testing.assert_close(found[::2, 0], expected[1:], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_padding_never_changes_an_output(dictionary, placement):
    model = build(MnmtTransformerModel, dictionary, norm_placement=placement).eval()
    batch = random_batch(dictionary)
    outputs = model(**batch["net_input"])[0]
    for row, target in enumerate(batch["target"]):
        source = batch["net_input"]["src_tokens"][row]
        source = source[source.ne(dictionary.pad())][None]
        length = int(target.ne(dictionary.pad()).sum())
        previous = batch["net_input"]["prev_output_tokens"][row : row + 1, :length]
        alone = model(source, torch.tensor([source.size(1)]), previous)[0]
        torch.testing.assert_close(outputs[row, :length], alone[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_attention_weights_are_distributions_over_the_source(dictionary, placement):
    model = build(MnmtTransformerModel, dictionary, norm_placement=placement).eval()
    batch = random_batch(dictionary)
    _, extra = model(**batch["net_input"])
    weights = extra["attn"][0]  # B x T x S
    padding = batch["net_input"]["src_tokens"].eq(dictionary.pad())
    assert weights.shape == (3, batch["target"].size(1), padding.size(1))
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))
    assert not weights.transpose(1, 2)[padding].any()
    assert model.train()(**batch["net_input"])[1]["attn"] == [None]


def test_attention_weights_of_a_loss_are_float32_and_so_are_their_gradients(dictionary):
    """In half precision a gradient of a logarithm is soon infinite: 1/a of a weight of 1e-5."""
    model = build(MnmtTransformerModel, dictionary).train()
    inputs = random_batch(dictionary)["net_input"]
    wanted = {"alignment_layer": 0, "alignment_heads": 1}
    expected = model(**inputs, **wanted)[1]["attn"][0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(**inputs, **wanted)[1]["attn"][0]
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, atol=0.02, rtol=0.1)
    assert not torch.equal(found.bfloat16().float(), found)  # nor has it been half on the way


def test_attention_weights_equal_fairseqs(dictionary):
    stock, ours = stock_and_ours(dictionary, "pre")
    batch = random_batch(dictionary)
    expected, found = (model.eval()(**batch["net_input"])[1]["attn"][0] for model in (stock, ours))
    real = batch["target"].ne(dictionary.pad())
    torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=1e-5)


def reference_encoder_layer(layer, x, placement, residual):
    """Equations of `fairseq_ext.modules.residual_block`, written out for one sentence without padding."""

    def attention(states):
        heads = layer.self_attn.heads
        q, k, v = (
            projection(states).reshape(len(states), heads, -1).transpose(0, 1)
            for projection in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj)
        )
        weights = (q @ k.transpose(1, 2) / q.size(-1) ** 0.5).softmax(-1)
        return layer.self_attn.out_proj((weights @ v).transpose(0, 1).reshape(len(states), -1))

    def feed_forward(states):
        return layer.fc2(torch.relu(layer.fc1(states)))

    for function, norm, keep in (
        (attention, layer.self_attn_layer_norm, residual),
        (feed_forward, layer.final_layer_norm, True),
    ):
        x = reference_block(placement, x, function, norm, keep)
    return x


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_encoder_layer_is_its_equation(dictionary, placement, residual):
    dropped = "" if residual else "2"
    model = build(
        MnmtTransformerModel, dictionary, norm_placement=placement, drop_residual_layers=dropped
    ).eval()
    layer = model.encoder.layers[1]
    x = torch.randn(5, 32, generator=torch.Generator().manual_seed(1))
    expected = reference_encoder_layer(layer, x, placement, residual)
    torch.testing.assert_close(layer(x[:, None], None)[:, 0], expected, atol=1e-5, rtol=1e-5)
    assert [each.self_attention_residual for each in model.encoder.layers] == [True, residual, True, True]


@pytest.mark.parametrize(
    ("placement", "drop_final", "encoder_norm", "decoder_norm"),
    [
        ("post", False, False, False),
        ("pre", False, True, True),
        ("pre", True, False, True),
        *((name, False, True, True) for name in PLACEMENTS if name not in ("post", "pre")),
    ],
)
def test_final_norms(dictionary, placement, drop_final, encoder_norm, decoder_norm):
    model = build(
        MnmtTransformerModel, dictionary, norm_placement=placement, no_encoder_final_norm=drop_final
    )
    assert (model.encoder.layer_norm is not None) == encoder_norm
    assert (model.decoder.layer_norm is not None) == decoder_norm


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_norm_without_affine_parameters(dictionary, placement):
    model = build(MnmtTransformerModel, dictionary, norm_placement=placement, no_norm_affine=True)
    assert not [name for name, _ in model.named_parameters() if "norm" in name]
    assert torch.isfinite(model(**random_batch(dictionary)["net_input"])[0]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop_residual_layers": "5"}, "--drop-residual-layers 5: expected encoder layers between 1 and 4"),
        ({"drop_residual_layers": "²"}, "--drop-residual-layers ²: expected encoder layers between"),
        ({"drop_residual_layers": "x"}, "--drop-residual-layers x"),
        ({"norm_placement": "post", "encoder_normalize_before": True}, "contradicts --norm-placement post"),
        ({"norm_placement": "post", "no_encoder_final_norm": True}, "has no final norm"),
        ({"scale_attn": True}, "--scale-attn: mnmt_transformer lacks it"),
    ],
)
def test_bad_options_are_refused(dictionary, options, message):
    with pytest.raises(InputError, match=message):
        build(MnmtTransformerModel, dictionary, **options)


def test_options_of_a_fairseq_checkpoint_choose_the_placement(dictionary):
    model = build(
        MnmtTransformerModel, dictionary, encoder_normalize_before=True, decoder_normalize_before=True
    )
    assert model.encoder.layer_norm is not None
    assert model.encoder.layers[0].norm_placement is PLACEMENTS["pre"]
