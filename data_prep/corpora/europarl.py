"""Europarl v7 (Koehn, 2005; Liu et al., 2021)."""

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

from data_prep.corpora.corpus import BitextRows, Corpus, rows_of
from data_prep.corpora.fetching import Source
from data_prep.corpora.multiway import choose_multiway
from data_prep.formats.texts import TEST, TRAIN, VALID, all_pairs

URL = "https://www.statmt.org/europarl/v7/{other}-en.tgz"
HELD_OUT_LINES = 2_000  # of valid and of test, Table 7.1


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """Europarl v7 (Liu et al., 2021): multi-way valid and test sets of 2,000 lines, cut out of training.

    English lines that occur exactly once in every pair are ordered by their SHA-256; the first 2,000 are the
    test set, the next 2,000 the valid set, for every pair. Training has the lines whose English side is in
    neither.
    """
    files = {}
    for other in languages:
        if other != centric:
            names = [f"europarl-v7.{other}-en.{code}" for code in (other, centric)]
            members = source.members(URL.format(other=other), f"{other}-en.tgz", names)
            files[other] = tuple(members[name] for name in names)
    test, valid = choose_multiway({other: rows_of(*paths) for other, paths in files.items()}, HELD_OUT_LINES)
    held_out = {row[""] for row in (*test, *valid)}
    for split, rows in ((TEST, test), (VALID, valid)):
        for pair in all_pairs(languages):
            keys = ["" if code == centric else code for code in pair.split("-")]
            yield BitextRows(split, pair, map(itemgetter(*keys), rows))
    for other, paths in files.items():
        pair = "-".join(sorted((other, centric)))
        yield BitextRows(TRAIN, pair, _training(paths, held_out, swap=centric < other))


def _training(paths: tuple[Path, Path], held_out: set[str], swap: bool) -> Iterator[tuple[str, str]]:
    for other, english in rows_of(*paths):
        if english.strip() not in held_out:
            yield (english, other) if swap else (other, english)


CORPUS = Corpus(
    description=(
        "Europarl v7 (Liu et al., 2021). v7 has no test set. Valid and test are cut out of training: "
        "English lines that occur exactly once in every pair, in the order of their SHA-256; the "
        "first 2,000 are the multi-way test set, the next 2,000 the valid set. This is our documented"
        " choice: the lines are not those of the paper"
    ),
    languages=("de", "en", "es", "fr", "nl"),
    read=read,
    lines={VALID: 2_000, TEST: 2_000},
)
