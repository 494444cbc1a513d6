"""`interlingua_alignment` and `length_prediction` against loops over equations 7.3, 7.5 and 7.6."""

import math

import pytest
import torch
import torch.nn.functional as F

from command_line.errors import InputError
from fairseq_ext.losses.interlingua_alignment import (
    InterlinguaAlignment,
    InterlinguaAlignmentOptions,
    misalignment,
)
from fairseq_ext.losses.length_prediction import LengthPrediction, LengthPredictionOptions, length_loss
from fairseq_ext.losses.weighted_loss import ModelOutputs, ModelSizes
from tests.fairseq_ext import bridges
from tests.fairseq_ext.bridges import KINDS, TaggedTask, build
from tests.fairseq_ext.test_weighted_losses import make_criterion


def outputs_of(model, batch) -> ModelOutputs:
    """Encoder outputs as the criterion makes them."""
    inputs = batch["net_input"]
    gold = model.encoder.gold_lengths(inputs["src_tokens"], inputs["prev_output_tokens"])
    source = model.encoder(inputs["src_tokens"], gold_lengths=gold)
    return ModelOutputs(source, model.encoder(**batch["mirror"], **source["mirror_arguments"]))


def make(task, **options) -> tuple[InterlinguaAlignment, LengthPrediction]:
    sizes = ModelSizes(32, 2, len(task.dictionary), task.dictionary.pad())
    deviation = options.pop("deviation", 0.0)
    return (
        InterlinguaAlignment(InterlinguaAlignmentOptions(**options), sizes),
        LengthPrediction(LengthPredictionOptions(deviation=deviation, **options), sizes),
    )


@pytest.fixture
def task():
    return TaggedTask()


def alignment_by_formula(outputs, weight: float):
    value = 0
    x, y = (side["encoder_out"][0] for side in (outputs.source, outputs.mirror))
    for row, length in enumerate(outputs.source["interlingua_lengths"][0].tolist()):
        cosines = [F.cosine_similarity(x[i, row], y[i, row], dim=0) for i in range(length)]
        of_pair = 1 - sum(cosines) / length  # equation 7.6
        value = value + of_pair
    return weight * value, value  # equation 7.5, summed over the pairs


@pytest.mark.parametrize("kind", KINDS)
def test_alignment_equals_the_formula(task, kind):
    model, batch = build(kind, task).eval(), bridges.batch(task)
    outputs = outputs_of(model, batch)
    term = make(task, weight=0.7)[0](outputs, batch)
    loss, value = alignment_by_formula(outputs, 0.7)
    torch.testing.assert_close(term.loss, loss)
    torch.testing.assert_close(term.value, value)
    assert term.count == 4


@pytest.mark.parametrize("kind", KINDS)
def test_alignment_per_token_is_a_sum_over_positions(task, kind):
    model, batch = build(kind, task).eval(), bridges.batch(task)
    outputs = outputs_of(model, batch)
    x, y = (side["encoder_out"][0] for side in (outputs.source, outputs.mirror))
    value, positions = 0, 0
    for row, length in enumerate(outputs.source["interlingua_lengths"][0].tolist()):
        for i in range(length):
            value = value + 1 - F.cosine_similarity(x[i, row], y[i, row], dim=0)
            positions += 1
    sizes = ModelSizes(32, 2, len(task.dictionary), task.dictionary.pad())
    options = InterlinguaAlignmentOptions(weight=0.7, per_token=True)
    term = InterlinguaAlignment(options, sizes)(outputs, batch)
    torch.testing.assert_close(term.loss, 0.7 * value)
    torch.testing.assert_close(term.value, value)
    assert term.count == positions
    assert not InterlinguaAlignmentOptions().per_token


@pytest.mark.parametrize("kind", KINDS)
def test_identical_sentences_have_no_alignment_loss(task, kind):
    model, batch = build(kind, task).eval(), bridges.batch(task)
    batch["mirror"] = {name: batch["net_input"][name] for name in ("src_tokens", "src_lengths")}
    assert abs(float(make(task)[0](outputs_of(model, batch), batch).loss)) < 1e-4
    assert float(make(task)[0](outputs_of(model, bridges.batch(task)), batch).loss) > 0.1


def test_both_sides_have_equal_lengths_also_when_jittered_or_unknown(task):
    model = build(task=task, interlingua_length_jitter=0.5)
    batch = bridges.batch(task, (*bridges.PAIRS, ("de", 4, "fr", 9)))
    outputs = outputs_of(model, batch)
    lengths = [side["interlingua_lengths"][0].tolist() for side in (outputs.source, outputs.mirror)]
    assert lengths[0] == lengths[1]
    assert make(task)[0](outputs, batch).loss.isfinite()


def test_gradients_flow_through_both_sides(task):
    model, batch = build(task=task), bridges.batch(task, (("de", 6, "en", 4),))
    outputs = outputs_of(model, batch)
    for side in (outputs.source, outputs.mirror):
        side["encoder_out"][0].retain_grad()
    make(task)[0](outputs, batch).loss.backward()
    for side in (outputs.source, outputs.mirror):
        assert side["encoder_out"][0].grad.abs().sum() > 0


def test_padding_is_no_position():
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(2, 5, 3, 4, generator=generator)
    padding = torch.arange(5)[None, :] >= torch.tensor([5, 2, 1])[:, None]
    expected = misalignment(x, y, padding)
    x, y = (side.masked_fill(padding.t()[:, :, None], 9.0) for side in (x, y))
    more = torch.full((2, 3, 4), 7.0)
    wider = torch.cat([padding, torch.ones(3, 2, dtype=torch.bool)], dim=1)
    found = misalignment(torch.cat([x, more]), torch.cat([y, -more]), wider)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("deviation", [0.0, 1.5])
def test_length_prediction_equals_the_formula(task, deviation):
    """Of a pair without English nobody knows the length."""
    model, batch = build(task=task).eval(), bridges.batch(task, (*bridges.PAIRS, ("de", 4, "fr", 9)))
    outputs = outputs_of(model, batch)
    term = make(task, weight=0.3, deviation=deviation)[1](outputs, batch)
    value = 0.0
    for row, gold in ((0, 6), (2, 11)):  # the sources that are not English, whose lengths are known
        logits = outputs.source["length_logits"][0][row].tolist()
        total = math.log(sum(map(math.exp, logits)))
        if deviation:
            q = [math.exp(-((i - gold) ** 2) / (2 * deviation**2)) for i in range(1, len(logits) + 1)]
        else:
            q = [float(i == gold) for i in range(1, len(logits) + 1)]
        of_sentence = -sum(a / sum(q) * (b - total) for a, b in zip(q, logits, strict=True))
        value += of_sentence
    assert float(term.loss) == pytest.approx(0.3 * value, rel=1e-5)
    assert float(term.value) == pytest.approx(value, rel=1e-5)
    assert term.count == 2


def test_ordinal_targets_prefer_a_near_miss():
    lengths = torch.tensor([10, 10])
    logits = torch.zeros(2, 20)
    logits[0, 10], logits[1, 17] = 5, 5  # says 11, says 18
    near, far = length_loss(logits, lengths).tolist()
    assert near == pytest.approx(far)
    near, far = length_loss(logits, lengths, deviation=1.0).tolist()
    assert near < far - 0.5


def test_length_prediction_reaches_the_encoder(task):
    model, batch = build(task=task), bridges.batch(task)
    make(task)[1](outputs_of(model, batch), batch).loss.backward()
    assert model.encoder.lengths.predictor.linear.weight.grad.abs().sum() > 0
    assert model.encoder.layers[0].fc1.weight.grad.abs().sum() > 0


def test_nothing_to_predict_is_a_zero_that_depends_on_the_predictor(task):
    model, batch = build(task=task), bridges.batch(task, (("en", 3, "de", 4),))
    term = make(task)[1](outputs_of(model, batch), batch)
    assert (float(term.loss), float(term.value), term.count) == (0, 0, 0)
    term.loss.backward()
    assert model.encoder.lengths.predictor.linear.weight.grad is not None


@pytest.mark.parametrize("number", [0, 1])
def test_two_half_batches_are_the_whole_batch(task, number):
    model = build(task=task).eval()
    terms = [
        make(task)[number](outputs_of(model, batch), batch)
        for batch in (
            bridges.batch(task, bridges.PAIRS[:2]), bridges.batch(task), half_of(bridges.batch(task)),
        )
    ]  # fmt: skip
    torch.testing.assert_close(terms[0].loss + terms[2].loss, terms[1].loss, atol=1e-4, rtol=1e-4)


def half_of(batch) -> dict:
    """The last two pairs."""
    sides = {name: {key: rows[2:] for key, rows in batch[name].items()} for name in ("net_input", "mirror")}
    return {**sides, "target": batch["target"][2:]}


@pytest.mark.parametrize(("number", "kind"), [(0, None), (1, None), (1, "fixed-universal")])
def test_models_without_what_a_loss_needs_are_refused(task, number, kind):
    batch = bridges.batch(task)
    if kind:
        outputs = outputs_of(build(kind, task), batch)
    else:
        outputs = ModelOutputs({"encoder_out": [torch.zeros(2, 4, 8)]})
    loss = make(task)[number]
    with pytest.raises(InputError, match=f"--losses {loss.name}: needs --arch interlingua_tr"):
        loss(outputs, batch)


def test_weights_are_the_papers(task):
    alignment, prediction = make(task)
    assert (alignment.options.weight, prediction.options.weight) == (1.0, 0.1)
    with pytest.raises(InputError, match="--length-prediction-deviation -1: expected a number of tokens"):
        make(task, deviation=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_cached_gradients_are_refused(task, kind):
    """The mirror of a slice would need what the encoder says of its source."""
    model = build(kind, task)
    criterion = make_criterion("sentence_contrast", model=model, translation=False, cached_gradients=2)
    with pytest.raises(InputError, match=r"^--cached-gradients: not with --arch interlingua_transformer$"):
        criterion(model, bridges.batch(task))
