"""Masking tasks: MASS (Song et al. 2019; thesis 4.2.2), MultiMASS (thesis 4.4.4), BMASS (thesis 4.3.1,
table 4.2), and text infilling (BART, Lewis et al. 2020; thesis 4.4.4). PMASS, which masks phrases of a tree,
is in `pmass`.
"""

import numpy as np

from fairseq_ext.data.noising.example import Example, Sentence, masked_example, sequence_example

MASKED_SHARE = 0.3  # of the tokens in text infilling (Lewis et al. 2020, section 5.1)
MEAN_LENGTH = 3.0  # of its spans, Poisson-distributed


def masked_count(length: int) -> int:
    """How many tokens of a sentence are masked: half, and at least one."""
    return min(length, max(1, length // 2))


def fragment_mask(length: int, rng: np.random.Generator) -> np.ndarray:
    """A fragment of half the sentence, all places equally likely."""
    count = masked_count(length)
    start = int(rng.integers(length - count + 1))
    mask = np.zeros(length, dtype=bool)
    mask[start : start + count] = True
    return mask


def scattered_mask(length: int, rng: np.random.Generator) -> np.ndarray:
    """Half of the tokens, all subsets equally likely."""
    mask = np.zeros(length, dtype=bool)
    mask[rng.permutation(length)[: masked_count(length)]] = True
    return mask


def mass(sentence: Sentence) -> Example:
    """One random fragment of half the length is masked."""
    return masked_example(sentence, fragment_mask(len(sentence.tokens), sentence.rng))


def multimass(sentence: Sentence) -> Example:
    """Half of the tokens, chosen at random, are masked."""
    return masked_example(sentence, scattered_mask(len(sentence.tokens), sentence.rng))


def bunsetsu_mask(length: int, boundaries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Half of the bunsetsu (at least one), all subsets equally likely.

    Args:
        length: number of tokens.
        boundaries: first token of every bunsetsu but the first, ascending.
    """
    edges = np.concatenate(([0], boundaries, [length]))
    chosen = np.zeros(len(edges) - 1, dtype=bool)
    chosen[rng.permutation(len(chosen))[: masked_count(len(chosen))]] = True
    return np.repeat(chosen, np.diff(edges))


def bmass(sentence: Sentence) -> Example:
    """Half of the bunsetsu are masked as a whole."""
    boundaries = sentence.structure.token_boundaries()
    return masked_example(sentence, bunsetsu_mask(len(sentence.tokens), boundaries, sentence.rng))


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


def infilling(sentence: Sentence) -> Example:
    """Every span becomes a single `[M]`, a span of length 0 an inserted one; the target is always the whole
    sentence. At least one token is masked.
    """
    tokens, rng, symbols = sentence.tokens, sentence.rng, sentence.symbols
    count = min(len(tokens), max(1, round(MASKED_SHARE * len(tokens))))
    lengths = span_lengths(count, MEAN_LENGTH, rng)
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
