"""Multi-head attention through torch's fused kernels, with fairseq's parameter names and caches."""

import math

import torch
import torch.nn.functional as F
from fairseq.incremental_decoding_utils import with_incremental_state
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from fairseq_ext.modules.dropout import cheap_dropout

FEW_QUERIES = 16  # at most so many queries per sentence make a step of decoding: a beam
UNPLANNED_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
LONGEST_WEIGHTS = 512  # keys: training on a CPU keeps the weights of all pairs of positions up to here


def _joint_linear(x: Tensor, projections: list[nn.Linear]) -> tuple[Tensor, ...]:
    """Several projections of the same input as one product; one cast of the input under autocast."""
    if not isinstance(projections[0].weight, Tensor):  # quantized layers have no weights to join
        return tuple(projection(x) for projection in projections)
    weight = torch.cat([projection.weight for projection in projections])
    bias = torch.cat([projection.bias for projection in projections])
    return F.linear(x, weight, bias).chunk(len(projections), dim=-1)


def scaled_dot_product(q, k, v, mask: Tensor | None, causal: bool, dropout: float) -> Tensor:
    """softmax(q k^T / sqrt(D)) v for B x H x T x D, with torch's fused kernels.

    Not on a CPU where two batched products are faster: in training in bfloat16, because torch has no fast
    backward pass for it there, nor any fast dropout, and for the few queries of a step of decoding. What else
    is bfloat16 on a CPU goes through the kernel in float32.

    Nor with cuDNN's kernel, which torch prefers on Hopper GPUs and which is planned anew for each shape, when
    batches of sentences have thousands of shapes: trainings began slowly with it (docs/performance.md).
    """
    if q.device.type != "cpu":
        with sdpa_kernel(UNPLANNED_KERNELS):
            return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
    with torch.autocast("cpu", enabled=False):
        if q.requires_grad and q.dtype == torch.bfloat16 and k.size(2) <= LONGEST_WEIGHTS:
            return _weighted_values(q, k, v, _visible(q, k, mask, causal), dropout)
        q, k, v = q.float(), k.float(), v.float()
        if 1 < q.size(2) <= FEW_QUERIES and not (causal or dropout or q.requires_grad):
            return _weighted_values(q, k, v, mask, dropout)
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)


def _visible(q: Tensor, k: Tensor, mask: Tensor | None, causal: bool) -> Tensor | None:
    if not causal:
        return mask
    past = torch.ones(q.size(2), k.size(2), dtype=torch.bool, device=q.device).tril()
    return past if mask is None else past & mask


def _weighted_values(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    scores = (q / math.sqrt(q.size(-1))) @ k.transpose(-2, -1)
    weights = (scores if mask is None else scores.masked_fill_(~mask, -torch.inf)).softmax(dim=-1)
    return (cheap_dropout(weights, dropout) if dropout else weights) @ v


def _append(states: Tensor, order: Tensor | None, newest: Tensor) -> Tensor:
    """States (B x H x T x 2D) in a new order of B, or as they are, with one position more."""
    if order is None or torch.is_grad_enabled():
        states = states if order is None else states.index_select(0, order)
        return torch.cat([states, newest], dim=2)
    rows, heads, length, width = len(order), *states.shape[1:]
    longer = states.new_empty(rows, heads, length + 1, width)
    torch.index_select(states, 0, order, out=longer[:, :, :length])  # one copy, where cat would make a second
    longer[:, :, length:] = newest
    return longer


@with_incremental_state
class Attention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017), self- or encoder-decoder.

    Parameters are those of fairseq's `MultiheadAttention` (`q_proj`, `k_proj`, `v_proj`, `out_proj`) with
    its initialization.

    Args:
        width: C, of queries and of the output.
        heads: H; divides C.
        dropout: on the attention weights.
        key_width: width of keys and values; C by default.
        self_attention: keys and values are the queries; otherwise they are the encoder's states.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        key_width: int | None = None,
        self_attention: bool = True,
    ):
        super().__init__()
        if heads < 1 or width % heads:
            raise ValueError(f"{heads} attention heads do not divide the width {width}")
        self.heads, self.head_width = heads, width // heads
        self.dropout = dropout
        self.self_attention = self_attention
        self.beam_size = 1  # fairseq sets it in generation: queries per encoder sentence
        self.k_proj = nn.Linear(key_width or width, width)  # in fairseq's order: same seed, same weights
        self.v_proj = nn.Linear(key_width or width, width)
        self.q_proj = nn.Linear(width, width)
        self.out_proj = nn.Linear(width, width)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        gain = 1 / math.sqrt(2) if self.k_proj.in_features == self.q_proj.in_features else 1.0
        for projection in (self.k_proj, self.v_proj, self.q_proj):
            nn.init.xavier_uniform_(projection.weight, gain=gain)
        nn.init.xavier_uniform_(self.out_proj.weight)
        nn.init.zeros_(self.out_proj.bias)

    def set_beam_size(self, beam_size: int) -> None:
        self.beam_size = beam_size

    def _split_heads(self, x: Tensor) -> Tensor:
        # T x B x C -> B x H x T x D
        return x.unflatten(-1, (self.heads, self.head_width)).permute(1, 2, 0, 3)

    def forward(
        self,
        query: Tensor,
        memory: Tensor | None = None,
        padding_mask: Tensor | None = None,
        causal: bool = False,
        incremental_state: dict | None = None,
        need_head_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from `query` to itself, or to `memory`.

        Args:
            query: T x B x C.
            memory: encoder states, S x B x C; None for self-attention.
            padding_mask: B x S, true where a key is padding and must not be attended to.
            causal: position t sees positions <= t only. Padding on the right then needs no mask.
            incremental_state: fairseq's cache; the query is then the newest position alone (T = 1).
            need_head_weights: also return the attention weights.

        Returns:
            T x B x C, and the weights, H x B x T x S, or None.
        """
        if incremental_state is None:
            q, k, v = self._project(query, memory)
        elif self.self_attention:
            q, k, v = self._extended(query, incremental_state)
        else:
            q = self._split_heads(self.q_proj(query))
            k, v, padding_mask = self._encoder_keys(query, memory, padding_mask, incremental_state)
        causal = causal and incremental_state is None
        if q.size(0) != k.size(0):  # a beam of queries shares the keys of its sentence: (B·beam) x H x 1 x D
            sentences = k.size(0)
            q = q.view(sentences, -1, self.heads, self.head_width).transpose(1, 2)  # B x H x beam x D
        mask = None if padding_mask is None else ~padding_mask[:, None, None, :]
        weights = self._weights(q, k, mask, causal) if need_head_weights else None
        context = scaled_dot_product(q, k, v, mask, causal, self.dropout if self.training else 0.0)
        # B x H x T x D -> T x B x C; for a shared beam B x H x beam x D -> 1 x (B·beam) x C
        if context.size(0) != query.size(1):
            context = context.transpose(1, 2).reshape(1, query.size(1), -1)
        else:
            context = context.permute(2, 0, 1, 3).reshape(query.size(0), query.size(1), -1)
        return self.out_proj(context), weights

    def _project(self, query: Tensor, memory: Tensor | None) -> list[Tensor]:
        """Queries, keys and values, B x H x T x D, with one product per different input."""
        projections = [self.q_proj, self.k_proj, self.v_proj]
        if self.self_attention:
            states = _joint_linear(query, projections)
        else:
            states = [self.q_proj(query), *_joint_linear(memory, projections[1:])]
        return [self._split_heads(state) for state in states]

    def _weights(self, q: Tensor, k: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        scores = (q @ k.transpose(-2, -1)).float() / math.sqrt(self.head_width)  # B x H x T x S
        if (visible := _visible(q, k, mask, causal)) is not None:
            scores = scores.masked_fill(~visible, -torch.inf)
        return scores.softmax(dim=-1).transpose(0, 1)

    # --- the cache of incremental decoding

    def _extended(self, query: Tensor, incremental_state: dict) -> list[Tensor]:
        """The newest position's query, and keys and values so far with its own, B x H x T x D.

        The cache is B x H x T x 2D, keys beside values. Hypotheses that change places are moved here, where
        the cache is copied anyhow to make room for one position.
        """
        q, k, v = map(self._split_heads, _joint_linear(query, [self.q_proj, self.k_proj, self.v_proj]))
        newest = torch.cat([k, v], dim=-1)
        cache = self.get_incremental_state(incremental_state, "attn_state")
        states = _append(cache["states"], cache.get("order"), newest) if cache else newest
        self.set_incremental_state(incremental_state, "attn_state", {"states": states})
        return [q, *states.chunk(2, dim=-1)]

    def _encoder_keys(self, query, memory, padding_mask, incremental_state):
        """Keys and values of the encoder's states, B x H x S x D, and their padding mask."""
        cache = self.get_incremental_state(incremental_state, "attn_state")
        if not cache:
            cache = self._encoder_cache(query, memory, padding_mask)
            self.set_incremental_state(incremental_state, "attn_state", cache)
        return cache["key"], cache["value"], cache.get("padding_mask")

    def _encoder_cache(self, query, memory, padding_mask):
        """Keys and values of the encoder's states, once per sentence although fairseq repeats them."""
        if self.beam_size > 1 and query.size(1) == memory.size(1):
            memory = memory[:, :: self.beam_size]
            padding_mask = None if padding_mask is None else padding_mask[:: self.beam_size]
        cache = {
            "key": self._split_heads(self.k_proj(memory)).contiguous(),
            "value": self._split_heads(self.v_proj(memory)).contiguous(),
        }
        if padding_mask is not None:
            cache["padding_mask"] = padding_mask
        return cache

    def reorder_incremental_state(self, incremental_state: dict, new_order: Tensor) -> dict:
        """fairseq's hook for hypotheses that change places and finished sentences that leave the batch."""
        cache = self.get_incremental_state(incremental_state, "attn_state")
        if not cache:
            return incremental_state
        if self.self_attention:
            order = cache["order"][new_order] if "order" in cache else new_order
            cache = {"states": cache["states"], "order": order}
        elif cache["key"].size(0) * self.beam_size != new_order.size(0):  # sentences have left
            sentences = new_order.view(-1, self.beam_size)[:, 0] // self.beam_size
            cache = {name: tensor.index_select(0, sentences) for name, tensor in cache.items()}
        self.set_incremental_state(incremental_state, "attn_state", cache)
        return incremental_state
