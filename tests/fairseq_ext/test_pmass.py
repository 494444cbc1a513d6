"""PMASS: the algorithms of B.1 against literal transcriptions over trees of nodes with the tags of Enju."""

from itertools import pairwise

import numpy as np
import pytest

from data_prep.formats.structures import Structure
from fairseq_ext.data.noising.example import Sentence, Symbols
from fairseq_ext.data.noising.pmass import plural_spans, pmass_plural, single_span
from tests.fairseq_ext.random_sentences import Draws, random_splits, random_starts

MASK, EOS = 1, 2
SYMBOLS = Symbols(mask=MASK, eos=EOS)


class Node:
    def __init__(self, tag, children=(), token=None):
        self.tag, self.children, self.token = tag, children, token

    def tokens(self):
        return [self.token] if self.tag == "tok" else [t for child in self.children for t in child.tokens()]


def node_tree(splits, start, end, rng):
    """The tree as Enju writes it: unary <cons> here and there, one over every <tok>."""
    splits = list(splits)

    def build(start, end):
        if end - start == 1:
            node = Node("cons", [Node("tok", token=start)])
        else:
            split = splits.pop(0)
            left = build(start, split)
            node = Node("cons", [left, build(split, end)])
        return Node("cons", [node]) if rng.random() < 0.3 else node

    return Node("sentence", [build(start, end)])


def pmass_of_the_paper(node, length, masked_count, masked, random):
    if node.tag == "sentence":
        return pmass_of_the_paper(node.children[0], length, masked_count, masked, random)
    if node.tag == "tok":
        if int(length / 2) - masked_count > 0:
            masked.append(node.token)
        return masked
    if len(node.children) == 1 and node.tag == "cons":
        return pmass_of_the_paper(node.children[0], length, masked_count, masked, random)
    left, right = node.children
    ll, lr = len(left.tokens()), len(right.tokens())
    if ll == 1 and lr == 1:
        if int(length / 2) - masked_count > 1:
            masked += node.tokens()
        return masked
    if int(length / 2) <= masked_count:
        return masked
    if ll <= int(length / 2) - masked_count and lr > int(length / 2) - masked_count:
        if random() < 0.5:
            masked = masked + left.tokens()
            masked_count = masked_count + ll
            return pmass_of_the_paper(right, length, masked_count, masked, random)
        return pmass_of_the_paper(right, length, masked_count, masked, random)
    if lr <= int(length / 2) - masked_count and ll > int(length / 2) - masked_count:
        if random() < 0.5:
            masked = masked + right.tokens()
            masked_count = masked_count + lr
            return pmass_of_the_paper(left, length, masked_count, masked, random)
        return pmass_of_the_paper(left, length, masked_count, masked, random)
    if ll > int(length / 2) - masked_count and lr > int(length / 2) - masked_count:
        if random() < 0.5:
            return pmass_of_the_paper(left, length, masked_count, masked, random)
        return pmass_of_the_paper(right, length, masked_count, masked, random)
    masked = masked + left.tokens()
    masked_count = masked_count + ll
    return pmass_of_the_paper(right, length, masked_count, masked, random)


def single_of_the_paper(node, length):
    while len(node.tokens()) > int(length / 2):
        while len(node.children) == 1:
            node = node.children[0]
        if node.tag == "tok":  # the pseudo-code does not think of one word
            break
        left, right = node.children
        node = left if len(left.tokens()) > len(right.tokens()) else right
    return node.tokens()


def test_algorithm_2_is_the_pseudo_code():
    draws = np.random.default_rng(7)
    sizes = set()
    for seed in range(3_000):
        length = int(draws.integers(1, 25))
        splits = random_splits(draws, length)
        root = node_tree(splits, 0, length, draws)
        ours = plural_spans(splits, np.arange(length + 1), np.random.default_rng(seed))
        theirs = pmass_of_the_paper(root, length, 0, [], np.random.default_rng(seed).random)
        assert [token for start, end in ours for token in range(start, end)] == sorted(theirs)
        assert 0 <= length // 2 - len(theirs) <= 1
        sizes.add(len(theirs))
    assert len(sizes) > 8


def test_algorithm_1_is_the_pseudo_code():
    draws = np.random.default_rng(8)
    for _ in range(2_000):
        length = int(draws.integers(1, 25))
        splits = random_splits(draws, length)
        start, end = single_span(splits, np.arange(length + 1))
        assert list(range(start, end)) == single_of_the_paper(node_tree(splits, 0, length, draws), length)


@pytest.mark.parametrize("longest", [1, 2, 4])
def test_algorithm_2_masks_half_of_the_tokens_within_one_word(longest):
    rng = np.random.default_rng(9)
    for _ in range(3_000):
        words = int(rng.integers(1, 30))
        splits, starts = random_splits(rng, words), random_starts(rng, words, longest)
        spans = plural_spans(splits, starts, rng)
        masked = sum(end - start for start, end in spans)
        assert 0 <= int(starts[-1]) // 2 - masked <= max(longest - 1, 1)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_pmass_masks_whole_phrases():
    # [John [hit [a ball]]] with "ball" in two subwords: 5 tokens, half is 2
    splits, starts = np.array([1, 2, 3]), np.array([0, 1, 2, 3, 5])
    assert single_span(splits, starts) == (3, 5)  # 5 -> right 4 -> right 3 -> right 2
    assert plural_spans(splits, starts, Draws(randoms=[0.2, 0.9, 0.9])) == [(0, 1)]
    assert plural_spans(splits, starts, Draws(randoms=[0.9, 0.2, 0.9])) == [(1, 2)]
    assert plural_spans(splits, starts, Draws(randoms=[0.9, 0.9])) == [(2, 3)]  # "a" and "ball" both fit
    tokens = np.array([20, 21, 22, 23, 24])
    example = pmass_plural(
        Sentence(tokens, Structure(splits, np.arange(4), starts), Draws(randoms=[0.2, 0.2]), SYMBOLS)
    )
    assert example.source.tolist() == [MASK, MASK, 22, 23, 24, EOS]


def test_pmass_without_a_phrase_to_mask_is_mass():
    # one of two tokens is half of them, but algorithm 2 masks two words together or neither
    structure = Structure(np.array([1]), np.arange(2), np.array([0, 1, 2]))
    example = pmass_plural(Sentence(np.arange(20, 22), structure, Draws(integers=[1]), SYMBOLS))
    assert example.positions.tolist() == [1]
