"""Lines of words as flat arrays of word numbers, and the word pairs of sentence pairs."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np


class Vocabulary(dict):
    """Word -> number, from 0; a word that is looked up with [] for the first time gets the next number."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class NumberedText:
    """Lines of words as numbers.

    Attributes:
        words: word -> number, from 0; grows only if `grow`; an unknown word is `len(words)`.
        tokens: numbers of all words, int32, line after line.
        lengths: words of every line.
        begins: where every line begins in `tokens`.
    """

    def __init__(self, lines: Iterable[str], words: Vocabulary, grow: bool):
        tokens, lengths, flat = [], [], []
        unknown = itertools.repeat(len(words))
        for line in lines:
            text = line.split()
            lengths.append(len(text))
            flat.extend(map(words.__getitem__, text) if grow else map(words.get, text, unknown))
            if len(flat) > 1 << 20:
                tokens.append(np.array(flat, dtype=np.int32))
                flat = []
        tokens.append(np.array(flat, dtype=np.int32))
        self.words = words
        self.tokens = np.concatenate(tokens)
        self.lengths = np.array(lengths, dtype=np.int64)
        self.begins = np.cumsum(self.lengths) - self.lengths


def ranges(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers begin, begin + 1, … of every (begin, length), one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)


class Cells:
    """All word pairs of some sentence pairs: a row per target word, the source words along it.

    Attributes:
        rows: source words of every row.
        begins: where every row begins.
        targets: target word of every row.
        sizes: per sentence pair, its number of cells.
        sources_of_rows: where the source sentence of every row begins, in the source text.
    """

    def __init__(self, source: NumberedText, target: NumberedText, first: int, last: int):
        n, m = source.lengths[first:last], target.lengths[first:last]
        self.rows = np.repeat(n, m)
        self.begins = np.cumsum(self.rows) - self.rows
        begin = target.begins[first] if last > first else 0
        self.targets = target.tokens[begin : begin + int(m.sum())]
        self.sizes = n * m
        self._source, self._sources_of_rows = source, np.repeat(source.begins[first:last], m)

    def keys(self, width: int) -> np.ndarray:
        """source * width + target, int64, per cell."""
        sources = self._source.tokens[ranges(self._sources_of_rows, self.rows)].astype(np.int64)
        return sources * width + np.repeat(self.targets, self.rows)


def chunks(source: NumberedText, target: NumberedText, cells: int) -> Iterator[tuple[int, int]]:
    """Ranges of sentence pairs with at most so many cells, or one sentence pair."""
    total = np.cumsum(source.lengths * target.lengths)
    first, count = 0, len(total)
    while first < count:
        before = total[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(total, before + cells, side="right")))
        yield first, last
        first = last
