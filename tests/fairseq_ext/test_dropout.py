"""Dropout with few random bits: the right rate, the right scale, and its own mask as gradient."""

import pytest
import torch

from fairseq_ext.modules.dropout import Dropout, EmbeddingDropout, cheap_dropout


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(1)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_rate_scale_and_expectation(p):
    out = cheap_dropout(torch.ones(400_000), p)
    dropped = out.eq(0)
    four_sigma = 4 * (p * (1 - p) / 400_000) ** 0.5
    assert abs(dropped.float().mean().item() - p) < four_sigma + 2**-16
    torch.testing.assert_close(out[~dropped], torch.full_like(out[~dropped], 1 / (1 - p)))
    assert abs(out.mean().item() - 1) < (four_sigma + 2**-16) / (1 - p)


@pytest.mark.parametrize("p", [1, 1 - 2**-20])
def test_a_rate_of_one_leaves_nothing(p):
    x = torch.randn(1000, requires_grad=True)
    out = Dropout(p).train()(x)
    out.sum().backward()
    assert not out.any() and not x.grad.any()


def test_neighbours_are_independent():
    """Four elements share one draw of the generator, but no bits of it."""
    dropped = cheap_dropout(torch.ones(100_000, 4), 0.3).eq(0).float()
    together = (dropped.T @ dropped) / len(dropped)
    expected = torch.full((4, 4), 0.09).fill_diagonal_(0.3)
    torch.testing.assert_close(together, expected, atol=0.01, rtol=0)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5,), (2, 3, 7), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_shape_and_type_are_kept(shape, dtype):
    x = torch.randn(shape).to(dtype)
    out = cheap_dropout(x, 0.5)
    assert out.shape == x.shape
    assert out.dtype == dtype
    kept = out.ne(0)
    torch.testing.assert_close(out[kept], 2 * x[kept])


def test_a_slice_that_is_not_contiguous():
    x = torch.randn(6, 10)[:, ::2].T
    out = cheap_dropout(x, 0.5)
    kept = out.ne(0)
    torch.testing.assert_close(out[kept], 2 * x[kept])


def test_gradient_is_the_mask_over_one_minus_p():
    x = torch.randn(1000, requires_grad=True)
    out = cheap_dropout(x, 0.25)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out.detach().ne(0).float() / 0.75)


def test_the_seed_determines_the_mask():
    x = torch.ones(1000)
    torch.manual_seed(7)
    first, second = cheap_dropout(x, 0.5), cheap_dropout(x, 0.5)
    torch.manual_seed(7)
    assert torch.equal(cheap_dropout(x, 0.5), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("module_class", [Dropout, EmbeddingDropout])
def test_evaluation_and_rate_zero_change_nothing(module_class):
    x = torch.randn(100)
    assert torch.equal(module_class(0.5).eval()(x), x)
    assert torch.equal(module_class(0.0).train()(x), x)
    assert not torch.equal(module_class(0.5).train()(x), x)


def test_embeddings_become_bfloat16_under_autocast_only():
    x = torch.randn(10)
    module = EmbeddingDropout(0.1).eval()
    assert module(x).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert module(x).dtype == torch.bfloat16
        assert Dropout(0.1).eval()(x).dtype == torch.float32
