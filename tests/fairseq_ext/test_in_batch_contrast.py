"""The blockwise softmax over a batch's candidates against loops over its definition."""

import math

import pytest
import torch

from fairseq_ext.losses.in_batch_contrast import in_batch_contrast
from tests.fairseq_ext.allocations import LargestTensor

SHAPES = [(1, 1, 2), (3, 3, 4), (5, 9, 3), (8, 8, 1)]  # K anchors, M candidates, D


def random_inputs(shape, seed: int = 1):
    K, M, D = shape
    generator = torch.Generator().manual_seed(seed)
    anchors, candidates = (
        torch.randn(size, D, generator=generator, dtype=torch.float64, requires_grad=True) for size in (K, M)
    )
    positives = torch.randperm(M, generator=generator)[:K]
    candidate_classes = torch.randint(0, 3, (M,), generator=generator)
    return anchors, candidates, positives, (candidate_classes[positives], candidate_classes)


def by_definition(anchors, candidates, positives, classes=None, margin=0.0):
    """Nested loops; a candidate of the positive's class other than the positive does not count."""
    loss = torch.zeros((), dtype=anchors.dtype)
    for k, anchor in enumerate(anchors):
        total = torch.zeros((), dtype=anchors.dtype)
        for m, candidate in enumerate(candidates):
            if classes is None or m == positives[k] or classes[0][k] != classes[1][m]:
                total = total + (anchor @ candidate - margin * (m == positives[k])).exp()
        loss = loss - ((anchor @ candidates[positives[k]] - margin).exp() / total).log()
    return loss


@pytest.mark.parametrize("with_classes", [False, True])
@pytest.mark.parametrize("block", [1, 20, None])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_its_definition(shape, block, with_classes):
    anchors, candidates, positives, classes = random_inputs(shape)
    classes = classes if with_classes else None
    expected = by_definition(anchors, candidates, positives, classes)
    found = in_batch_contrast(anchors, candidates, positives, classes, block)
    torch.testing.assert_close(found, expected)
    for mine, reference in zip(
        torch.autograd.grad(0.3 * found, (anchors, candidates)),
        torch.autograd.grad(0.3 * expected, (anchors, candidates)),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference)


@pytest.mark.parametrize("block", [20, None])
def test_a_margin_makes_the_positive_less_similar(block):
    anchors, candidates, positives, classes = random_inputs((5, 9, 3))
    expected = by_definition(anchors, candidates, positives, classes, margin=0.3)
    found = in_batch_contrast(anchors, candidates, positives, classes, block, margin=0.3)
    torch.testing.assert_close(found, expected)
    for mine, reference in zip(
        torch.autograd.grad(found, (anchors, candidates)),
        torch.autograd.grad(expected, (anchors, candidates)),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference)
    assert found > in_batch_contrast(anchors, candidates, positives, classes)


@pytest.mark.parametrize("block", [20, None])
def test_several_kinds_of_classes(block):
    """What shares one of its classes with the positive is no negative."""
    anchors, candidates, positives, _ = random_inputs((4, 6, 3))
    kinds = torch.tensor([[0, 9], [1, 8], [0, 7], [2, 8], [3, 6], [4, 5]])
    expected = 0
    for k, anchor in enumerate(anchors):
        mine = positives[k]
        negatives = [m for m in range(6) if not (kinds[m] == kinds[mine]).any()]
        scores = torch.stack([anchor @ candidates[m] for m in [mine, *negatives]])
        expected = expected - scores.log_softmax(0)[0]
        assert len(negatives) >= 4
    found = in_batch_contrast(anchors, candidates, positives, (kinds[positives], kinds), block)
    torch.testing.assert_close(found, expected)


def test_classes_matter():
    anchors, candidates, positives, classes = random_inputs((5, 9, 3))
    assert in_batch_contrast(anchors, candidates, positives, classes) < in_batch_contrast(
        anchors, candidates, positives
    )


@pytest.mark.parametrize("block", [10, None])
def test_gradcheck(block):
    anchors, candidates, positives, classes = random_inputs((4, 6, 3))
    assert torch.autograd.gradcheck(
        lambda a, c: in_batch_contrast(a, c, positives, classes, block), (anchors, candidates)
    )


def test_by_hand():
    """Similarities (log 3, 0; 0, log 3): each anchor gives its positive 3/4."""
    anchors = torch.eye(2) * math.log(3)
    loss = in_batch_contrast(anchors, torch.eye(2), torch.tensor([0, 1]))
    torch.testing.assert_close(loss, torch.tensor(2 * math.log(4 / 3)))


@pytest.mark.parametrize("with_classes", [False, True])
def test_there_is_never_more_than_a_block(with_classes):
    anchors, candidates, positives, classes = random_inputs((60, 80, 2))
    with LargestTensor() as watched:
        loss = in_batch_contrast(anchors, candidates, positives, classes if with_classes else None, block=400)
        loss.backward()
    assert watched.numbers == 400  # of 4,800
    assert anchors.grad.abs().sum() > 0


@pytest.mark.parametrize("candidates", [0, 3])
def test_no_anchors_is_a_zero_that_has_gradients(candidates):
    anchors = torch.zeros(0, 4, requires_grad=True)
    others = torch.randn(candidates, 4, requires_grad=True)
    loss = in_batch_contrast(anchors, others, torch.zeros(0, dtype=torch.long))
    loss.backward()
    assert loss.item() == 0
    assert anchors.grad.shape == (0, 4)
    assert not others.grad.any()


def test_low_temperatures_do_not_overflow():
    anchors = torch.tensor([[1000.0, 0.0], [-1000.0, 0.0]], requires_grad=True)
    candidates = torch.tensor([[0.5, 0.0], [1.0, 0.0]])
    loss = in_batch_contrast(anchors, candidates, torch.tensor([0, 1]))
    loss.backward()
    assert loss.item() == pytest.approx(1000.0)
    assert torch.isfinite(anchors.grad).all()


def test_float32_under_autocast():
    anchors, candidates, positives, _ = random_inputs((8, 8, 4))
    anchors, candidates = anchors.detach().float(), candidates.detach().float()
    expected = in_batch_contrast(anchors, candidates, positives)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = in_batch_contrast(anchors, candidates, positives)
    assert (found.dtype, found.item()) == (torch.float32, expected.item())
