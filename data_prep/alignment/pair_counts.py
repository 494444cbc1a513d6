"""How often words are aligned with each other."""

import itertools
from collections import Counter
from collections.abc import Iterable

import numpy as np

from data_prep.alignment.word_pairs import Vocabulary

AT_ONCE = 1 << 22  # pairs of words
_LOWER = (1 << 32) - 1


class PairCounts:
    """How often words are aligned: whole arrays, 16 bytes for a pair of words in place of hundreds, as most
    pairs of a large corpus are rare.
    """

    def __init__(self, counted: Iterable[tuple[tuple[str, str], int]]):
        """Count what was counted in parts.

        Args:
            counted: a word and its translation, and how often they are aligned; a pair may come again.
        """
        self._words, self._translations = Vocabulary(), Vocabulary()
        self._keys, self._counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        parts, size = [], 0
        counted = iter(counted)
        while part := list(itertools.islice(counted, AT_ONCE)):
            rows = ((self._words[a] << 32 | self._translations[b], count) for (a, b), count in part)
            parts.append(np.fromiter(rows, dtype=(np.int64, 2), count=len(part)))
            size += len(part)
            if size > max(AT_ONCE, len(self._keys)):
                self._add(parts)
                parts, size = [], 0
        self._add(parts)

    def _add(self, parts: list[np.ndarray]) -> None:
        keys = np.concatenate([self._keys, *(part[:, 0] for part in parts)])
        counts = np.concatenate([self._counts, *(part[:, 1] for part in parts)])
        self._keys, places = np.unique(keys, return_inverse=True)
        self._counts = np.bincount(places, counts, minlength=len(self._keys)).astype(np.int64)

    def at_least(self, count: int) -> Counter:
        """(word, translation) -> how often, of those that are aligned so often."""
        words, translations = list(self._words), list(self._translations)
        chosen = self._counts >= count
        pairs = zip(self._keys[chosen].tolist(), self._counts[chosen].tolist(), strict=True)
        return Counter({(words[key >> 32], translations[key & _LOWER]): number for key, number in pairs})
