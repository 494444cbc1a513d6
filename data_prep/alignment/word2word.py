"""Alignments from a bilingual lexicon: few and precise (thesis 5.1.1).

A word of A and a word of B are a pair when each is among the best translations of the other. A word with
several partners in its sentence pair keeps the one of best rank; what remains ambiguous is left out. Pairs
that are consecutive on both sides are combined to phrases.
"""

from pathlib import Path

import numpy as np

from data_prep.alignment.lexicon import Lexicon


class LexiconAligner:
    """Args:
    translations: how many of the best translations count, in both directions.
    """

    def __init__(self, translations: int):
        self._translations = translations

    def train(self, path_a: Path, path_b: Path) -> None:
        self._lexicon = Lexicon(path_a, path_b, self._translations)

    def align(self, lines_a: list[str], lines_b: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Pairs per line, and all pairs in order, `L x 4` half-open spans of words."""
        found = [self._line(a.split(), b.split()) for a, b in zip(lines_a, lines_b, strict=True)]
        spans = [span for spans in found for span in spans]
        return np.array([len(spans) for spans in found], dtype=int), np.array(spans, dtype=int).reshape(-1, 4)

    def _line(self, a: list[str], b: list[str]) -> list[tuple[int, int, int, int]]:
        words_a, words_b = self._lexicon.words
        ranks_a, ranks_b = self._lexicon.ranks
        places: dict[int, list[int]] = {}
        for place, word in enumerate(b):
            if word in words_b:
                places.setdefault(words_b[word], []).append(place)
        candidates = []
        for i, word in enumerate(a):
            x = words_a.get(word)
            if x is None:
                continue
            for y, rank in ranks_a[x].items():
                if y in places and x in ranks_b[y]:
                    candidates += [(rank + ranks_b[y][x], i, j) for j in places[y]]
        return merge_consecutive(unambiguous(candidates))


def unambiguous(candidates: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Links of (rank, i, j) that are better than every other candidate of their two words, ascending."""
    best_a: dict[int, list] = {}
    best_b: dict[int, list] = {}
    for candidate in candidates:
        rank, i, j = candidate
        for best, word in ((best_a, i), (best_b, j)):
            known = best.setdefault(word, [rank, 0])
            if rank < known[0]:
                known[:] = [rank, 0]
            known[1] += rank == known[0]
    return sorted((i, j) for rank, i, j in candidates if best_a[i] == [rank, 1] == best_b[j])


def merge_consecutive(links: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Combine one-to-one links, ascending, that are consecutive on both sides (in either order) to spans."""
    spans: list[tuple[int, int, int, int]] = []
    for i, j in links:
        span = i, i + 1, j, j + 1
        while spans and spans[-1][1] == span[0] and (spans[-1][3] == span[2] or span[3] == spans[-1][2]):
            last = spans.pop()
            span = last[0], span[1], min(last[2], span[2]), max(last[3], span[3])
        spans.append(span)
    return spans
