"""Label-smoothed cross-entropy straight from decoder features, without ever holding all logits.

The projection to the vocabulary and its loss dominate the cost of a small or middle-sized model: for 4,096
tokens and 50,000 symbols the logits alone take 800 MB, which fairseq's criterion reads and writes several
times. Here the tokens go through in chunks that stay near the processor, and the gradient is made in the
same visit: with p = softmax(W h) and smoothing epsilon, epsilon_i = epsilon / (V - 1), target y (Szegedy et
al. 2016, as fairseq defines it),

    loss      = -(1 - epsilon - epsilon_i) log p_y - epsilon_i sum_v log p_v
    d loss/dz = p - (1 - epsilon - epsilon_i) onehot(y) - epsilon_i        (z = W h, the logits)
"""

import torch
from torch import Tensor

# 16 MB of float32 on a processor, measured best between cache and the size of the products; 256 MB on a GPU,
# so that there are few products, and few passes over the gradient of the weights.
LOGITS_PER_CHUNK = {"cpu": 1 << 22, "cuda": 1 << 26}


def _chunks(tokens: int, vocabulary: int, device: str) -> range:
    return range(0, tokens, max(1, LOGITS_PER_CHUNK.get(device, 1 << 26) // vocabulary))


class _FusedLoss(torch.autograd.Function):
    """Sums over tokens of (loss, negative log-likelihood); only the loss has a gradient."""

    @staticmethod
    def forward(ctx, features: Tensor, weight: Tensor, target: Tensor, epsilon: float):
        vocabulary = weight.size(0)
        epsilon_i = epsilon / (vocabulary - 1)
        on_target = 1.0 - epsilon - epsilon_i
        with_gradient = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        product_type = torch.get_autocast_dtype(features.device.type)
        autocast = torch.is_autocast_enabled(features.device.type)
        inputs = features.to(product_type) if autocast else features
        projection = weight.to(product_type) if autocast else weight
        loss, nll = (features.new_zeros((), dtype=torch.float32) for _ in range(2))
        if with_gradient:
            feature_gradient = torch.empty_like(inputs)
            weight_gradient = torch.zeros_like(weight, dtype=torch.float32)  # a sum over many chunks
        chunks = _chunks(len(features), vocabulary, features.device.type)
        for start in chunks:
            rows = slice(start, start + chunks.step)
            y = target[rows, None]
            logits = (inputs[rows] @ projection.t()).float()  # N x V
            log_p = logits.log_softmax(dim=-1)
            nll_sum = -log_p.gather(1, y).sum()
            nll = nll + nll_sum
            loss = loss + on_target * nll_sum
            if epsilon:
                loss = loss - epsilon_i * log_p.sum()
            if with_gradient:
                gradient = log_p.exp_()  # - epsilon_i follows below, for all rows at once
                gradient.scatter_add_(1, y, gradient.new_full(y.shape, -on_target))
                gradient = gradient.to(inputs.dtype)
                torch.mm(gradient, projection, out=feature_gradient[rows])
                weight_gradient.add_(gradient.t() @ inputs[rows])
        if with_gradient:
            if epsilon:  # -epsilon_i in every element of the logits' gradient: two sums in place of a matrix
                feature_gradient.sub_(epsilon_i * projection.sum(dim=0, dtype=torch.float32))
                weight_gradient.sub_(epsilon_i * inputs.sum(dim=0, dtype=torch.float32))
            ctx.save_for_backward(feature_gradient, weight_gradient)
            ctx.types = features.dtype, weight.dtype
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx, loss_gradient: Tensor, _):
        feature_gradient, weight_gradient = ctx.saved_tensors
        # float32 first: a loss scale above 65,504 is no number of float16
        gradients = feature_gradient.float() * loss_gradient, weight_gradient * loss_gradient
        return *(gradient.to(kind) for gradient, kind in zip(gradients, ctx.types, strict=True)), None, None


def fused_label_smoothed_loss(
    features: Tensor, weight: Tensor, target: Tensor, epsilon: float, padding: int
) -> tuple[Tensor, Tensor]:
    """Summed loss and negative log-likelihood (nats, float32) over all tokens that are not padding.

    Equals fairseq's `label_smoothed_nll_loss` on `log_softmax(features @ weight.T)`. Under autocast the
    products are made in the autocast type, everything else in float32. The gradient of weights in half
    precision is summed in float32, too.

    Args:
        features: B x T x C, the decoder's output before the projection.
        weight: V x C.
        target: B x T token ids.
        epsilon: label smoothing in [0, 1).
        padding: token id that is no target.
    """
    features, target = features.reshape(-1, features.size(-1)), target.reshape(-1)
    tokens = target.ne(padding).nonzero().squeeze(1)  # padding costs nothing
    return _FusedLoss.apply(features.index_select(0, tokens), weight, target[tokens], epsilon)
