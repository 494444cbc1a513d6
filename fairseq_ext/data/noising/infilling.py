"""Text infilling (BART, Lewis et al. 2020; thesis 4.4.4): spans of random length, each replaced by one
`[M]`.
"""

import numpy as np

from fairseq_ext.data.noising.example import Example, Symbols, sequence_example

MASKED_SHARE = 0.3  # of the tokens (Lewis et al. 2020, section 5.1)
MEAN_LENGTH = 3.0  # of a span, Poisson-distributed


def span_lengths(count: int, mean: float, rng: np.random.Generator) -> np.ndarray:
    """Lengths of spans (0 occurs) that together hold `count` tokens; the last one is cut to fit."""
    lengths = np.empty(0, dtype=np.int64)
    while lengths.sum() < count:
        lengths = np.append(lengths, rng.poisson(mean, size=1 + int(count / mean)))
    totals = lengths.cumsum()
    last = int(np.searchsorted(totals, count))
    lengths = lengths[: last + 1].copy()
    lengths[last] -= totals[last] - count
    return lengths


def infilling(
    tokens: np.ndarray,
    rng: np.random.Generator,
    symbols: Symbols,
    share: float = MASKED_SHARE,
    mean: float = MEAN_LENGTH,
) -> Example:
    """Every span becomes a single `[M]`, a span of length 0 an inserted one; the target is the whole
    sentence.

    Args:
        tokens: `T` ids.
        share: of the tokens that is masked (at least one token is).
        mean: of the Poisson distribution of lengths.
    """
    count = min(len(tokens), max(1, round(share * len(tokens))))
    lengths = span_lengths(count, mean, rng)
    kept = len(tokens) - count
    places = np.sort(rng.permutation(kept + len(lengths))[: len(lengths)])  # of the masks in the source
    source = np.full(kept + len(lengths), symbols.mask, dtype=np.int64)
    is_token = np.ones(len(source), dtype=bool)
    is_token[places] = False
    before = places - np.arange(len(lengths))  # tokens kept before every span
    begins = before + lengths.cumsum() - lengths
    masked = np.zeros(len(tokens) + 1, dtype=np.int64)
    np.add.at(masked, begins, 1)
    np.add.at(masked, begins + lengths, -1)
    source[is_token] = tokens[masked[:-1].cumsum() == 0]
    return sequence_example(source, tokens, symbols)
