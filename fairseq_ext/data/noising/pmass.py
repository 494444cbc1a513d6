"""PMASS (thesis 4.3.2, algorithms 1 and 2 of B.1): whole phrases are masked, about half of the tokens.

The tree is binary (`data_prep.parsing.trees`): the phrase `i` over the words `start:end` splits before the
word `m = splits[i]` into the phrases `i + 1` over `start:m` and `i + m - start` over `m:end`. Its leaves are
words, which have one token each in the paper; here a word may be several subwords, and counts are of
subwords.
"""

import numpy as np

from fairseq_ext.data.noising.example import Example, Symbols, masked_example
from fairseq_ext.data.noising.mass import mass

Span = tuple[int, int]


def single_span(splits: np.ndarray, starts: np.ndarray) -> Span:
    """Algorithm 1: down from the root into the larger child (the right one of equals), until half would hold
    it.

    Args:
        splits: of the phrases in preorder, in words.
        starts: where every word begins in tokens, and the number of tokens.

    Returns:
        the tokens to mask, half-open. One word is masked even if it is more than half of the sentence.
    """
    splits, starts = splits.tolist(), starts.tolist()
    begin, end, phrase = 0, len(starts) - 1, 0
    half = starts[-1] // 2
    while starts[end] - starts[begin] > half and end - begin > 1:
        split = splits[phrase]
        if starts[split] - starts[begin] > starts[end] - starts[split]:
            end, phrase = split, phrase + 1
        else:
            begin, phrase = split, phrase + split - begin
    return starts[begin], starts[end]


def plural_spans(splits: np.ndarray, starts: np.ndarray, rng: np.random.Generator) -> list[Span]:
    """Algorithm 2, line by line: the tokens to mask, as half-open spans from left to right.

    On the way down, always into the right child, the left child is masked with probability 0.5 if it fits
    into what is left of half of the sentence and the right child does not. So never more than half of the
    tokens is masked, often less, and sometimes nothing; `half_spans` masks half.

    Args:
        splits, starts: as in `single_span`.
    """
    splits, starts = splits.tolist(), starts.tolist()
    begin, end, phrase = 0, len(starts) - 1, 0
    budget = starts[-1] // 2
    spans: list[Span] = []
    while True:
        if end - begin <= 2:  # a word (lines 4 to 7) or two (lines 13 to 16)
            if starts[end] - starts[begin] <= budget:
                spans.append((starts[begin], starts[end]))
            return spans
        if budget <= 0:  # lines 17 and 18
            return spans
        split = splits[phrase]
        left, right = starts[split] - starts[begin], starts[end] - starts[split]
        if left <= budget < right and rng.random() < 0.5:  # lines 19 to 22
            spans.append((starts[begin], starts[split]))
            budget -= left
        begin, phrase = split, phrase + split - begin  # lines 23 and 25


def half_spans(splits: np.ndarray, starts: np.ndarray, rng: np.random.Generator) -> list[Span]:
    """What B.1 says about algorithm 2 in words: mask the left or the right child at random, go on in the
    other one.

    A child that does not fit into what is left of half of the sentence is not masked, but the other one is
    if it fits; if neither fits, the way down goes into the one that was drawn. Half of the tokens are
    masked: exactly if every word is one token, otherwise up to what is missing for one more word.

    Args:
        splits, starts: as in `single_span`.
    """
    splits, starts = splits.tolist(), starts.tolist()
    begin, end, phrase = 0, len(starts) - 1, 0
    budget = starts[-1] // 2
    spans: list[Span] = []
    while budget > 0 and end - begin > 1:
        split = splits[phrase]
        children = ((begin, split, phrase + 1), (split, end, phrase + split - begin))
        drawn = int(rng.random() < 0.5)
        going = drawn
        for masked in (drawn, 1 - drawn):
            first, last = starts[children[masked][0]], starts[children[masked][1]]
            if last - first <= budget:
                spans.append((first, last))
                budget -= last - first
                going = 1 - masked
                break
        begin, end, phrase = children[going]
    if 0 < starts[end] - starts[begin] <= budget:
        spans.append((starts[begin], starts[end]))
    return sorted(spans)


def pmass_single(
    tokens: np.ndarray, splits: np.ndarray, starts: np.ndarray, symbols: Symbols, inverted: bool = False
) -> Example:
    """PMASS.S: one phrase is masked, always the same.

    Args:
        tokens: `T` ids.
        splits, starts: `boundaries` and `starts` of the sentence's `Structure`.
        inverted: as in `masked_example`.
    """
    return _masked(tokens, [single_span(splits, starts)], symbols, inverted)


def pmass_plural(
    tokens: np.ndarray,
    splits: np.ndarray,
    starts: np.ndarray,
    rng: np.random.Generator,
    symbols: Symbols,
    exact_half: bool = False,
    inverted: bool = False,
) -> Example:
    """PMASS.P: several phrases are masked; where the algorithm masks nothing, a fragment as in MASS.

    Args:
        tokens: `T` ids.
        splits, starts: `boundaries` and `starts` of the sentence's `Structure`.
        exact_half: `half_spans` instead of algorithm 2.
        inverted: as in `masked_example`.
    """
    spans = (half_spans if exact_half else plural_spans)(splits, starts, rng)
    return _masked(tokens, spans, symbols, inverted) if spans else mass(tokens, rng, symbols, inverted)


def _masked(tokens: np.ndarray, spans: list[Span], symbols: Symbols, inverted: bool) -> Example:
    mask = np.zeros(len(tokens), dtype=bool)
    for start, end in spans:
        mask[start:end] = True
    return masked_example(tokens, mask, symbols, inverted)
