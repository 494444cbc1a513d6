"""Means of states over spans and over sentences."""

import torch
from torch import Tensor


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
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    sums = rows.new_zeros(len(spans), rows.size(1)).index_add(0, owner, rows)
    return sums / (spans[:, 1] - spans[:, 0]).unsqueeze(1)


def sentence_means(states: Tensor, padding: Tensor) -> Tensor:
    """Mean of the states of every sentence without padding, B x C, summed in float32 or better.

    Args:
        states: T x B x C.
        padding: B x T, true at padding.
    """
    keep = ~padding.t().unsqueeze(-1)  # T x B x 1
    sums = (states * keep).sum(dim=0, dtype=torch.promote_types(states.dtype, torch.float32))
    return sums / keep.sum(dim=0)
