"""Attention in bfloat16 on a CPU, which has a way of its own, against the equation in float64; its cache."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_ext.modules.attention import LONGEST_WEIGHTS, Attention, scaled_dot_product

B, H, T, S, D = 3, 2, 5, 7, 8


def states(keys: int = S) -> list[Tensor]:
    """Queries, keys and values that bfloat16 has exactly."""
    draw = torch.Generator().manual_seed(1)
    return [torch.randn(B, H, length, D, generator=draw).bfloat16() for length in (T, keys, keys)]


def by_the_equation(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """softmax(q k^T / sqrt(D)) v, one query after the other."""
    rows = []
    for b in range(B):
        for h in range(H):
            for t in range(T):
                seen = [
                    s for s in range(k.size(2))
                    if (mask is None or mask[b, 0, 0, s]) and not (causal and s > t)
                ]  # fmt: skip
                scores = torch.stack([q[b, h, t] @ k[b, h, s] / math.sqrt(D) for s in seen])
                rows.append(sum(w * v[b, h, s] for w, s in zip(scores.softmax(0), seen, strict=True)))
    return torch.stack(rows).view(B, H, T, D)


def with_gradients(attend, tensors: list[Tensor]) -> list[Tensor]:
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    found = attend(*leaves)
    weights = torch.linspace(-1, 1, found.numel()).view(found.shape).to(found.dtype)
    (found * weights).sum().backward()
    return [found.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_outputs_and_gradients_in_bfloat16_are_those_of_the_equation(padded, causal):
    mask = (torch.arange(S) < torch.tensor([S, 4, 2])[:, None])[:, None, None] if padded else None
    expected = with_gradients(
        lambda *qkv: by_the_equation(*qkv, mask, causal), [tensor.double() for tensor in states()]
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = with_gradients(lambda *qkv: scaled_dot_product(*qkv, mask, causal, 0.0), states())
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == torch.bfloat16
        torch.testing.assert_close(ours.double(), theirs, atol=0.03, rtol=0.03)


def test_dropout_in_bfloat16_takes_weights_away_and_scales_the_others_up():
    q, k, _ = (tensor.requires_grad_() for tensor in states(64))
    every_key = torch.eye(64).bfloat16().expand(B, H, -1, -1)  # so that the values are the weights
    torch.manual_seed(1)
    dropped = scaled_dot_product(q, k, every_key, None, False, 0.25).float()
    weights = scaled_dot_product(q, k, every_key, None, False, 0.0).float()
    kept = dropped != 0
    assert 0.7 < kept.float().mean() < 0.8
    torch.testing.assert_close(dropped[kept], weights[kept] / 0.75, atol=0, rtol=0.02)


@pytest.mark.parametrize(
    ("kind", "trained", "keys", "fused"),
    [
        (torch.bfloat16, True, S, False),
        (torch.bfloat16, True, LONGEST_WEIGHTS + 1, True),
        (torch.bfloat16, False, LONGEST_WEIGHTS + 1, False),
        (torch.float32, True, S, True),
    ],
)
def test_the_fused_kernel_is_always_given_float32(monkeypatch, kind, trained, keys, fused):
    seen = []
    kernel = F.scaled_dot_product_attention

    def watched(q, *others):
        seen.append(q.dtype)
        return kernel(q, *others)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    scaled_dot_product(*(x.to(kind).requires_grad_(trained) for x in states(keys)), None, False, 0.0)
    assert seen == ([torch.float32] if fused else [])


def test_hypotheses_may_change_places_twice_before_a_step():
    module, draw = Attention(D, 2).eval(), torch.Generator().manual_seed(1)
    first, second = torch.randn(2, 1, B, D, generator=draw)  # of two steps
    orders = torch.tensor([[1, 2, 0], [0, 0, 2]])
    expected, found = {}, {}
    module(first[:, orders[0]][:, orders[1]], incremental_state=expected)
    module(first, incremental_state=found)
    for order in orders:
        module.reorder_incremental_state(found, order)
    outputs = [module(second, incremental_state=state)[0] for state in (found, expected)]
    torch.testing.assert_close(*outputs)


def test_a_gpu_does_not_use_kernels_that_are_planned_for_each_shape(monkeypatch):
    kernel, allowed = F.scaled_dot_product_attention, []

    def watched(*args):
        allowed.append(torch.backends.cuda.cudnn_sdp_enabled())
        return kernel(*args)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    before = torch.backends.cuda.cudnn_sdp_enabled()
    scaled_dot_product(*(torch.empty(2, 4, 5, 8, device="meta") for _ in range(3)), None, False, 0.0)
    assert allowed == [False]
    assert before and torch.backends.cuda.cudnn_sdp_enabled()
