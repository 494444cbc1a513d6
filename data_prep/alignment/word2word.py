"""Alignments from a bilingual lexicon: few and precise (thesis 5.1.1).

The lexicon is made as word2word makes it (Choe, Park and Kim, 2020). A translation y of x is scored by how
much more often it occurs in translations of sentences with x than the other words of these sentences, its
collocates x', explain (controlled predictive effect):

    score(x, y) = p(y | x) - sum over x' != x of p(x' | x) p(y | x')

with p(y | x) = count(x, y) / count(x). Collocates are the most frequent words; candidates are those that
occur most often with x. Constants are word2word's. The counts are products of sparse matrices here.

A word of A and a word of B are a pair when each is among the best translations of the other. A word with
several partners in its sentence pair keeps the one of best rank; what remains ambiguous is left out. Pairs
that are consecutive on both sides are combined to phrases.
"""

from pathlib import Path

import numpy as np

from command_line.lines import read_lines
from data_prep.alignment.word_pairs import NumberedText, Vocabulary

COLLOCATES = 5000  # most frequent words
CANDIDATES = 100  # translations whose score is computed
_WORDS_AT_ONCE = 512


class Lexicon:
    """Ranked translations in both directions.

    Attributes:
        words: word -> number, for both sides.
        ranks: ranks[side][x] = {y: rank from 0} with y of the other side.
    """

    def __init__(self, path_a: Path, path_b: Path, translations: int):
        self.words = Vocabulary(), Vocabulary()
        text = [
            NumberedText(read_lines(p), w, True) for p, w in zip((path_a, path_b), self.words, strict=True)
        ]
        a, b = (_occurrences(side) for side in text)
        together = (a.T @ b).tocsr()
        self.ranks = [
            _translations(a, together, translations),
            _translations(b, together.T.tocsr(), translations),
        ]


def _occurrences(text: NumberedText):
    """Counts of words in lines, lines x words."""
    from scipy.sparse import csr_array

    ones = np.ones(len(text.tokens))
    edges = np.append(text.begins, len(text.tokens))
    counts = csr_array((ones, text.tokens, edges), shape=(len(text.lengths), len(text.words)))
    counts.sum_duplicates()
    return counts


def _translations(occurrences, together, translations: int) -> list[dict[int, int]]:
    """The best translations of every word of one side; `together` is words x words of the other side."""
    counts = np.asarray(occurrences.sum(axis=0)).ravel()
    frequent = np.argsort(-counts, kind="stable")[:COLLOCATES]
    explained = (together[frequent].multiply(1 / counts[frequent][:, None])).tocsr()  # p(y | x')
    own = np.zeros(len(counts))  # x itself is no collocate of x: its part of the sum
    own[frequent] = occurrences.power(2).sum(axis=0)[frequent] / counts[frequent]
    lines_of_words, beside_all = occurrences.T.tocsr(), occurrences[:, frequent]
    ranks = []
    for first in range(0, len(counts), _WORDS_AT_ONCE):
        last = min(first + _WORDS_AT_ONCE, len(counts))
        correction = lines_of_words[first:last] @ beside_all @ explained
        for row, word in enumerate(range(first, last)):
            ranks.append(_best(_row(together, word), own[word], _row(correction, row), translations))
    return ranks


def _row(matrix, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns, ascending, and values of a row of a sparse matrix."""
    begin, end = matrix.indptr[number : number + 2]
    columns, values = matrix.indices[begin:end], matrix.data[begin:end]
    order = np.argsort(columns, kind="stable")
    return columns[order], values[order]


def _best(together, own: float, correction, translations: int) -> dict[int, int]:
    """Translations of a word x -> rank.

    Args:
        together: words y and count(x, y).
        own: the part of x itself in the correction, per count(x, y).
        correction: words y and sum over x' of count(x, x') p(y | x').
    """
    others, counts = together
    if len(others) > CANDIDATES:
        chosen = np.sort(np.argsort(-counts, kind="stable")[:CANDIDATES])
        others, counts = others[chosen], counts[chosen]
    scores = counts * (1 + own)
    places, values = correction
    if len(places):
        indices = np.minimum(np.searchsorted(places, others), len(places) - 1)
        scores -= np.where(places[indices] == others, values[indices], 0)
    best = np.lexsort((others, -counts, -scores))[:translations]
    return {int(other): rank for rank, other in enumerate(others[best])}


class LexiconAligner:
    """The aligner.

    Args:
        translations: how many of the best translations count, in both directions.
    """

    def __init__(self, translations: int):
        self._translations = translations

    def train(self, path_a: Path, path_b: Path) -> None:
        self._lexicon = Lexicon(path_a, path_b, self._translations)

    def align(self, lines_a: list[str], lines_b: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Pairs per line, and all pairs in order, `L x 4` half-open spans of words."""
        spans_of_lines = [self._line(a.split(), b.split()) for a, b in zip(lines_a, lines_b, strict=True)]
        spans = [span for spans in spans_of_lines for span in spans]
        counts = np.array([len(spans) for spans in spans_of_lines], dtype=int)
        return counts, np.array(spans, dtype=int).reshape(-1, 4)

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
            least = best.setdefault(word, [rank, 0])
            if rank < least[0]:
                least[:] = [rank, 0]
            least[1] += rank == least[0]
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
