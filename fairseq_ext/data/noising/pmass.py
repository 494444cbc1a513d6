"""PMASS (thesis 4.3.2, algorithms 1 and 2 of B.1): whole phrases are masked, about half of the tokens.

The tree is binary (`data_prep.parsing.trees`): the phrase `i` over the words `start:end` splits before the
word `m = splits[i]` into the phrases `i + 1` over `start:m` and `i + m - start` over `m:end`. Its leaves are
words, which have one token each in the paper; here a word may be several subwords, and counts are of
subwords.
"""

import numpy as np

from fairseq_ext.data.noising.example import Example, Sentence, masked_example
from fairseq_ext.data.noising.masking import mass

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

    On the way down, a child that fits into what is left of half of the tokens is masked (with probability
    0.5 if the other one does not fit), and the way goes on in the other child. Half of the tokens are
    masked, or one less; with words of several subwords up to what is missing for one more word.

    Args:
        splits, starts: as in `single_span`.
    """
    splits, starts = splits.tolist(), starts.tolist()
    begin, end, phrase = 0, len(starts) - 1, 0
    budget = starts[-1] // 2
    spans: list[Span] = []

    def mask(first: int, last: int) -> int:
        spans.append((starts[first], starts[last]))
        return starts[last] - starts[first]

    while end - begin > 1 and budget > 0:  # lines 17 and 18
        split = splits[phrase]
        left, right = starts[split] - starts[begin], starts[end] - starts[split]
        if left == right == 1:  # lines 13 to 16: never, because a node on the way is larger than the budget
            break
        if left <= budget and right <= budget:  # lines 43 to 46
            budget -= mask(begin, split)
            go_right = True
        elif left <= budget:  # lines 19 to 25
            if rng.random() < 0.5:
                budget -= mask(begin, split)
            go_right = True
        elif right <= budget:  # lines 29 to 36
            if rng.random() < 0.5:
                budget -= mask(split, end)
            go_right = False
        else:  # lines 37 to 42
            go_right = rng.random() >= 0.5
        if go_right:
            begin, phrase = split, phrase + split - begin
        else:
            end, phrase = split, phrase + 1
    return sorted(spans)


def pmass_single(sentence: Sentence) -> Example:
    """PMASS.S: one phrase is masked, always the same."""
    return _masked(sentence, [single_span(sentence.structure.boundaries, sentence.structure.starts)])


def pmass_plural(sentence: Sentence) -> Example:
    """PMASS.P: several phrases are masked; where the algorithm masks nothing, a fragment as in MASS."""
    spans = plural_spans(sentence.structure.boundaries, sentence.structure.starts, sentence.rng)
    return _masked(sentence, spans) if spans else mass(sentence)


def _masked(sentence: Sentence, spans: list[Span]) -> Example:
    mask = np.zeros(len(sentence.tokens), dtype=bool)
    for start, end in spans:
        mask[start:end] = True
    return masked_example(sentence, mask)
