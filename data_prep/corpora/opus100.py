"""OPUS-100 (Zhang et al., 2020)."""

from collections.abc import Iterator
from itertools import chain

from data_prep.corpora.corpus import BitextRows, Corpus, rows_of
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import TEST, TRAIN, VALID, all_pairs

URL = "https://object.pouta.csc.fi/OPUS-100/v1.0/opus-100-corpus-v1.0.tar.gz"


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """OPUS-100 (Zhang et al., 2020): 1M training lines per pair, published valid, test, zero-shot test."""
    names = {}
    for pair in all_pairs(languages):
        supervised = centric in pair.split("-")
        kind = "supervised" if supervised else "zero-shot"
        for split, word in ((TRAIN, "train"), (VALID, "dev"), (TEST, "test")):
            if supervised or split == TEST:
                folder = f"opus-100-corpus/v1.0/{kind}/{pair}"
                names[split, pair] = [f"{folder}/opus.{pair}-{word}.{code}" for code in pair.split("-")]
    files = source.members(URL, "opus-100-corpus-v1.0.tar.gz", list(chain(*names.values())))
    for (split, pair), members in names.items():
        yield BitextRows(split, pair, rows_of(*(files[name] for name in members)))


CORPUS = Corpus(
    description=(
        "OPUS-100 (Zhang et al., 2020): 1M training pairs per language; published valid, test and "
        "zero-shot test sets"
    ),
    languages=("ar", "de", "en", "fr", "nl", "ru", "zh"),
    read=read,
    lines={TRAIN: 1_000_000, VALID: 2_000, TEST: 2_000},
)
