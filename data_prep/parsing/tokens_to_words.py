"""From the tokens of a parser to the words of the tokenized text, over characters (spaces do not count).

Tokenizers disagree ("can 't" and "ca n't", "well-known" in one or three parts). Where a character ends both
a token and a word, what lies between two such places is a block: usually one token and one word. A block of
several tokens and one word is a leaf of the tree; several words in one block stay together.
"""

import functools
import unicodedata
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from data_prep.parsing.trees import Tree, depths, keep_tokens, surround, widen_leaves

_SEPARATORS = ",;:、，；：・—–-"
_SIGNS_OF_WORDS = "%％‰&＆@＠#＃*＊§"  # Unicode's punctuation that is read as a word ("per cent", "and")


@functools.lru_cache(maxsize=1 << 16)
def is_punctuation(word: str) -> bool:
    """Whether a word consists of punctuation marks; signs of units, currencies and arithmetic are none."""
    return all(_is_mark(character) for character in word)


def _is_mark(character: str) -> bool:
    if character == "`":  # the opening quote of the Penn treebank, a symbol in Unicode
        return True
    return unicodedata.category(character)[0] == "P" and character not in _SIGNS_OF_WORDS


def is_separator(word: str) -> bool:
    """Whether a word is punctuation that stands between phrases (commas, colons, dashes)."""
    return word in _SEPARATORS


def ends_of(pieces: Sequence[str]) -> list[int]:
    """Where every piece ends, in characters."""
    return list(accumulate(map(len, pieces)))


class Blocks(NamedTuple):
    """Tokens and words between the places that end both: block `i` has `tokens[i]` tokens and `words[i]`
    words.
    """

    tokens: list[int]
    words: list[int]


def blocks(token_ends: Sequence[int], word_ends: Sequence[int]) -> Blocks:
    """The blocks of a sentence.

    Args:
        token_ends, word_ends: of the same text, not empty: the last entries are equal.
    """
    tokens, words = [], []
    places, token, word = set(token_ends), 0, 0
    begin_token = begin_word = 0
    for word, end in enumerate(word_ends, start=1):
        if end not in places:
            continue
        while token < len(token_ends) and token_ends[token] <= end:
            token += 1
        tokens.append(token - begin_token)
        words.append(word - begin_word)
        begin_token, begin_word = token, word
    return Blocks(tokens, words)


def tree_over_words(tree: Tree, token_ends: Sequence[int], word_ends: Sequence[int]) -> Tree:
    """The tree over tokens as a tree over words.

    Of several tokens in a block, the one nearest to the root stands for the block.
    """
    if token_ends == word_ends:
        return tree
    sizes = blocks(token_ends, word_ends)
    if max(sizes.tokens) > 1:
        depth, kept, first = depths(tree), [False] * tree.size, 0
        for count in sizes.tokens:
            kept[min(range(first, first + count), key=depth.__getitem__)] = True
            first += count
        tree = keep_tokens(tree, kept)
    return widen_leaves(tree, sizes.words) if max(sizes.words) > 1 else tree


def lift_edges(tree: Tree, punctuation: Sequence[bool]) -> Tree:
    """Punctuation at both ends of the sentence goes directly below the root, wherever the parser has put
    it.
    """
    if not (punctuation[0] or punctuation[-1]) or all(punctuation):
        return tree
    if not punctuation[0] and not punctuation[-2] and tree.splits[0] == tree.size - 1 and not tree.swaps[0]:
        return tree  # one mark at the end, and it is there already
    before = list(punctuation).index(False)
    after = list(reversed(punctuation)).index(False)
    kept = [before <= word < tree.size - after for word in range(tree.size)]
    return surround(keep_tokens(tree, kept), before, after)
