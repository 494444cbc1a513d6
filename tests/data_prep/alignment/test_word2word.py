"""Lexicons against the package word2word's own scores, and what is read off them."""

import random

import pytest

from data_prep.alignment import word2word
from data_prep.alignment.word2word import Lexicon, LexiconAligner, merge_consecutive, unambiguous


@pytest.fixture
def files(tmp_path):
    rng = random.Random(3)
    paths = tmp_path / "a", tmp_path / "b"
    rows = []
    for _ in range(200):
        words = [min(int(rng.expovariate(0.1)), 40) for _ in range(rng.randint(2, 8))]
        rows.append((" ".join(f"x{w}" for w in words), " ".join(f"y{w}" for w in reversed(words) if w % 7)))
    for path, side in zip(paths, zip(*rows, strict=True), strict=True):
        path.write_text("".join(line + "\n" for line in side))
    return rows, paths


@pytest.mark.parametrize("all_collocates", [True, False])
def test_translations_are_those_of_the_package(files, monkeypatch, all_collocates):
    from word2word.methods import rerank
    from word2word.tokenization import get_vocab, update_dicts

    rows, paths = files
    sides = [[row[side].split() for row in rows] for side in (0, 1)]
    numbers, words, counts = zip(*map(get_vocab, sides), strict=True)
    # words of equal frequency are in another order there: cut where the frequencies differ
    cut = next(cut for cut in range(5, 30) if all(side[cut - 1] != side[cut] for side in counts))
    collocates = 5000 if all_collocates else cut
    x2xs, y2ys, x2ys, y2xs = update_dicts(*sides, *numbers, collocates)
    monkeypatch.setattr(word2word, "COLLOCATES", collocates)
    monkeypatch.setattr(word2word, "_WORDS_AT_ONCE", 16)
    ours = Lexicon(*paths, translations=3)
    names = [{number: word for word, number in side.items()} for side in ours.words]
    theirs = rerank(x2ys, counts[0], x2xs, 100, 3), rerank(y2xs, counts[1], y2ys, 100, 3)
    for side in (0, 1):
        assert len(theirs[side]) == len(ours.words[side]) > 20
        for number, expected in theirs[side].items():
            found = ours.ranks[side][ours.words[side][words[side][number]]]
            best = [names[1 - side][y] for y in sorted(found, key=found.get)]
            assert best[0] == words[1 - side][expected[0]]  # lower ranks have ties


def test_pairs_and_phrases(tmp_path):
    rng = random.Random(2)
    samples = [rng.sample(range(1, 30), rng.randint(3, 7)) for _ in range(300)]
    paths = tmp_path / "a", tmp_path / "b"
    for path, letter, step in ((paths[0], "x", 1), (paths[1], "y", -1)):
        lines = (" ".join(f"{letter}{word}" for word in words[::step]) for words in samples)
        path.write_text("".join(line + "\n" for line in lines))
    aligner = LexiconAligner(translations=2)
    aligner.train(*paths)
    counts, spans = aligner.align(["x1 x2 x9 unknown", "x7"], ["y2 y1 z y9", "z"])
    assert counts.tolist() == [2, 0] and spans.tolist() == [[0, 2, 0, 2], [2, 3, 3, 4]]


def test_the_better_rank_decides_and_ties_are_left_out():
    assert unambiguous([(0, 0, 0), (1, 0, 1), (2, 1, 1)]) == [(0, 0)]
    assert unambiguous([(0, 0, 0), (0, 0, 1), (0, 2, 2)]) == [(2, 2)]
    assert unambiguous([]) == []


@pytest.mark.parametrize(
    ("links", "spans"),
    [
        ([(0, 0), (1, 1), (2, 2)], [(0, 3, 0, 3)]),
        ([(0, 1), (1, 0), (2, 2)], [(0, 3, 0, 3)]),
        ([(0, 0), (1, 2)], [(0, 1, 0, 1), (1, 2, 2, 3)]),
        ([(0, 0), (2, 1)], [(0, 1, 0, 1), (2, 3, 1, 2)]),
        ([(0, 5), (1, 0), (2, 1)], [(0, 1, 5, 6), (1, 3, 0, 2)]),
        ([], []),
    ],
)
def test_consecutive_words_become_phrases(links, spans):
    assert merge_consecutive(links) == spans
