"""The word pairs that occur together in a corpus, as places of one array.

A hash table over whole arrays: a Python dictionary would take ten times the memory and the time of a corpus.
"""

from collections.abc import Iterator

import numpy as np

MAXIMAL_LOAD = 0.7
LARGEST_START = 1 << 22  # slots, whatever is expected
_FREE = -1
_AT_ONCE = 1 << 18
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: neighbours come far apart


class PairTable:
    """Different non-negative 64-bit keys -> slots below `capacity`; memory grows with their number.

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
        """Slots of keys, int32; `capacity` for a key that was never added."""
        slots = _home(keys, self.capacity)
        found = self._keys[slots]
        todo = np.flatnonzero((found != keys) & (found != _FREE))
        while len(todo):
            slots[todo] = (slots[todo] + 1) & (self.capacity - 1)
            found[todo] = self._keys[slots[todo]]
            todo = todo[(found[todo] != keys[todo]) & (found[todo] != _FREE)]
        slots[found == _FREE] = self.capacity
        return slots.astype(np.int32)

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
