"""The fused loss and its criterion against fairseq's own, and the invariants that every loss has."""

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    label_smoothed_nll_loss,
)

from fairseq_ext.criterions.fused_label_smoothed_cross_entropy import FusedLabelSmoothedCrossEntropyCriterion
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.modules import vocabulary_loss
from fairseq_ext.modules.vocabulary_loss import fused_label_smoothed_loss
from tests.fairseq_ext.models import build, random_batch, toy_dictionary

PAD = 1
SHAPES = [(1, 1, 3, 4), (2, 5, 8, 11), (3, 7, 4, 50), (1, 13, 16, 9)]  # B, T, C, V


def random_inputs(shape, seed: int = 1):
    """Features B x T x C, weight V x C, target B x T with padding (never at the first position)."""
    B, T, C, V = shape
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(B, T, C, generator=generator, requires_grad=True)
    weight = torch.randn(V, C, generator=generator, requires_grad=True)
    target = torch.randint(2, V, (B, T), generator=generator)
    target[:, 1:][torch.rand(B, T - 1, generator=generator) < 0.3] = PAD
    return features, weight, target


def fairseqs_loss(features, weight, target, epsilon):
    log_p = (features @ weight.t()).log_softmax(-1)
    return label_smoothed_nll_loss(
        log_p.flatten(0, 1), target.reshape(-1, 1), epsilon, ignore_index=PAD, reduce=True
    )


def gradients(loss, *tensors):
    return torch.autograd.grad(loss, tensors)


@pytest.mark.parametrize("chunk", [1, 7, 1 << 22], ids=lambda size: f"chunk{size}")
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_fairseqs_loss(shape, epsilon, chunk, monkeypatch):
    """Also when the tokens fall into many chunks: `chunk` tokens at a time."""
    monkeypatch.setitem(vocabulary_loss.LOGITS_PER_CHUNK, "cpu", chunk * shape[3])
    features, weight, target = random_inputs(shape)
    expected, expected_nll = fairseqs_loss(features, weight, target, epsilon)
    loss, nll = fused_label_smoothed_loss(features, weight, target, epsilon, PAD)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, expected_nll)
    assert not nll.requires_grad
    scale = 0.37  # the gradient of what comes after the loss
    for found, reference in zip(
        gradients(scale * loss, features, weight), gradients(scale * expected, features, weight), strict=True
    ):
        torch.testing.assert_close(found, reference, atol=1e-5, rtol=1e-5)


def test_by_hand():
    """Two symbols, logits (0, log 4): p = (1/5, 4/5); target 0, epsilon = epsilon_i = 0.1."""
    features = torch.tensor([[[1.0]]], requires_grad=True)
    weight = torch.tensor([[1.0], [4.0]]).log()
    loss, nll = fused_label_smoothed_loss(features, weight, torch.tensor([[0]]), 0.1, padding=9)
    log_p = torch.tensor([0.2, 0.8]).log()
    torch.testing.assert_close(nll, -log_p[0])
    torch.testing.assert_close(loss, -0.8 * log_p[0] - 0.1 * log_p.sum())
    loss.backward()
    logit_gradient = torch.tensor([0.2 - 0.8 - 0.1, 0.8 - 0.1])
    torch.testing.assert_close(features.grad[0, 0], logit_gradient @ weight)


def test_nothing_but_padding_except_one_token():
    features, weight, target = random_inputs((3, 4, 8, 11))
    target[:] = PAD
    target[1, 2] = 5
    loss, _ = fused_label_smoothed_loss(features, weight, target, 0.1, PAD)
    alone, _ = fused_label_smoothed_loss(features[1:2, 2:3], weight, target[1:2, 2:3], 0.1, PAD)
    torch.testing.assert_close(loss, alone)
    (gradient,) = gradients(loss, features)
    assert gradient[1, 2].abs().sum() > 0
    gradient[1, 2] = 0
    assert not gradient.any()


def test_nothing_but_padding_is_zero():
    features, weight, target = random_inputs((2, 3, 4, 7))
    loss, nll = fused_label_smoothed_loss(features, weight, torch.full_like(target, PAD), 0.1, PAD)
    assert (loss.item(), nll.item()) == (0.0, 0.0)
    assert not any(gradient.any() for gradient in gradients(loss, features, weight))


def test_the_batch_is_the_sum_of_its_sentences():
    features, weight, target = random_inputs((4, 6, 8, 20))
    whole = torch.stack(fused_label_smoothed_loss(features, weight, target, 0.1, PAD))
    parts = [
        torch.stack(fused_label_smoothed_loss(features[i : i + 1], weight, target[i : i + 1], 0.1, PAD))
        for i in range(4)
    ]
    torch.testing.assert_close(whole, sum(parts))


@pytest.mark.parametrize("frozen", ["features", "weight", "both"])
def test_what_needs_no_gradient_gets_none(frozen):
    features, weight, target = random_inputs((2, 5, 8, 11))
    expected = fairseqs_loss(features, weight, target, 0.1)[0]
    reference = dict(zip(("features", "weight"), gradients(expected, features, weight), strict=True))
    inputs = {"features": features, "weight": weight}
    for name in inputs:
        if frozen in (name, "both"):
            inputs[name] = inputs[name].detach()
    loss, _ = fused_label_smoothed_loss(*inputs.values(), target, 0.1, PAD)
    torch.testing.assert_close(loss, expected)
    assert loss.requires_grad == (frozen != "both")
    for name, tensor in inputs.items():
        if tensor.requires_grad:
            torch.testing.assert_close(gradients(loss, tensor)[0], reference[name], atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(fused_label_smoothed_loss(features, weight, target, 0.1, PAD)[0], expected)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_weights_of_half_precision_lose_nothing_over_many_chunks(monkeypatch, kind):
    """Sums of hundreds of small gradients; in half precision the last ones are rounded away."""
    monkeypatch.setitem(vocabulary_loss.LOGITS_PER_CHUNK, "cpu", 64)  # two tokens
    features, weight, target = (
        one.detach().to(kind) if one.is_floating_point() else one for one in random_inputs((8, 128, 16, 32))
    )
    inputs = [one.requires_grad_() for one in (features, weight)]
    exact = [one.detach().float().requires_grad_() for one in inputs]
    expected = gradients(fused_label_smoothed_loss(*exact, target, 0.1, PAD)[0], *exact)
    found = gradients(fused_label_smoothed_loss(*inputs, target, 0.1, PAD)[0], *inputs)
    assert [one.dtype for one in found] == [kind, kind]
    limit = 2 * torch.finfo(kind).eps * expected[1].abs().max()
    assert (found[1].float() - expected[1]).abs().max() < limit


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_bfloat16_autocast_is_close(epsilon):
    features, weight, target = random_inputs((4, 16, 32, 64))
    weight = (0.2 * weight).detach().requires_grad_()
    expected = fairseqs_loss(features, weight, target, epsilon)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, _ = fused_label_smoothed_loss(features, weight, target, epsilon, PAD)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=1e-2, atol=0)
    for found, reference in zip(
        gradients(loss, features, weight), gradients(expected, features, weight), strict=True
    ):
        assert found.dtype == torch.float32
        assert (found - reference).norm() < 0.02 * reference.norm()


# --- the criterion


class ToyTask:
    target_dictionary = toy_dictionary()


def criteria(sentence_avg: bool = False, **options):
    return [
        criterion(ToyTask(), sentence_avg, 0.1, **options)
        for criterion in (LabelSmoothedCrossEntropyCriterion, FusedLabelSmoothedCrossEntropyCriterion)
    ]


@pytest.fixture(scope="module")
def model():
    return build(MnmtTransformerModel, ToyTask.target_dictionary).eval()


def run(criterion, model, batch, reduce: bool = True):
    model.zero_grad()
    loss, sample_size, log = criterion(model, batch, reduce=reduce)
    loss.sum().backward()
    return loss, sample_size, log, [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("options", [{}, {"sentence_avg": True}, {"ignore_prefix_size": 1}], ids=str)
def test_criterion_equals_fairseqs(model, options):
    batch = random_batch(ToyTask.target_dictionary)
    (expected, sample_size, log, grads), found = (run(each, model, batch) for each in criteria(**options))
    torch.testing.assert_close(found[0], expected)
    assert found[1] == sample_size == (3 if options.get("sentence_avg") else batch["ntokens"])
    assert set(found[2]) == set(log)
    for name, value in log.items():
        torch.testing.assert_close(torch.as_tensor(found[2][name]), torch.as_tensor(value), msg=name)
    for gradient, reference in zip(found[3], grads, strict=True):
        torch.testing.assert_close(gradient, reference, atol=1e-4, rtol=1e-4)


def test_accuracy_is_not_reported_in_training(model):
    """It needs all logits, which the fused loss is there to avoid."""
    plain, fused = criteria(report_accuracy=True)
    batch = random_batch(ToyTask.target_dictionary)
    (expected, *_), (found, _, log, _) = (run(each.train(), model, batch) for each in (plain, fused))
    torch.testing.assert_close(found, expected)
    assert "n_correct" not in log
    stand_in = run(fused.eval(), model, batch)[2]  # of a process without a batch, beside those that have one
    assert stand_in.keys() == log.keys()
    fused.train()


@torch.no_grad()
def test_accuracy_is_reported_in_validation(model):
    batch = random_batch(ToyTask.target_dictionary)
    (_, _, expected), (_, _, found) = (each.eval()(model, batch) for each in criteria(report_accuracy=True))
    assert found.keys() == expected.keys() and {"n_correct", "total"} <= found.keys()
    for name, value in expected.items():
        torch.testing.assert_close(torch.as_tensor(found[name]), torch.as_tensor(value), msg=name)


def test_losses_per_token_are_fairseqs(model):
    batch = random_batch(ToyTask.target_dictionary)
    expected, found = (run(each, model, batch, reduce=False)[0] for each in criteria())
    assert found.numel() == batch["target"].numel()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(), run(criteria()[1], model, batch)[0])


def test_two_accumulated_halves_are_the_whole_batch(model):
    """fairseq sums losses and divides by the sum of the sample sizes."""
    whole = random_batch(ToyTask.target_dictionary, lengths=((7, 5), (4, 6), (1, 1), (5, 5)))
    criterion = criteria()[1]
    loss, size, _, grads = run(criterion, model, whole)
    losses, sizes, halves = [], [], []
    for rows in (slice(0, 2), slice(2, 4)):
        target = whole["target"][rows]
        half = {
            "net_input": {name: tensor[rows] for name, tensor in whole["net_input"].items()},
            "target": target,
            "ntokens": int(target.ne(PAD).sum()),
        }
        part = run(criterion, model, half)
        losses.append(part[0])
        sizes.append(part[1])
        halves.append(part[3])
    torch.testing.assert_close(sum(losses), loss)
    assert sum(sizes) == size
    for first, second, reference in zip(*halves, grads, strict=True):
        torch.testing.assert_close(first + second, reference, atol=1e-4, rtol=1e-4)


def test_the_batch_is_not_changed(model):
    batch = random_batch(ToyTask.target_dictionary)
    before = batch["target"].clone()
    criteria()[1](model, batch)
    assert torch.equal(batch["target"], before)
    assert set(batch) == {"net_input", "target", "ntokens", "nsentences"}
