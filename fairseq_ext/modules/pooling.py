"""One vector for the states of a span, or of a sentence (the *sentence encoder* axis)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from fairseq_ext.modules.float32 import at_least_float32


def tokens_of_spans(spans: Tensor) -> tuple[Tensor, Tensor]:
    """All K positions inside N half-open spans (N x 2): the number of the span, and the position; both K."""
    lengths = spans[:, 1] - spans[:, 0]
    owner = torch.repeat_interleave(torch.arange(len(spans), device=spans.device), lengths)
    begin = lengths.cumsum(0) - lengths  # where the tokens of every span begin among all K
    position = torch.arange(len(owner), device=spans.device) - (begin - spans[:, 0])[owner]
    return owner, position


def span_means(states: Tensor, sentence: Tensor, spans: Tensor) -> Tensor:
    """Mean of the states of every span, N x C, summed in float32 or better.

    Args:
        states: T x B x C.
        sentence: N numbers of sentences.
        spans: N x 2, half-open positions in the sentence, none empty.
    """
    owner, position = tokens_of_spans(spans)
    rows = states.flatten(0, 1).index_select(0, position * states.size(1) + sentence[owner])  # K x C
    rows = at_least_float32(rows)
    sums = rows.new_zeros(len(spans), rows.size(1)).index_add(0, owner, rows)
    return sums / (spans[:, 1] - spans[:, 0]).unsqueeze(1)


def sentence_means(states: Tensor, padding: Tensor) -> Tensor:
    """Mean of the states of every sentence without padding, B x C, summed in float32 or better.

    Args:
        states: T x B x C.
        padding: B x T, true at padding.
    """
    return sentence_sums(states, padding) / (~padding).sum(dim=1, keepdim=True)


def sentence_sums(states: Tensor, padding: Tensor) -> Tensor:
    """Sum of the states of every sentence without padding, B x C, in float32 or better."""
    keep = ~padding.t().unsqueeze(-1)
    return (states * keep).sum(dim=0, dtype=torch.promote_types(states.dtype, torch.float32))


def sentence_maxima(states: Tensor, padding: Tensor) -> Tensor:
    """Largest number of every dimension over the states of every sentence without padding, B x C."""
    return states.masked_fill(padding.t().unsqueeze(-1), -torch.inf).amax(dim=0)


def first_states(states: Tensor, padding: Tensor) -> Tensor:
    """State of the first token, B x C; padding is on the right."""
    return states[0]


@dataclass(frozen=True)
class PoolingKind:
    """How the states of a sentence become one vector.

    Attributes:
        label: in names of systems.
        apply: function of (states T x B x C, what does not count B x T) -> B x C.
        has_cls: does a token of its own, whose state is the vector, stand in front of every sentence?
        is_dense: do a dense layer and tanh follow (BERT's "pooler")?
    """

    label: str
    apply: Callable[[Tensor, Tensor], Tensor]
    has_cls: bool = False
    is_dense: bool = False


POOLINGS = {
    "mean": PoolingKind("mean", sentence_means),
    "max": PoolingKind("max", sentence_maxima),
    "sum": PoolingKind("sum", sentence_sums),
    "cls": PoolingKind("CLS", first_states, has_cls=True),
    "pooler": PoolingKind("pooler", first_states, has_cls=True, is_dense=True),
}


def not_counted(tokens: Tensor, padding: int, others: Tensor) -> Tensor:
    """Which tokens a pooling leaves out, B x T: padding, and others if a sentence has any besides them.

    Args:
        tokens: B x T.
        others: token ids, for instance of `</s>` and of language tags.
    """
    is_padding = tokens.eq(padding)
    left_out = is_padding | tokens.unsqueeze(2).eq(others).any(dim=2)  # operators that ONNX has
    return is_padding | (left_out & ~left_out.all(dim=1, keepdim=True))
