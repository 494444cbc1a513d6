"""Numbers for sequences of tokens, equal for equal ones: words and sentences compared by their text."""

import torch
from torch import Tensor

from fairseq_ext.modules.pooling import tokens_of_spans

HASH_BASE = 6364136223846793005  # odd; products wrap around at 64 bits


def surface_hashes(tokens: Tensor, sentence: Tensor, spans: Tensor) -> Tensor:
    """64-bit polynomial hashes of the tokens (B x T) of N spans (N x 2)."""
    owner, position = tokens_of_spans(spans)
    offset = position - spans[owner, 0]
    longest = int(offset.max()) + 1 if len(offset) else 1
    powers = torch.full((longest,), HASH_BASE, device=tokens.device).cumprod(0)
    terms = (tokens[sentence[owner], position] + 1) * powers[offset]
    return terms.new_zeros(len(spans)).index_add(0, owner, terms)


def sentence_hashes(tokens: Tensor, padding: int) -> Tensor:
    """64-bit polynomial hashes of B sentences, B, whatever the side and the amount of their padding.

    Args:
        tokens: B x T.
        padding: token id.
    """
    counts = tokens.ne(padding)
    first = counts.int().argmax(dim=1)
    spans = torch.stack([first, first + counts.sum(dim=1)], dim=1)
    return surface_hashes(tokens, torch.arange(len(tokens), device=tokens.device), spans)
