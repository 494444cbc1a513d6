"""Distributions over the vocabulary that are zero almost everywhere, and how far a softmax is from them.

With the bag of tokens p of a sentence and q = softmax(W h),

    loss       = D_KL(p || q) = sum_v p_v log p_v - sum_v p_v z_v + log sum_v exp(z_v)   (z = W h, the logits)
    d loss/dz  = q - p

The vocabulary is visited in blocks, twice: first for the sum of the exponentials, then, block by block, for
the gradients, for which all but the last block of logits are computed again. That is one matrix product more
than with all logits at once, which never exist together; and W and its gradient are read or written once per
visit, not once per block of sentences: with 60,000 symbols moving them takes longer than the products of a
small batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

LOGITS_PER_BLOCK = 1 << 22  # 16 MB of float32


@dataclass(frozen=True)
class TokenDistributions:
    """p of N sentences without its zeros: E entries, sorted by token.

    Attributes:
        rows: E numbers of sentences.
        tokens: E token ids.
        probabilities: E, those of a sentence sum up to 1, or to 0 if it has no token that counts.
    """

    rows: Tensor
    tokens: Tensor
    probabilities: Tensor


def token_distributions(rows: Tensor, tokens: Tensor, weights: Tensor) -> TokenDistributions:
    """The sums of the weights of equal tokens of a sentence; all arguments hold one number per occurrence."""
    count = int(rows.max()) + 1 if len(rows) else 1
    keys, place = torch.unique(tokens * count + rows, return_inverse=True)
    probabilities = weights.new_zeros(len(keys)).index_add(0, place, weights)
    return TokenDistributions(keys % count, keys // count, probabilities)


def occurrences(tokens: Tensor, left_out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The tokens of B sentences as E rows, token ids and weights 1/||S|| (thesis, equation 2.7).

    Args:
        tokens: B x T.
        left_out: token ids that do not count, nor in ||S||.
    """
    counts = ~torch.isin(tokens, left_out)
    rows, columns = counts.nonzero(as_tuple=True)
    lengths = counts.sum(dim=1)
    return rows, tokens[rows, columns], 1.0 / lengths[rows]


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features: Tensor, weight: Tensor, rows: Tensor, tokens: Tensor, p: Tensor, block: int):
        of_features, of_weight = ctx.needs_input_grad[:2]
        device = features.device.type
        autocast = torch.is_autocast_enabled(device)
        inputs = features.to(torch.get_autocast_dtype(device) if autocast else weight.dtype)
        exact = torch.promote_types(features.dtype, torch.float32)
        p = p.to(exact)
        width = max(1, block // max(1, len(features)))
        starts = torch.arange(0, len(weight) + width, width, device=tokens.device)
        cuts = torch.searchsorted(tokens, starts).tolist()  # of which block the entries are

        def visit(number: int) -> tuple[slice, Tensor, tuple[Tensor, Tensor], Tensor]:
            """The block's rows of W, in the type of the products, its entries of p: where and what."""
            symbols = slice(number * width, min((number + 1) * width, len(weight)))
            entries = slice(cuts[number], cuts[number + 1])
            where = (rows[entries], tokens[entries] - symbols.start)
            return symbols, weight[symbols].to(inputs.dtype), where, p[entries]

        with torch.autocast(device, enabled=False):
            loss = torch.special.xlogy(p, p).sum()
            largest = features.new_full((len(features), 1), -torch.inf, dtype=exact)
            total = torch.zeros_like(largest)
            blocks = range(len(cuts) - 1)
            for number in blocks:
                _, projection, where, q = visit(number)
                logits = (inputs @ projection.t()).to(exact)
                loss -= (q * logits[where]).sum()
                before, largest = largest, torch.maximum(largest, logits.amax(dim=1, keepdim=True))
                total = total * (before - largest).exp() + (logits - largest).exp_().sum(dim=1, keepdim=True)
            log_total = largest + total.log()
            mass = torch.zeros_like(total).index_add_(0, rows, p[:, None])
            loss += (mass * log_total).sum()
            if of_features or of_weight:
                feature_gradient = torch.zeros_like(features, dtype=exact) if of_features else None
                weight_gradient = torch.empty_like(weight) if of_weight else None
                for number in reversed(blocks):
                    symbols, projection, where, q = visit(number)
                    if number < blocks[-1]:  # the last are still there
                        logits = (inputs @ projection.t()).to(exact)
                    gradient = logits.sub_(log_total).exp_().mul_(mass)
                    gradient.index_put_(where, -q, accumulate=True)
                    gradient = gradient.to(inputs.dtype)
                    if of_features:
                        feature_gradient += gradient @ projection
                    if of_weight:
                        _product_into(weight_gradient[symbols], gradient.t(), inputs)
                ctx.save_for_backward(feature_gradient, weight_gradient)
                ctx.feature_type = features.dtype
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, loss_gradient: Tensor):
        feature_gradient, weight_gradient = ctx.saved_tensors
        if feature_gradient is not None:
            feature_gradient = (feature_gradient * loss_gradient).to(ctx.feature_type)
        # multiplied by 1, as usual, V x C numbers would only be copied; on a GPU asking takes longer
        if weight_gradient is not None and (loss_gradient.is_cuda or loss_gradient != 1):
            weight_gradient = (weight_gradient * loss_gradient.float()).to(weight_gradient.dtype)
        return feature_gradient, weight_gradient, None, None, None, None


def _product_into(place: Tensor, a: Tensor, b: Tensor) -> None:
    """place = a b, without a copy if they have one type."""
    if place.dtype == a.dtype:
        torch.mm(a, b, out=place)
    else:
        place.copy_(a @ b)


def divergence(
    features: Tensor, weight: Tensor, targets: TokenDistributions, block: int | None = None
) -> Tensor:
    """sum over N of D_KL(p || softmax(W h)), in nats, float32 or better; a sentence without tokens adds 0.

    Under autocast the products are made in the autocast type, everything else in float32.

    Args:
        features: h, N x C.
        weight: W, V x C.
        targets: p of the N sentences.
        block: logits that exist at a time, at least a column of N (default: `LOGITS_PER_BLOCK`).
    """
    entries = (targets.rows, targets.tokens, targets.probabilities)
    return _Divergence.apply(features, weight, *entries, block or LOGITS_PER_BLOCK)
