"""Random sentences with random structures, and draws that are not random, for tests of transforms."""

import numpy as np

from data_prep.formats.structures import Structure


def random_splits(rng: np.random.Generator, words: int) -> np.ndarray:
    """A random binary tree over `words` words, as splits in preorder."""
    splits, pending = [], [(0, words)]
    while pending:
        start, end = pending.pop()
        if end - start > 1:
            split = int(rng.integers(start + 1, end))
            splits.append(split)
            pending += ((split, end), (start, split))
    return np.array(splits, dtype=np.int64)


def random_starts(rng: np.random.Generator, words: int, longest: int) -> np.ndarray:
    """Words of one to `longest` subwords."""
    return np.concatenate(([0], rng.integers(1, longest + 1, size=words).cumsum()))


def random_sentence(rng: np.random.Generator, kind: str, longest: int = 3) -> tuple[np.ndarray, Structure]:
    """Token ids from 10 on, and bunsetsu or phrases with a random reordering."""
    words = int(rng.integers(1, 30))
    starts = random_starts(rng, words, longest)
    if kind == "phrases":
        boundaries = random_splits(rng, words)
    else:
        boundaries = np.flatnonzero(rng.random(words - 1) < 0.4) + 1
    tokens = rng.integers(10, 10_000, size=int(starts[-1]))
    return tokens, Structure(boundaries, rng.permutation(words), starts)


class Draws:
    """A generator whose draws are known."""

    def __init__(self, integers=(), permutations=(), randoms=()):
        self._integers, self._permutations, self._randoms = map(iter, (integers, permutations, randoms))

    def integers(self, _high):
        return next(self._integers)

    def permutation(self, _what):
        return np.array(next(self._permutations))

    def random(self):
        return next(self._randoms)
