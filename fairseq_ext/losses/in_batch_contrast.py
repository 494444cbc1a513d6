"""Softmax over the candidates of a batch, in blocks: what the contrastive losses have in common.

For anchors a_k with positives p(k) among candidates c_m, all of them scaled so that the product is similarity
over temperature,

    loss       = - sum_k log( exp(a_k c_p(k) - margin) / sum_m exp(a_k c_m - margin [m = p(k)]) )
    d loss/dS  = softmax(S) - onehot(p)                   (S = A C^T, less the margin at the positives)

A block of rows of S is made, used for loss and gradient, and overwritten by the next: the whole matrix never
exists.
"""

import torch
from torch import Tensor

from fairseq_ext.modules.float32 import at_least_float32

SIMILARITIES_PER_BLOCK = 1 << 22  # 16 MB of float32


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, anchors: Tensor, candidates: Tensor, positives: Tensor, classes, margin: float, block: int
    ):
        with_gradient = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        loss = anchors.new_zeros(())
        if with_gradient:
            anchor_gradient, candidate_gradient = torch.zeros_like(anchors), torch.zeros_like(candidates)
        rows_at_once = max(1, block // max(1, len(candidates)))
        for start in range(0, len(anchors), rows_at_once):
            rows = slice(start, start + rows_at_once)
            positive = positives[rows, None]
            scores = anchors[rows] @ candidates.t()
            if classes is not None:
                _drop_false_negatives(scores, classes[0][rows], classes[1], positive)
            if margin:
                scores.scatter_add_(1, positive, scores.new_full(positive.shape, -margin))
            largest = scores.amax(dim=1, keepdim=True)
            scores.sub_(largest)
            loss -= scores.gather(1, positive).sum()
            totals = scores.exp_().sum(dim=1, keepdim=True)
            loss += totals.log().sum()
            if with_gradient:
                gradient = scores.div_(totals)
                gradient.scatter_add_(1, positive, gradient.new_full(positive.shape, -1.0))
                torch.mm(gradient, candidates, out=anchor_gradient[rows])
                candidate_gradient.addmm_(gradient.t(), anchors[rows])
        if with_gradient:
            ctx.save_for_backward(anchor_gradient, candidate_gradient)
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, loss_gradient: Tensor):
        anchor_gradient, candidate_gradient = ctx.saved_tensors
        return anchor_gradient * loss_gradient, candidate_gradient * loss_gradient, None, None, None, None


def _drop_false_negatives(scores: Tensor, of_rows: Tensor, of_columns: Tensor, positive: Tensor) -> None:
    """Take candidates of a class of the positive out of the softmax, but for the positive itself."""
    kept = scores.gather(1, positive)
    if of_rows.dim() == 1:
        of_rows, of_columns = of_rows[:, None], of_columns[:, None]
    for of_row, of_column in zip(of_rows.unbind(1), of_columns.unbind(1), strict=True):
        scores.masked_fill_(of_row[:, None] == of_column[None, :], -torch.inf)
    scores.scatter_(1, positive, kept)


def in_batch_contrast(
    anchors: Tensor,
    candidates: Tensor,
    positives: Tensor,
    classes: tuple[Tensor, Tensor] | None = None,
    block: int | None = None,
    margin: float = 0.0,
) -> Tensor:
    """The loss above, summed over the anchors; zero, and still connected to its inputs, without anchors.

    Computed in float32 even under autocast (float64 stays float64).

    Args:
        anchors: K x D.
        candidates: M x D.
        positives: K row numbers of candidates.
        classes: for every anchor the class of its positive, K, and the class of every candidate, M: other
            candidates of the positive's class are no negatives of this anchor. With several kinds of classes,
            K x L and M x L, those that share one of them are none.
        block: numbers of S that exist at a time, at least one row of M
            (default: `SIMILARITIES_PER_BLOCK`).
        margin: by which the product with the positive is diminished.
    """
    anchors, candidates = at_least_float32(anchors), at_least_float32(candidates)
    with torch.autocast(anchors.device.type, enabled=False):
        return _Contrast.apply(
            anchors, candidates, positives, classes, margin, block or SIMILARITIES_PER_BLOCK
        )
