"""`interlingua_transformer` against the equations of thesis chapter 7, and the promises of its docstrings."""

import logging

import pytest
import torch
from torch import nn

from command_line.errors import InputError
from fairseq_ext.losses.length_prediction import length_loss
from fairseq_ext.models.interlingua_options import centric_language
from fairseq_ext.models.interlingua_transformer import InterlinguaTransformerModel
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.modules.residual_block import PLACEMENTS
from tests.fairseq_ext import bridges, models
from tests.fairseq_ext.bridges import KINDS, PAIRS, TaggedTask, build
from tests.fairseq_ext.models import reference_block


@pytest.fixture
def task():
    return TaggedTask()


@pytest.fixture
def sample(task):
    return bridges.batch(task)


def encode(model, batch, **options) -> dict:
    return model.encoder(batch["net_input"]["src_tokens"], batch["net_input"]["src_lengths"], **options)


def pad_further(tokens, pad: int, columns: int = 3):
    return torch.cat([tokens, tokens.new_full((len(tokens), columns), pad)], dim=1)


def reference_interlingua(bridge, queries, states, placement):
    """One sentence without padding, T x C and S x C, written out from 7.2.1 and 7.3.3."""

    def attention(module, x, memory):
        split = [
            p(y).reshape(len(y), module.heads, -1).transpose(0, 1)
            for p, y in ((module.q_proj, x), (module.k_proj, memory), (module.v_proj, memory))
        ]
        weights = (split[0] @ split[1].transpose(1, 2) / split[0].size(-1) ** 0.5).softmax(-1)
        return module.out_proj((weights @ split[2]).transpose(0, 1).reshape(len(x), -1))

    def block(x, function, norm, residual=True):
        return reference_block(placement, x, function, norm, residual)

    x = queries
    for number, layer in enumerate(bridge.layers):
        if number == 0:  # feed-forward network in place of self-attention, without residual connection
            x = block(
                x,
                lambda y, m=layer: m.query_fc2(torch.relu(m.query_fc1(y))),
                layer.self_attn_layer_norm,
                False,
            )
        else:
            x = block(x, lambda y, m=layer: attention(m.self_attn, y, y), layer.self_attn_layer_norm)
        x = block(x, lambda y, m=layer: attention(m.encoder_attn, y, states), layer.encoder_attn_layer_norm)
        x = block(x, lambda y, m=layer: m.fc2(torch.relu(m.fc1(y))), layer.final_layer_norm)
    return x if placement == "post" else bridge.layer_norm(x)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_interlingua_is_its_equations(task, sample, placement):
    model = build(task=task, norm_placement=placement).eval()
    bridge = model.encoder.interlingua
    found = encode(model, sample, gold_lengths=torch.tensor([6, 5, 11, 11]))
    for row, (language, words, _, _) in enumerate(PAIRS):
        length = int(found["interlingua_lengths"][0][row])
        matrix = bridge.queries.weight[task.tags.languages.index(language)]
        queries = matrix[:length] * matrix.size(1) ** 0.5  # equation 7.4: the first columns
        states = found["token_states"][0][: words + 2, row]
        expected = reference_interlingua(bridge, queries, states, placement)
        torch.testing.assert_close(found["encoder_out"][0][:length, row], expected, atol=1e-5, rtol=1e-5)
        assert found["encoder_padding_mask"][0][row].tolist() == [i >= length for i in range(11)]


def test_queries_are_dropped_in_training_as_embeddings_are(task, sample):
    model, seen = build(task=task, dropout=0.5), []
    model.encoder.interlingua.layers[0].register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    for mode in (True, False):
        encode(model.train(mode), sample, gold_lengths=torch.tensor([6, 5, 11, 11]))
    dropped, whole = seen
    kept = dropped.ne(0)
    assert float(kept.float().mean()) == pytest.approx(0.5, abs=0.05)
    torch.testing.assert_close(dropped[kept], 2 * whole[kept])


def test_predicted_length_is_equation_7_3(task, sample):
    model = build(task=task).eval()
    found, linear = encode(model, sample), model.encoder.lengths.predictor.linear
    for row, (language, words, _, _) in enumerate(PAIRS):
        mean = found["token_states"][0][: words + 2, row].mean(0)
        length = 1 + int((linear.weight @ mean + linear.bias).argmax())
        expected = words + 2 if language == "en" else length  # tag and </s> count
        assert int(found["interlingua_lengths"][0][row]) == expected


@pytest.mark.parametrize("placement", ["s-enc-t-dec", "s-enc-t-enc"])
def test_teacher_forced_lengths_are_the_english_sides(placement):
    task = TaggedTask(placement)
    tags = {"s-enc-t-dec": 1, "s-enc-t-enc": 2}[placement]
    pairs = (*PAIRS, ("de", 3, "fr", 5))  # a zero-shot pair is unknown
    inputs = bridges.batch(task, pairs)["net_input"]
    gold = build(task=task).encoder.gold_lengths(inputs["src_tokens"], inputs["prev_output_tokens"])
    assert gold.tolist() == [4 + 1 + tags, 3 + 1 + tags, 9 + 1 + tags, 9 + 1 + tags, 0]


def test_the_decoder_sees_gold_lengths_in_training_and_not_at_inference(task, sample):
    model = build(task=task).eval()
    seen = []
    model.encoder.register_forward_hook(
        lambda module, inputs, output: seen.append(output["interlingua_lengths"][0].tolist())
    )
    model(**sample["net_input"])
    model.encoder.forward_torchscript(sample["net_input"])  # as fairseq's SequenceGenerator does
    assert seen[0] == [6, 5, 11, 11]
    predicted = [1 + int(row.argmax()) for row in encode(model, sample)["length_logits"][0]]
    assert seen[1] == [predicted[0], 5, predicted[2], 11]
    assert predicted[0] != 6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_padding_and_batching_change_nothing(task, sample, kind, placement):
    repaired = {"length_predictor_source_length": True} if kind == "variable" else {}
    model = build(kind, task, norm_placement=placement, **repaired).eval()
    inputs, pad = sample["net_input"], task.dictionary.pad()
    expected = model(**inputs)[0]
    wider = {
        name: inputs[name] if name == "src_lengths" else pad_further(inputs[name], pad) for name in inputs
    }
    found = model(**wider)[0][:, : expected.size(1)]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    for row in range(len(PAIRS)):
        alone = {name: tensor[row : row + 1] for name, tensor in inputs.items()}
        alone["src_tokens"] = alone["src_tokens"][:, : int(alone["src_lengths"])]
        found = model(**alone)[0][0]
        torch.testing.assert_close(found, expected[row], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("beam", [1, 3])
def test_incremental_decoding_equals_the_whole(task, sample, kind, placement, beam):
    model = build(kind, task, norm_placement=placement).eval()
    inputs = sample["net_input"]
    out = encode(model, sample)
    previous = inputs["prev_output_tokens"]
    expected = model.decoder(previous, encoder_out=out)[0]
    order = torch.tensor([2, 0, 3, 1]).repeat_interleave(beam)
    reordered = model.encoder.reorder_encoder_out(out, order)
    model.decoder.set_beam_size(beam)
    state = {}
    for step in range(previous.size(1)):
        logits = model.decoder(previous[order][:, : step + 1], reordered, incremental_state=state)[0][:, 0]
        real = previous[order][:, step].ne(task.dictionary.pad())
        torch.testing.assert_close(logits[real], expected[order, step][real], atol=1e-4, rtol=1e-4)


class RightLengths(nn.Module):
    """A predictor that is always right."""

    def __init__(self, lengths, longest: int):
        super().__init__()
        self.logits = nn.functional.one_hot(torch.tensor(lengths) - 1, longest).float()

    def forward(self, means, lengths):
        return self.logits


def test_gold_lengths_equal_a_predictor_that_is_always_right(task, sample):
    model = build(task=task).eval()
    forced = model(**sample["net_input"])[0]
    assert encode(model, sample)["interlingua_lengths"][0].tolist() != [6, 5, 11, 11]
    model.encoder.lengths.predictor = RightLengths([6, 5, 11, 11], 20)
    encoded = encode(model, sample)
    found = model.decoder(sample["net_input"]["prev_output_tokens"], encoder_out=encoded)[0]
    torch.testing.assert_close(found, forced)


def test_only_the_queries_of_its_language_reach_a_sentence(task, sample):
    for kind, rows in (("variable", 3), ("fixed-language-specific", 3), ("fixed-universal", 1)):
        model = build(kind, task)
        weight = model.encoder.interlingua.queries.weight
        assert weight.shape == (rows, 20 if kind == "variable" else 5, 32)
        inputs = {name: tensor[:1] for name, tensor in sample["net_input"].items()}  # de-en, 4 English words
        model(**inputs)[0].sum().backward()
        used = weight.grad.abs().sum(dim=2) > 0
        length = 6 if kind == "variable" else 5
        assert used.sum() == length
        assert used[0 if rows == 1 else task.tags.languages.index("de"), :length].all()


def test_a_sentence_longer_than_k_is_cut_with_a_warning(task, caplog):
    model = build(task=task).eval()
    long = bridges.batch(task, (("en", 40, "de", 3), ("de", 40, "en", 35)))
    with caplog.at_level(logging.WARNING):
        found = encode(model, long)
    assert found["interlingua_lengths"][0][0] == 20
    assert found["interlingua_lengths"][0].max() <= 20
    assert "2 sentences are longer than 20 tokens: their queries are cut" in caplog.text
    inputs = long["net_input"]
    gold = model.encoder.gold_lengths(inputs["src_tokens"], inputs["prev_output_tokens"])
    found = encode(model, long, gold_lengths=gold)
    assert found["interlingua_lengths"][0].tolist() == [20, 20]
    assert found["length_targets"][0].tolist() == [0, 20]


def test_jitter_changes_given_lengths_in_training_only(task, sample):
    model = build(task=task, interlingua_length_jitter=0.5)
    gold = torch.tensor([6, 5, 11, 0])
    torch.manual_seed(1)
    drawn = torch.stack(
        [encode(model, sample, gold_lengths=gold)["interlingua_lengths"][0][:3] for _ in range(200)]
    )
    assert drawn.amin(0).tolist() == [3, 5, 6]  # en is exact at inference too
    assert drawn.amax(0).tolist() == [9, 5, 16]
    targets = encode(model, sample, gold_lengths=gold)["length_targets"][0]
    assert targets.tolist() == [6, 0, 11, 0]  # never jittered; en knows its length
    found = encode(model.eval(), sample, gold_lengths=gold)
    assert found["interlingua_lengths"][0][:3].tolist() == [6, 5, 11]


def test_source_length_is_a_feature_of_the_predictor(task, sample):
    plain, with_length = (build(task=task, length_predictor_source_length=on).eval() for on in (False, True))
    assert plain.encoder.lengths.predictor.source_length is None
    predictor = with_length.encoder.lengths.predictor
    means = torch.zeros(2, 32)
    logits = predictor(means, torch.tensor([7, 40]))  # longer ones than K = 20 share its embedding
    for row, index in enumerate((6, 19)):
        expected = predictor.linear(predictor.source_length.weight[index])
        torch.testing.assert_close(logits[row], expected)


def test_regression_of_lengths_is_by_the_squared_error(task, sample):
    predictor = build(task=task, length_predictor_regression=True).double().encoder.lengths.predictor
    means, own = torch.zeros(2, 32).double(), torch.tensor([7, 9])
    predictor.linear.bias.data.fill_(8.4)
    predictor.linear.weight.data.zero_()
    logits = predictor(means, own)
    assert logits.shape == (2, 20) and logits.argmax(dim=1).tolist() == [7, 7]  # length 8
    length_loss(logits, torch.tensor([11, 0])).sum().backward()
    torch.testing.assert_close(predictor.linear.bias.grad, torch.tensor([8.4 - 11]).double())


def test_candidates_are_the_most_probable_lengths(task, sample):
    model = build(task=task).eval()
    encoded = encode(model, sample)
    rows, lengths, log_p = model.encoder.length_candidates(sample["net_input"]["src_tokens"], 3)
    assert rows.tolist() == [0, 0, 0, 1, 2, 2, 2, 3]  # English knows its length
    ranked = encoded["length_logits"][0].log_softmax(1)
    assert lengths[[3, 7]].tolist() == [5, 11]
    assert log_p[[3, 7]].tolist() == [0, 0]
    for row in (0, 2):
        best = ranked[row].argsort(descending=True)[:3]
        assert lengths[rows == row].tolist() == (best + 1).tolist()
        torch.testing.assert_close(log_p[rows == row], ranked[row][best])
    with pytest.raises(InputError, match="fixed length"):
        build("fixed-universal", task).encoder.length_candidates(sample["net_input"]["src_tokens"], 3)


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_a_checkpoint_without_interlingua_initializes_what_is_shared(task, sample, placement, caplog):
    options = {**models.SIZES, **bridges.SIZES, "encoder_layers": 5, "norm_placement": placement}
    options.pop("interlingua_layers")
    torch.manual_seed(5)
    baseline = MnmtTransformerModel.build_model(models.Namespace(dropout=0.0, **options), task)
    model = build(task=task, norm_placement=placement)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = baseline.state_dict()
    with caplog.at_level(logging.WARNING):
        model.load_state_dict(dict(state), strict=True)
    assert "the checkpoint has no interlingua" in caplog.text
    for name, tensor in model.state_dict().items():
        bridge = name.startswith(("encoder.interlingua.", "encoder.lengths."))
        assert torch.equal(tensor, before[name] if bridge else state[name]), name
    model.load_state_dict(model.state_dict(), strict=True)
    broken = dict(model.state_dict())
    del broken["encoder.interlingua.queries.weight"]
    with pytest.raises(RuntimeError, match="queries"):
        model.load_state_dict(broken, strict=True)


@pytest.mark.parametrize("size", ["", "_big", "_tiny"])
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_parameters_as_the_baseline(size, kind):
    from fairseq.models import ARCH_CONFIG_REGISTRY

    task = TaggedTask(words=6000)
    counts = []
    for family, model_class in (
        ("mnmt_transformer", MnmtTransformerModel),
        ("interlingua_transformer", bridges.InterlinguaTransformerModel),
    ):
        kinds = KINDS[kind] if family != "mnmt_transformer" else {}
        args = models.Namespace(max_source_positions=256, max_target_positions=256, **kinds)
        ARCH_CONFIG_REGISTRY[family + size](args)
        with torch.device("meta"):
            named = dict(model_class.build_model(args, task).named_parameters())
        assert len({id(p) for p in named.values()}) == len(named)
        counts.append(sum(p.numel() for name, p in named.items() if "queries" not in name))
    assert args.encoder_layers + args.interlingua_layers == args.decoder_layers == 6
    assert abs(counts[1] / counts[0] - 1) < 0.02


# --- K and the width of the feed-forward networks


def commands_model(*options) -> InterlinguaTransformerModel:
    """As a command line makes it, without weights."""
    from tests.test_readme import parse_fairseq

    words = ["data", "--task", "multilingual_nmt", "--lang-pairs", bridges.DIRECTIONS, "--optimizer", "adam"]
    args = parse_fairseq("fairseq-train", [*words, "--arch", "interlingua_transformer", *map(str, options)])
    with torch.device("meta"):
        return InterlinguaTransformerModel.build_model(args, TaggedTask())


@pytest.mark.parametrize(
    ("options", "longest", "positions"),
    [
        ((), 256, 256),  # thesis 7.3.2
        (("--max-source-positions", 1024), 256, 256),
        (("--interlingua-max-length", 100), 100, 100),
        (("--max-source-positions", 64), 256, 64),
    ],
)
def test_k_is_256_whatever_the_longest_source(options, longest, positions):
    encoder = commands_model(*options).encoder
    assert encoder.interlingua.queries.weight.shape == (3, longest, 512)
    assert encoder.lengths.predictor.linear.weight.shape == (longest, 512)
    assert (encoder.lengths.longest, encoder.max_positions()) == (longest, positions)


def test_fixed_lengths_leave_the_longest_sentence_alone():
    options = ("--interlingua", "fixed-universal", "--interlingua-length", 17)
    assert commands_model(*options).encoder.max_positions() == 1024


def test_another_k_than_the_checkpoints_is_refused(task):
    trained, other = build(task=task), build(task=task, interlingua_max_length=30)
    with pytest.raises(
        InputError, match=r"^--interlingua-max-length 30: .* give --interlingua-max-length 20$"
    ):
        other.load_state_dict(trained.state_dict(), strict=True)


@pytest.mark.parametrize(
    ("options", "hidden", "larger"),
    [
        ((), 1024, 0),
        (
            ("--interlingua-full-ffn",),
            2048,
            16 * 512**2,
        ),  # three layers with attention, one more with two networks
        (("--encoder-ffn-embed-dim", 1000, "--interlingua-full-ffn"), 1000, None),
        (("--interlingua-ffn-embed-dim", 300), 300, None),
    ],
)
def test_width_of_the_feed_forward_networks(options, hidden, larger):
    """Full width: matrices of 4 d^2 (attention) + 8 d^2 (feed-forward), where an encoder layer has 12 d^2."""
    bridge = commands_model(
        "--interlingua", "fixed-universal", "--interlingua-length", 1, *options
    ).encoder.interlingua
    assert bridge.layers[0].query_fc1.weight.shape == (hidden, 512)
    assert {layer.fc2.weight.shape for layer in bridge.layers} == {(512, hidden)}
    if larger is not None:
        matrices = sum(p.numel() for name, p in bridge.named_parameters() if p.dim() == 2)
        assert matrices - 3 * 12 * 512**2 == larger


@pytest.mark.parametrize(
    ("placement", "directions", "options", "message"),
    [
        ("t-enc", None, {}, "--interlingua variable: needs the source language on the encoder"),
        ("t-dec", None, KINDS["fixed-language-specific"], "needs the source language on the encoder"),
        (
            None,
            None,
            {"interlingua": "fixed-universal"},
            "--interlingua-length None: .* needs a number above 0",
        ),
        (None, None, {"interlingua_length": 5}, "--interlingua variable predicts the length"),
        (None, None, {"interlingua_max_length": 0}, "--interlingua-max-length 0: expected at least 1"),
        (
            None,
            None,
            {"interlingua_full_ffn": True, "interlingua_ffn_embed_dim": 8},
            "--interlingua-ffn-embed-dim 8: contradicts --interlingua-full-ffn",
        ),
        (None, None, {"interlingua_layers": 0}, "--interlingua-layers 0: expected at least 1"),
        (None, None, {"interlingua_length_jitter": 1.5}, "--interlingua-length-jitter 1.5: expected from 0"),
        (None, "en-de,de-fr,fr-en", {}, "no language is in all --lang-pairs"),
        (None, "en-de,de-en", {}, "--centric-language: expected one of de, en"),
        (None, None, {"centric_language": "xx"}, "--centric-language xx: expected one of "),
        (
            None,
            None,
            {"interlingua": "fixed-universal", "interlingua_length": 4, "interlingua_length_jitter": 0.1},
            "--interlingua-length-jitter: has no meaning with --interlingua fixed-universal",
        ),
    ],
)
def test_bad_options_are_refused(placement, directions, options, message):
    task = TaggedTask(placement or "s-enc-t-dec", directions or bridges.DIRECTIONS)
    with pytest.raises(InputError, match=message):
        build(task=task, **options)


def test_a_sentence_without_its_tag_is_refused(task, sample):
    model = build(task=task).eval()
    tokens = sample["net_input"]["src_tokens"][:, 1:]
    with pytest.raises(InputError, match="expected a language tag in its place"):
        model.encoder(tokens)


@pytest.mark.parametrize("placement", ["t-enc", "t-dec", "none"])
def test_universal_queries_need_no_source_language(placement):
    task = TaggedTask(placement)
    sample = bridges.batch(task)
    assert build("fixed-universal", task)(**sample["net_input"])[0].isfinite().all()


def test_the_centric_language_is_the_chosen_or_the_common_one():
    languages = ["de", "en", "fr"]
    assert centric_language(None, languages, [("de", "en"), ("en", "fr")]) == "en"
    assert centric_language("de", languages, [("de", "en"), ("en", "de")]) == "de"
    assert centric_language("en", languages, [("de", "en"), ("de", "fr")]) == "en"


def test_a_trained_model_keeps_its_centric_language_with_other_directions():
    arguments = models.Namespace(**{**models.SIZES, **bridges.SIZES, "interlingua": "variable"})
    for directions in ("de-en,en-de,fr-en,en-fr", "de-fr,de-en"):  # in training, and later
        task = TaggedTask(directions=directions)
        model = InterlinguaTransformerModel.build_model(arguments, task)
        assert task.tags.languages[model.encoder.centric] == "en"


REGRESSION = {"length_predictor_regression": True}


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        (REGRESSION, {}, "--length-predictor-regression: the checkpoint predicts"),
        ({}, REGRESSION, "--length-predictor-regression: the checkpoint predicts"),
        (REGRESSION, REGRESSION | {"interlingua_max_length": 30},
         "--interlingua-max-length 20: the checkpoint's interlingua has at most 30 queries"),
    ],
)  # fmt: skip
def test_another_predictor_of_lengths_is_one_line(ours, theirs, message):
    with pytest.raises(InputError, match=f"^{message}"):
        build(**ours).load_state_dict(build(**theirs).state_dict())
