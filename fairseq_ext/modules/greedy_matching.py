"""Every token of a sentence with its best match in another one, for all pairs of M and N sentences.

The products of all tokens would be M x S x N x T numbers. A block of them is made, the maxima and where they
are are kept, M x S x N and M x N x T, and the next block takes its place. The gradient needs no products: a
token's comes from its matches alone.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

PRODUCTS_PER_BLOCK = 1 << 21  # 8 MB of float32


def greedy_matching(
    source: Tensor, target: Tensor, source_shares: Tensor, target_shares: Tensor, block: int | None = None
) -> tuple[Tensor, Tensor]:
    """Mean product of the tokens of a target with their best match in a source (precision), and of those of a
    source with theirs in a target (recall), M x N each.

    Args:
        source: M x S x C.
        target: N x T x C.
        source_shares: M x S, of every token in the mean of its sentence.
        target_shares: N x T.
        block: products that exist at a time, those of one pair of sentences at least.
    """
    return _GreedyMatching.apply(source, target, source_shares, target_shares, block or PRODUCTS_PER_BLOCK)


class _GreedyMatching(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, source: Tensor, target: Tensor, source_shares: Tensor, target_shares: Tensor, block: int
    ):
        (sources, source_length, _), (targets, target_length, _) = source.shape, target.shape
        with_gradient = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        precision, recall = source.new_empty(2, sources, targets)
        if with_gradient:
            at_target = torch.empty(
                sources, source_length, targets, dtype=torch.int32, device=source.device
            )  # where the best match of a source's token is
            at_source = torch.empty(sources, targets, target_length, dtype=torch.int32, device=source.device)
        for rows, columns in _blocks(sources, targets, source_length * target_length, block):
            products = source[rows].flatten(0, 1) @ target[columns].flatten(0, 1).t()
            products = products.view(-1, source_length, columns.stop - columns.start, target_length)
            if with_gradient:
                of_source, at_target[rows, :, columns] = products.max(dim=3)
                of_target, at_source[rows, columns] = products.max(dim=1)
            else:
                of_source, of_target = products.amax(dim=3), products.amax(dim=1)
            recall[rows, columns] = torch.einsum("ms,msn->mn", source_shares[rows], of_source)
            precision[rows, columns] = torch.einsum("nt,mnt->mn", target_shares[columns], of_target)
        if with_gradient:
            ctx.save_for_backward(source, target, source_shares, target_shares, at_source, at_target)
        return precision, recall

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, precision_gradient: Tensor, recall_gradient: Tensor):
        source, target, source_shares, target_shares, at_source, at_target = ctx.saved_tensors
        source_tokens, target_tokens = (_numbers(states) for states in (source, target))
        matches = (  # number of the source's token, of the target's, and what their product weighs
            (source_tokens[:, :, None], target_tokens[:, 0] + at_target),
            (source_tokens[:, 0, None, None] + at_source, target_tokens),
        )
        weights = (
            torch.einsum("ms,mn->msn", source_shares, recall_gradient),
            torch.einsum("nt,mn->mnt", target_shares, precision_gradient),
        )
        of_source, of_target = (
            torch.cat(
                [
                    both[side].expand_as(weight).flatten()
                    for both, weight in zip(matches, weights, strict=True)
                ]
            )
            for side in (0, 1)
        )
        weights = torch.cat([weight.flatten() for weight in weights])
        source_gradient = _weighted_sums(
            of_source, of_target, weights, target, source_tokens.numel()
        ).view_as(source)
        target_gradient = _weighted_sums(
            of_target, of_source, weights, source, target_tokens.numel()
        ).view_as(target)
        return source_gradient, target_gradient, None, None, None


def _blocks(rows: int, columns: int, products: int, block: int) -> Iterator[tuple[slice, slice]]:
    """Pairs of M x N, a rectangle at a time, of at most `block` products if a pair has so many."""
    pairs = max(1, block // max(1, products))
    columns_at_once = max(1, min(columns, pairs))
    rows_at_once = max(1, pairs // columns_at_once)
    for row in range(0, rows, rows_at_once):
        for column in range(0, columns, columns_at_once):
            yield (
                slice(row, min(row + rows_at_once, rows)),
                slice(column, min(column + columns_at_once, columns)),
            )


def _numbers(states: Tensor) -> Tensor:
    """Every token's number among all of B x T x C: B x T."""
    sentences, length, _ = states.shape
    return torch.arange(sentences * length, device=states.device).view(sentences, length)


def _weighted_sums(owners: Tensor, others: Tensor, weights: Tensor, states: Tensor, count: int) -> Tensor:
    """The sum of the states of each owner's others, each times its weight: `count` x C.

    Args:
        owners, others: numbers of tokens, K.
        weights: K.
        states: of the others, B x T x C.
    """
    order = owners.argsort()
    sizes = torch.bincount(owners, minlength=count)
    return F.embedding_bag(
        others[order],
        states.flatten(0, 1),
        offsets=sizes.cumsum(0) - sizes,
        per_sample_weights=weights[order],
        mode="sum",
    )
