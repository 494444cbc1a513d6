"""Text as flat arrays of word numbers, and the word pairs that occur together in a corpus.

Whole arrays in place of lists and dictionaries of words: those would take ten times the memory and the time
of a corpus.
"""

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


MAXIMAL_LOAD = 0.7
LARGEST_START = 1 << 22  # slots, whatever is expected
_FREE = -1
_AT_ONCE = 1 << 18
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: neighbours come far apart


class PairTable:
    """A hash table over whole arrays: different non-negative 64-bit keys -> slots below `capacity`.

    Memory grows with the number of keys.
    Slots change while keys are added, so add all before asking for any. Linear probing.

    Args:
        expected: about how many different keys there will be; to grow takes time.
    """

    def __init__(self, expected: int = 0):
        capacity = 1 << max(16, min(int(expected / MAXIMAL_LOAD), LARGEST_START - 1).bit_length())
        self._keys = np.full(capacity, _FREE, dtype=np.int64)
        self.count = 0

    @property
    def capacity(self) -> int:
        return len(self._keys)

    def slices(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(slots, their keys) of all that was added, some at a time."""
        for first in range(0, self.capacity, _AT_ONCE):
            slots = first + np.flatnonzero(self._keys[first : first + _AT_ONCE] != _FREE)
            yield slots, self._keys[slots]

    def add(self, keys: np.ndarray) -> None:
        """Make room for keys, in any order and with repetitions."""
        for first in range(0, len(keys), _AT_ONCE):
            part = keys[first : first + _AT_ONCE]
            while self.count + len(part) > MAXIMAL_LOAD * self.capacity:
                self._grow()
            self.count += _insert(self._keys, part)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Slots of keys; `capacity` for a key that was never added. int32 as long as they fit."""
        slots = _home(keys, self.capacity)
        keys_there = self._keys[slots]
        todo = np.flatnonzero((keys_there != keys) & (keys_there != _FREE))
        while len(todo):
            slots[todo] = (slots[todo] + 1) & (self.capacity - 1)
            keys_there[todo] = self._keys[slots[todo]]
            todo = todo[(keys_there[todo] != keys[todo]) & (keys_there[todo] != _FREE)]
        slots[keys_there == _FREE] = self.capacity
        return slots.astype(np.int32 if self.capacity <= np.iinfo(np.int32).max else np.int64)

    def _grow(self) -> None:
        old = self._keys[self._keys != _FREE]
        self._keys = np.full(2 * self.capacity, _FREE, dtype=np.int64)
        _insert(self._keys, old)


def _home(keys: np.ndarray, capacity: int) -> np.ndarray:
    bits = np.uint64(64 - (capacity.bit_length() - 1))
    return ((keys.astype(np.uint64) * _MULTIPLIER) >> bits).astype(np.int64)


def _insert(table: np.ndarray, keys: np.ndarray) -> int:
    """Put keys into the table; returns how many were new."""
    slots, new = _home(keys, len(table)), 0
    while len(keys):
        free = table[slots] == _FREE
        if free.any():
            places = slots[free]
            table[places] = keys[free]  # of several keys for one place one stays, the others go on
            new += len(np.unique(places))
        todo = table[slots] != keys
        keys, slots = keys[todo], (slots[todo] + 1) & (len(table) - 1)
    return new
