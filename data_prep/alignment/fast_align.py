"""fast_align (Dyer, Chahuneau and Smith, 2013): IBM model 2 whose alignment prior favors the diagonal.

Every target word j of m comes from the null word with probability p0, else from source word i of n with
probability proportional to exp(-tension |i/n - j/m|). Translation probabilities are learned by expectation
maximization with a Dirichlet prior on them (variational Bayes), the tension by gradient ascent: what
`fast_align -d -o -v` does, with its constants. Here one iteration is a few operations on arrays over all
pairs of words of a few thousand sentence pairs, which is faster than a loop over words in C++ with hash
maps.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from command_line.lines import read_lines
from data_prep.alignment.word_pairs import Cells, NumberedText, PairTable, Vocabulary, chunks, ranges

ITERATIONS = 5  # the last one only aligns, so four estimates
NULL = 0.08
TENSION = 4.0
TENSION_STEPS, TENSION_RATE, TENSION_RANGE = 8, 20.0, (0.1, 14.0)
DIRICHLET = 0.01
UNSEEN = 1e-9  # probability of a word pair that training never saw
CELLS_AT_ONCE = 1 << 21
CELLS_PER_PAIR = 5  # how often a pair of words occurs together, on 30,000 sentence pairs
REMEMBERED_CELLS = 1 << 27  # 8 bytes each; a larger corpus looks its word pairs up again in every iteration


def _distances(n: int, m: int, first: int) -> np.ndarray:
    """-|i/n - j/m|, `m x n`; i counts from 1, j from `first`."""
    return -np.abs(np.arange(first, m + first)[:, None] / m - np.arange(1, n + 1) / n)


class Shapes:
    """The diagonal of every pair of lengths (n, m), one after the other, rows of source positions.

    Attributes:
        number: of the shape of every sentence pair.
        begins: where the cells of every shape begin.
        distances: -|i/n - j/m| per cell, i and j from 1.
        observed: the same with j from 0, as fast_align has it where it tunes the tension.
    """

    def __init__(self, n: np.ndarray, m: np.ndarray):
        width = int(m.max(initial=0)) + 1
        shapes, self.number, counts = np.unique(n * width + m, return_inverse=True, return_counts=True)
        sizes = [divmod(int(shape), width) for shape in shapes]
        self.distances, self.observed = (
            np.concatenate([_distances(n, m, first).ravel() for n, m in sizes] or [np.zeros(0)])
            for first in (1, 0)
        )
        heights = [m for _, m in sizes]
        self._rows = np.repeat([n for n, _ in sizes], heights).astype(np.int64)
        self._row_begins = np.cumsum(self._rows) - self._rows
        self._row_counts = np.repeat(counts, heights)
        self._row_heights = np.repeat(heights, heights)
        self._row_numbers = ranges(np.ones(len(sizes), dtype=np.int64), np.array(heights, dtype=np.int64))
        cells = np.array([n * m for n, m in sizes], dtype=np.int64)
        self.begins = np.cumsum(cells) - cells

    def prior(self, tension: float) -> np.ndarray:
        """Probability of every source position given the target position; the null word has the rest."""
        weights = np.exp(tension * self.distances)
        weights *= np.repeat((1 - NULL) / np.add.reduceat(weights, self._row_begins), self._rows)
        return weights

    def expected_distance(self, tension: float) -> float:
        """Sum over the target words of all sentence pairs of the expected distance, as fast_align has it.

        fast_align normalizes it with the two lengths exchanged. This does the same, as with `observed`: other
        people's alignments have the tension that follows, and the exact gradient drives it to its limit.
        """
        weights = np.exp(tension * self.distances)
        sums = np.add.reduceat(weights * self.distances, self._row_begins)
        return float(sums / self._exchanged_normalizer(tension) @ self._row_counts)

    def _exchanged_normalizer(self, tension: float) -> np.ndarray:
        """Two geometric series per row, away from its diagonal: sum over k of exp(-tension |j/n - k/m|).

        Where j/n is above 1 the diagonal is outside; the upper series is endless there.
        """
        n, m, j = self._rows, self._row_heights, self._row_numbers
        below = j * m // n
        above = m - below
        ratio = np.exp(-tension / m)
        first = np.exp(-tension * np.abs(j / n - (below + 1) / m))
        last = np.exp(-tension * np.abs(j / n - below / m))
        upper = np.where(above > 0, 1 - ratio ** np.maximum(above, 0), above < 0)
        return (first * upper + last * (1 - ratio**below)) / (1 - ratio)

    def places(self, first: int, last: int, sizes: np.ndarray) -> np.ndarray:
        """Place in `distances` of every cell of some sentence pairs."""
        return ranges(self.begins[self.number[first:last]], sizes)


class DirectedAligner:
    """Aligns every word of a target language to a word of a source language or to none."""

    def __init__(self):
        self.tension = TENSION
        self._words = Vocabulary(), Vocabulary()
        self._memory: dict[int, tuple] | None = {}

    def train(self, source: Path, target: Path) -> None:
        """Estimate the parameters from line-parallel files of words without empty lines."""
        text = self._number(read_lines(source), read_lines(target), grow=True)
        self._width = len(self._words[1]) + 1
        cells = int((text[0].lengths * text[1].lengths).sum())
        parts = list(chunks(*text, CELLS_AT_ONCE))
        self._pairs = PairTable(cells // CELLS_PER_PAIR)
        for first, last in parts:
            self._pairs.add(Cells(*text, first, last).keys(self._width))
        if cells > REMEMBERED_CELLS:
            self._memory = None
        shapes = Shapes(text[0].lengths, text[1].lengths)
        self._entries = np.zeros(len(self._words[0]))
        for _, keys in self._pairs.slices():
            np.add.at(self._entries, keys // self._width, 1.0)
        self._probability = np.ones(self._pairs.capacity + 1)
        self._null = np.ones(self._width)
        for iteration in range(ITERATIONS - 1):
            self._iterate(text, parts, shapes, tune_tension=iteration > 0)
        self._probability[-1] = self._null[-1] = UNSEEN
        self._memory = None

    def align(self, source: list[str], target: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The most probable source word of every target word.

        Returns:
            links per sentence pair; and all links in order, (source word, target word) from 0, `L x 2`.
        """
        text = self._number(source, target, grow=False)
        shapes = Shapes(text[0].lengths, text[1].lengths)
        prior = shapes.prior(self.tension)
        parts = [self._best(text, shapes, prior, *part) for part in chunks(*text, CELLS_AT_ONCE)]
        counts = np.concatenate([part[0] for part in parts] or [np.zeros(0, int)])
        return counts, np.concatenate([part[1] for part in parts] or [np.zeros((0, 2), int)])

    def _number(self, source: Iterable[str], target: Iterable[str], grow: bool) -> list[NumberedText]:
        sides = zip((source, target), self._words, strict=True)
        return [NumberedText(lines, words, grow) for lines, words in sides]

    def _iterate(self, text, parts, shapes: Shapes, tune_tension: bool) -> None:
        """One step of expectation maximization."""
        counts, null_counts = np.zeros(self._pairs.capacity + 1), np.zeros(self._width)
        prior, distance = shapes.prior(self.tension), 0.0
        for first, last in parts:
            cells, slots, places = self._cells(text, shapes, first, last)
            joint, null = self._joint(cells, slots, prior.take(places, mode="clip"))
            total = np.add.reduceat(joint, cells.begins) + null
            joint *= np.repeat(1 / total, cells.rows)
            _add_at(counts, slots, joint)
            null_counts += np.bincount(cells.targets, null / total, minlength=self._width)
            distance += float(joint @ shapes.observed[places])
        if tune_tension:
            words = len(text[1].tokens)
            for _ in range(TENSION_STEPS):
                gradient = (distance - shapes.expected_distance(self.tension)) / words
                self.tension = float(np.clip(self.tension + TENSION_RATE * gradient, *TENSION_RANGE))
        self._maximize(counts, null_counts)

    def _cells(self, text, shapes: Shapes, first: int, last: int) -> tuple[Cells, np.ndarray, np.ndarray]:
        """Cells, their slots in the table of word pairs and their places in the diagonals."""
        if self._memory and first in self._memory:
            return self._memory[first]
        cells = Cells(*text, first, last)
        slots = self._pairs.find(cells.keys(self._width))
        result = cells, slots, shapes.places(first, last, cells.sizes).astype(np.int32)
        if self._memory is not None:
            self._memory[first] = result
        return result

    def _joint(self, cells: Cells, slots: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """p(source position, target word) per cell, p(null, target word) per row."""
        joint = self._probability.take(slots, mode="clip")  # none is outside: faster without the check
        joint *= prior
        return joint, self._null[cells.targets] * NULL

    def _maximize(self, counts: np.ndarray, null_counts: np.ndarray) -> None:
        """Posterior mean of the logarithm of the translation probabilities (variational Bayes)."""
        from scipy.special import digamma

        totals = DIRICHLET * self._entries
        for slots, keys in self._pairs.slices():
            np.add.at(totals, keys // self._width, counts[slots])
        totals = digamma(totals)
        for slots, keys in self._pairs.slices():
            logarithms = digamma(counts[slots] + DIRICHLET) - totals[keys // self._width]
            self._probability[slots] = np.exp(logarithms)
        words = self._width - 1
        null_total = digamma(null_counts.sum() + DIRICHLET * words)
        self._null = np.exp(digamma(null_counts + DIRICHLET) - null_total)

    def _best(self, text, shapes: Shapes, prior, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        cells = Cells(*text, first, last)
        slots = self._pairs.find(cells.keys(self._width))
        joint, null = self._joint(cells, slots, prior[shapes.places(first, last, cells.sizes)])
        best = np.maximum.reduceat(joint, cells.begins)
        row = np.repeat(np.arange(len(cells.rows)), cells.rows)
        hits = np.flatnonzero(joint == best[row])
        hits = hits[np.diff(row[hits], prepend=-1) > 0]  # the first of equals
        chosen = best > null
        m = text[1].lengths[first:last]
        sentence = np.repeat(np.arange(last - first), m)
        links = np.stack([hits - cells.begins, ranges(np.zeros(len(m), int), m)], axis=1)[chosen]
        return np.bincount(sentence[chosen], minlength=last - first), links


def _add_at(totals: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """Add values to their places, some of which come several times. `bincount` is fastest, but makes numbers
    for all places there are: of a large corpus there are hundreds of millions, and hundreds of parts.
    """
    if len(totals) > 4 * len(places):
        np.add.at(totals, places.astype(np.intp), values)
    else:
        totals += np.bincount(places, values, minlength=len(totals))
