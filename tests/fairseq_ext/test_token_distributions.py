"""Divergence from distributions of tokens, in blocks, against loops over its definition and torch's own."""

import pytest
import torch
import torch.nn.functional as F

from fairseq_ext.modules.token_distributions import (
    TokenDistributions,
    divergence,
    occurrences,
    token_distributions,
)
from tests.fairseq_ext.allocations import LargestTensor

PAD, EOS = 1, 2
TOKENS = torch.tensor(
    [[5, 6, 5, 5, EOS], [7, EOS, PAD, PAD, PAD], [8, 9, 10, EOS, PAD], [EOS, PAD, PAD, PAD, PAD]]
)
WITHOUT_EOS = torch.tensor([PAD, EOS])


def dense(targets: TokenDistributions, sentences: int, vocabulary: int) -> torch.Tensor:
    p = torch.zeros(sentences, vocabulary, dtype=torch.float64)
    for row, token, probability in zip(targets.rows, targets.tokens, targets.probabilities, strict=True):
        p[row, token] += probability
    return p


def random_inputs(N: int = 4, V: int = 12, C: int = 3, seed: int = 1):
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(size, C, generator=generator, dtype=torch.float64, requires_grad=True) for size in (N, V)
    )


def by_definition(features, weight, p):
    """sum over sentences and the words that they have of p log(p/q)."""
    loss = 0
    for h, target in zip(features, p, strict=True):
        exponentials = (weight @ h).exp()
        for v, probability in enumerate(target):
            if probability > 0:
                loss = loss + probability * (probability / (exponentials[v] / exponentials.sum())).log()
    return loss


def test_bags_of_tokens_are_equation_2_7():
    """A word that occurs three times among four tokens has 3/4; `</s>` counts unless it is left out."""
    p = dense(token_distributions(*occurrences(TOKENS, WITHOUT_EOS)), 4, 12)
    assert p[0, [5, 6]].tolist() == pytest.approx([0.75, 0.25])
    assert p[2, [8, 9, 10]].tolist() == pytest.approx([1 / 3] * 3)
    assert p.sum(1).tolist() == pytest.approx([1, 1, 1, 0])  # the last has no token
    p = dense(token_distributions(*occurrences(TOKENS, torch.tensor([PAD]))), 4, 12)
    assert p[0, [5, 6, EOS]].tolist() == pytest.approx([0.6, 0.2, 0.2])
    assert p[3, EOS] == 1


def test_a_loss_scale_that_half_precision_does_not_have():
    """2^17, as of `--fp16` after some thousand updates; the gradients themselves are small enough."""
    features, weight = (each.detach().mul(0.01).half().requires_grad_() for each in random_inputs())
    targets = token_distributions(*occurrences(TOKENS, WITHOUT_EOS))
    (2.0**17 * divergence(features, weight, targets)).backward()
    exact = [each.detach().float().requires_grad_() for each in (features, weight)]
    (2.0**17 * divergence(*exact, targets)).backward()
    for found, expected in zip((features, weight), exact, strict=True):
        torch.testing.assert_close(found.grad.float(), expected.grad, atol=1.0, rtol=0.02)


def test_entries_are_distinct_and_sorted_by_token():
    targets = token_distributions(*occurrences(TOKENS, WITHOUT_EOS))
    assert targets.tokens.tolist() == [5, 6, 7, 8, 9, 10]
    assert targets.rows.tolist() == [0, 0, 1, 2, 2, 2]


@pytest.mark.parametrize("block", [1, 4, 20, 44, 47, None])
def test_equals_its_definition(block):
    features, weight = random_inputs()
    targets = token_distributions(*occurrences(TOKENS, WITHOUT_EOS))
    expected = by_definition(features, weight, dense(targets, 4, 12))
    found = divergence(features, weight, targets, block)
    torch.testing.assert_close(found, expected)
    for mine, reference in zip(
        torch.autograd.grad(0.3 * found, (features, weight)),
        torch.autograd.grad(0.3 * expected, (features, weight)),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference)
        assert mine.any()


@pytest.mark.parametrize("block", [8, None])
def test_gradcheck(block):
    features, weight = random_inputs()
    targets = token_distributions(*occurrences(TOKENS, WITHOUT_EOS))
    assert torch.autograd.gradcheck(lambda h, W: divergence(h, W, targets, block), (features, weight))


def test_equals_torchs_divergence():
    features, weight = random_inputs()
    targets = token_distributions(*occurrences(TOKENS, WITHOUT_EOS))
    log_q = (features @ weight.t()).log_softmax(-1)
    expected = F.kl_div(log_q, dense(targets, 4, 12), reduction="sum")
    torch.testing.assert_close(divergence(features, weight, targets), expected)


def test_a_softmax_that_equals_its_target_is_no_loss():
    p = torch.tensor([0.5, 0.25, 0.25])
    targets = TokenDistributions(torch.tensor([0, 0, 0]), torch.tensor([0, 1, 2]), p)
    features = torch.ones(1, 1, requires_grad=True)
    loss = divergence(features, p.log()[:, None], targets)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert features.grad.item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_all_logits_never_exist_at_once(training):
    """Nothing that is computed is larger than a block, but for the gradient of W."""
    N, V, C, block = 60, 400, 4, 2400
    features, weight = (x.float().detach() for x in random_inputs(N, V, C))
    features.requires_grad_(training), weight.requires_grad_(training)
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(3, V, (N, 7), generator=generator)
    targets = token_distributions(*occurrences(tokens, WITHOUT_EOS))
    with LargestTensor() as watched:
        loss = divergence(features, weight, targets, block)
        if training:
            loss.backward()
    assert watched.numbers == block  # of 24,000
    torch.testing.assert_close(loss, divergence(features, weight, targets, N * V))


@pytest.mark.parametrize("frozen", ["features", "weight", "both"])
def test_what_needs_no_gradient_gets_none(frozen):
    inputs = dict(zip(("features", "weight"), random_inputs(), strict=True))
    targets = token_distributions(*occurrences(TOKENS, WITHOUT_EOS))
    expected = dict(
        zip(
            inputs,
            torch.autograd.grad(divergence(*inputs.values(), targets, 8), inputs.values()),
            strict=True,
        )
    )
    for name in inputs:
        if frozen in (name, "both"):
            inputs[name] = inputs[name].detach()
    loss = divergence(*inputs.values(), targets, 8)
    assert loss.requires_grad == (frozen != "both")
    for name, tensor in inputs.items():
        if tensor.requires_grad:
            torch.testing.assert_close(torch.autograd.grad(loss, tensor)[0], expected[name])


@pytest.mark.parametrize("block", [64, None])
def test_bfloat16_autocast_is_close(block):
    features, weight = (x.float().detach().requires_grad_() for x in random_inputs(4, 40, 32))
    with torch.no_grad():
        weight.mul_(0.2)
    targets = token_distributions(*occurrences(TOKENS, WITHOUT_EOS))
    expected = divergence(features, weight, targets)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = divergence(features, weight, targets, block)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=2e-2, atol=0)
    for found, reference in zip(
        torch.autograd.grad(loss, (features, weight)),
        torch.autograd.grad(expected, (features, weight)),
        strict=True,
    ):
        assert found.dtype == torch.float32
        assert (found - reference).norm() < 0.03 * reference.norm()


def test_a_second_backward_pass_adds_the_same():
    """The gradient that the first one hands out stays as it was computed."""
    features, weight = random_inputs()
    targets = token_distributions(*occurrences(TOKENS, WITHOUT_EOS))
    loss = divergence(features, weight, targets)
    loss.backward(retain_graph=True)
    first = weight.grad.clone()
    loss.backward()
    torch.testing.assert_close(weight.grad, 2 * first)


def test_no_sentences_are_a_zero_that_has_gradients():
    features, weight = torch.zeros(0, 3, requires_grad=True), torch.randn(5, 3, requires_grad=True)
    targets = token_distributions(*occurrences(torch.zeros(0, 4, dtype=torch.long), WITHOUT_EOS))
    loss = divergence(features, weight, targets)
    loss.backward()
    assert loss.item() == 0
    assert not weight.grad.any()


def test_large_logits_do_not_overflow():
    features = torch.tensor([[1000.0], [-1000.0]], requires_grad=True)
    targets = TokenDistributions(torch.tensor([1, 0]), torch.tensor([0, 2]), torch.ones(2))
    loss = divergence(features, torch.tensor([[1.0], [0.5], [0.0]]), targets, block=2)
    loss.backward()
    assert loss.item() == pytest.approx(2000.0)
    assert torch.isfinite(features.grad).all()
