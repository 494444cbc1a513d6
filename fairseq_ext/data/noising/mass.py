"""MASS (Song et al. 2019; thesis 4.2.2): one masked fragment. MultiMASS (4.4.4): as many tokens, anywhere."""

import numpy as np

from fairseq_ext.data.noising.example import Example, Symbols, masked_example


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


def mass(tokens: np.ndarray, rng: np.random.Generator, symbols: Symbols, inverted: bool = False) -> Example:
    """One random fragment of half the length is masked; `inverted` as in `masked_example`."""
    return masked_example(tokens, fragment_mask(len(tokens), rng), symbols, inverted)


def multimass(
    tokens: np.ndarray, rng: np.random.Generator, symbols: Symbols, inverted: bool = False
) -> Example:
    """Half of the tokens, chosen at random, are masked; `inverted` as in `masked_example`."""
    return masked_example(tokens, scattered_mask(len(tokens), rng), symbols, inverted)
