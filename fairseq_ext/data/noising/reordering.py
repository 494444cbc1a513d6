"""Reordering tasks: deshuffling (thesis 4.4.4), BRSS (4.3.1) and HFSS (4.3.2)."""

import numpy as np

from fairseq_ext.data.noising.example import Example, Symbols, sequence_example


def deshuffling(tokens: np.ndarray, rng: np.random.Generator, symbols: Symbols) -> Example:
    """The sentence in random order -> the sentence.

    Args:
        tokens: `T` ids.
    """
    return sequence_example(rng.permutation(tokens), tokens, symbols)


def brss(tokens: np.ndarray, order: np.ndarray, symbols: Symbols, reverse: bool = False) -> Example:
    """BRSS.F: the sentence with its bunsetsu reversed -> the sentence. BRSS.R (`reverse`): the other way
    round.

    Args:
        tokens: `T` ids.
        order: BRSS' order of the tokens (`Structure.token_order()`).
    """
    reordered = tokens[order]
    return (
        sequence_example(tokens, reordered, symbols)
        if reverse
        else sequence_example(reordered, tokens, symbols)
    )


def hfss(tokens: np.ndarray, order: np.ndarray, symbols: Symbols) -> Example:
    """The sentence with its heads behind their dependents -> the sentence.

    Args:
        tokens: `T` ids.
        order: the head-final order of the tokens (`Structure.token_order()`).
    """
    return sequence_example(tokens[order], tokens, symbols)
