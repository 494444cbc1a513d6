"""The model against a loop over its definition, and against the package that wraps fast_align's own code."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest

from data_prep.alignment import fast_align
from data_prep.alignment.fast_align import DirectedAligner
from data_prep.alignment.links import grow_diag_final_and
from data_prep.alignment.word_pairs import LARGEST_START, PairTable


def corpus(count: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Sentences, and the same in a language whose word k is "y<k>", with local changes of order."""
    rng = random.Random(seed)
    a, b = [], []
    for _ in range(count):
        words = [min(int(rng.expovariate(0.08)), 60) for _ in range(rng.randint(1, 9))]
        translated = [f"y{word}" for word in words if rng.random() < 0.93] or ["y0"]
        if len(translated) > 2 and rng.random() < 0.4:
            place = rng.randrange(len(translated) - 1)
            translated[place : place + 2] = translated[place : place + 2][::-1]
        a.append(" ".join(f"x{word}" for word in words))
        b.append(" ".join(translated))
    return a, b


@pytest.fixture
def files(tmp_path):
    sides = corpus(300)
    paths = tmp_path / "a", tmp_path / "b"
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("".join(line + "\n" for line in lines))
    return sides, paths


def digamma(x: float) -> float:
    from scipy.special import digamma as function

    return float(function(x))


def slow_fast_align(source: list[str], target: list[str]) -> tuple[float, list[list[tuple[int, int]]]]:
    """fast_align -d -o -v as nested loops over sentences, target words and source words."""
    pairs = [(a.split(), b.split()) for a, b in zip(source, target, strict=True)]
    table: dict = {}
    tension, words = 4.0, sum(len(b) for _, b in pairs)

    def distribution(a, b, j):
        weights = [math.exp(-tension * abs(j / len(b) - i / len(a))) for i in range(1, len(a) + 1)]
        prior = [0.92 * weight / sum(weights) for weight in weights]
        sources = [None, *a]
        return [p * table.get((e, b[j - 1]), 1e-9) for p, e in zip([0.08, *prior], sources, strict=True)]

    for iteration in range(4):
        counts: dict = {}
        observed = 0.0
        for a, b in pairs:
            for j in range(1, len(b) + 1):
                joint = distribution(a, b, j)
                for i, e in enumerate([None, *a]):
                    counts[e, b[j - 1]] = counts.get((e, b[j - 1]), 0) + joint[i] / sum(joint)
                    if i:
                        observed -= abs((j - 1) / len(b) - i / len(a)) * joint[i] / sum(joint)
        for _ in range(8 if iteration else 0):
            expected = 0.0
            for a, b in pairs:
                n, m = len(a), len(b)
                for j in range(1, m + 1):
                    distances = [-abs(j / m - i / n) for i in range(1, n + 1)]
                    below = int(j * m / n)
                    # exchanged lengths; where nothing lies above, the series has no end
                    above = range(below + 1, below + 400 if below > m else m + 1)
                    near = [math.exp(-tension * abs(j / n - k / m)) for k in [*range(1, below + 1), *above]]
                    expected += sum(d * math.exp(tension * d) for d in distances) / sum(near)
            tension = min(max(tension + 20 * (observed - expected) / words, 0.1), 14)
        totals: dict = {}
        for (e, _), count in counts.items():
            total = totals.setdefault(e, [0.0, 0])
            total[0] += count
            total[1] += 1
        table = {
            (e, f): math.exp(digamma(count + 0.01) - digamma(totals[e][0] + 0.01 * totals[e][1]))
            for (e, f), count in counts.items()
        }
    links = []
    for a, b in pairs:
        row = []
        for j in range(1, len(b) + 1):
            joint = distribution(a, b, j)
            best = max(range(len(joint)), key=lambda i: joint[i])
            row += [(best - 1, j - 1)] if best else []
        links.append(row)
    return tension, links


def per_line(counts, links) -> list[list[tuple]]:
    edges = np.append(0, np.cumsum(counts))
    return [list(map(tuple, links[a:b].tolist())) for a, b in pairwise(edges)]


@pytest.mark.parametrize("cells", [1 << 21, 50])
def test_the_arrays_are_the_loops(files, monkeypatch, cells):
    (a, b), paths = files
    monkeypatch.setattr(fast_align, "CELLS_AT_ONCE", cells)
    aligner = DirectedAligner()
    aligner.train(*paths)
    tension, links = slow_fast_align(a, b)
    assert aligner.tension == pytest.approx(tension, rel=1e-6)
    assert per_line(*aligner.align(a, b)) == links


def test_a_corpus_that_is_not_remembered_gives_the_same(files, monkeypatch):
    (a, b), paths = files
    results = []
    for remembered in (1 << 27, 0):
        monkeypatch.setattr(fast_align, "REMEMBERED_CELLS", remembered)
        aligner = DirectedAligner()
        aligner.train(*paths)
        results.append((aligner.tension, per_line(*aligner.align(a, b))))
    assert results[0] == results[1]


@pytest.mark.parametrize("places_there_are", [6, 1000])
def test_counts_of_few_and_of_many_words(places_there_are):
    totals, places, values = (
        np.ones(places_there_are),
        np.array([2, 5, 2], np.int32),
        np.array([0.5, 0.25, 1]),
    )
    fast_align._add_at(totals, places, values)
    assert (totals[2], totals[5], totals.sum()) == (2.5, 1.25, places_there_are + 1.75)


def test_unknown_words_and_no_lines(files):
    _, paths = files
    aligner = DirectedAligner()
    aligner.train(*paths)
    counts, links = aligner.align(["never seen x1", "x1"], ["y1 neither", "unknown"])
    assert len(counts) == 2 and per_line(counts, links)[0][0] == (2, 0)
    counts, links = aligner.align([], [])
    assert len(counts) == 0 and links.shape == (0, 2)


def test_the_package_systran_align_finds_the_same_links(files):
    from data_prep.alignment.external_aligners import SystranAligner

    (a, b), paths = files
    directions = DirectedAligner(), DirectedAligner()
    directions[0].train(*paths)
    directions[1].train(*paths[::-1])
    forward = per_line(*directions[0].align(a, b))
    backward = [[(i, j) for j, i in links] for links in per_line(*directions[1].align(b, a))]
    ours = [grow_diag_final_and(*links) for links in zip(forward, backward, strict=True)]
    package = SystranAligner()
    package.train(*paths)
    theirs = per_line(*package.align(a, b))
    shared = sum(len(set(x) & set(y)) for x, y in zip(ours, theirs, strict=True))
    # the package drops improbable word pairs, and grows in another order
    assert shared >= 0.97 * max(sum(map(len, ours)), sum(map(len, theirs)))


@pytest.mark.parametrize("expected", [0, 150_000, 10**12], ids=["grows", "fits", "no more than the largest"])
def test_pair_table(expected):
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2**40, 150_000)
    table = PairTable(expected)
    assert table.capacity <= LARGEST_START
    for part in np.split(np.concatenate([keys, keys]), 6):
        table.add(part)
    slots = table.find(keys)
    assert table.count == len(np.unique(keys)) == len(np.unique(slots)) and slots.max() < table.capacity
    absent = np.setdiff1d(rng.integers(0, 2**40, 1000), keys)
    assert (table.find(absent) == table.capacity).all()
    stored = np.concatenate([part for _, part in table.slices()])
    assert np.array_equal(np.sort(stored), np.unique(keys))
