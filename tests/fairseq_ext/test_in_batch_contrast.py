"""The blockwise softmax over a batch's candidates against loops over its definition."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_ext.losses.in_batch_contrast import in_batch_contrast

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


def by_definition(anchors, candidates, positives, classes=None):
    """Nested loops; a candidate of the positive's class other than the positive does not count."""
    loss = torch.zeros((), dtype=anchors.dtype)
    for k, anchor in enumerate(anchors):
        total = torch.zeros((), dtype=anchors.dtype)
        for m, candidate in enumerate(candidates):
            if classes is None or m == positives[k] or classes[0][k] != classes[1][m]:
                total = total + (anchor @ candidate).exp()
        loss = loss - ((anchor @ candidates[positives[k]]).exp() / total).log()
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


class LargestTensor(TorchDispatchMode):
    """Watches the size of everything that is computed."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.numbers = max(self.numbers, tensor.numel())
        return result


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
