"""Reordering tasks: deshuffling (thesis 4.4.4), BRSS (thesis 4.3.1) and HFSS (thesis 4.3.2)."""

import numpy as np

from fairseq_ext.data.noising.example import Example, Sentence, sequence_example


def deshuffling(sentence: Sentence) -> Example:
    """The sentence in random order -> the sentence."""
    return sequence_example(sentence.rng.permutation(sentence.tokens), sentence.tokens, sentence.symbols)


def brss_forward(sentence: Sentence) -> Example:
    """BRSS.F: the sentence with its bunsetsu reversed -> the sentence."""
    return sequence_example(_reordered(sentence), sentence.tokens, sentence.symbols)


def brss_reverse(sentence: Sentence) -> Example:
    """BRSS.R: the sentence -> the sentence with its bunsetsu reversed."""
    return sequence_example(sentence.tokens, _reordered(sentence), sentence.symbols)


def hfss(sentence: Sentence) -> Example:
    """The sentence with its heads behind their dependents -> the sentence."""
    return sequence_example(_reordered(sentence), sentence.tokens, sentence.symbols)


def _reordered(sentence: Sentence) -> np.ndarray:
    return sentence.tokens[sentence.structure.token_order()]
