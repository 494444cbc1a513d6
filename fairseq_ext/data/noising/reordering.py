"""Reordering tasks: deshuffling (thesis 4.4.4), BRSS (4.3.1) and HFSS (4.3.2)."""

import numpy as np

from data_prep.formats.structures import Structure
from fairseq_ext.data.noising.example import Example, Symbols, sequence_example


def deshuffling(
    tokens: np.ndarray,
    structure: Structure | None,
    rng: np.random.Generator,
    symbols: Symbols,
    inverted: bool = False,
) -> Example:
    """The sentence in random order -> the sentence."""
    return sequence_example(rng.permutation(tokens), tokens, symbols)


def brss_forward(
    tokens: np.ndarray,
    structure: Structure,
    rng: np.random.Generator,
    symbols: Symbols,
    inverted: bool = False,
) -> Example:
    """BRSS.F: the sentence with its bunsetsu reversed -> the sentence."""
    return sequence_example(tokens[structure.token_order()], tokens, symbols)


def brss_reverse(
    tokens: np.ndarray,
    structure: Structure,
    rng: np.random.Generator,
    symbols: Symbols,
    inverted: bool = False,
) -> Example:
    """BRSS.R: the sentence -> the sentence with its bunsetsu reversed."""
    return sequence_example(tokens, tokens[structure.token_order()], symbols)


def hfss(
    tokens: np.ndarray,
    structure: Structure,
    rng: np.random.Generator,
    symbols: Symbols,
    inverted: bool = False,
) -> Example:
    """The sentence with its heads behind their dependents -> the sentence."""
    return sequence_example(tokens[structure.token_order()], tokens, symbols)
