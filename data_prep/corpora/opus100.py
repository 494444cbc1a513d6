"""OPUS-100 (Zhang et al., 2020)."""

from collections.abc import Iterator
from itertools import chain

from data_prep.corpora.corpus import BitextRows, Corpus, rows_of
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import TEST, TRAIN, VALID, all_pairs

URL = "https://object.pouta.csc.fi/OPUS-100/v1.0/opus-100-corpus-v1.0.tar.gz"
ZERO_SHOT = frozenset(("ar", "de", "fr", "nl", "ru", "zh"))  # languages with test sets between them
UNTESTED = frozenset(("an", "dz", "hy", "mn", "yo"))  # too small for valid and test sets
OTHERS = (
    "af am an as az be bg bn br bs ca cs cy da dz el eo es et eu fa fi fy ga gd gl gu ha he hi hr hu hy id"
    " ig is it ja ka kk km kn ko ku ky li lt lv mg mk ml mn mr ms mt my nb ne nn no oc or pa pl ps pt ro rw"
    " se sh si sk sl sq sr sv ta te tg th tk tr tt ug uk ur uz vi wa xh yi yo zu"
)


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """OPUS-100 (Zhang et al., 2020): up to 1M training lines per pair, published valid, test, zero-shot test.
    Pairs without English have a test set between six languages.
    """
    names = {}
    for pair in all_pairs(languages):
        supervised = centric in pair.split("-")
        kind = "supervised" if supervised else "zero-shot"
        for split, word in ((TRAIN, "train"), (VALID, "dev"), (TEST, "test")):
            if _is_published(pair, split, supervised):
                folder = f"opus-100-corpus/v1.0/{kind}/{pair}"
                names[split, pair] = [f"{folder}/opus.{pair}-{word}.{code}" for code in pair.split("-")]
    files = source.members(URL, "opus-100-corpus-v1.0.tar.gz", list(chain(*names.values())))
    for (split, pair), members in names.items():
        yield BitextRows(split, pair, rows_of(*(files[name] for name in members)))


def _is_published(pair: str, split: str, supervised: bool) -> bool:
    codes = set(pair.split("-"))
    if supervised:
        return split == TRAIN or not codes & UNTESTED
    return split == TEST and codes <= ZERO_SHOT


CORPUS = Corpus(
    description=(
        "OPUS-100 (Zhang et al., 2020): up to 1M training pairs per language; published valid, test and "
        "zero-shot test sets"
    ),
    languages=("ar", "de", "en", "fr", "nl", "ru", "zh"),
    further_languages=tuple(OTHERS.split()),
    read=read,
    lines={TRAIN: 1_000_000, VALID: 2_000, TEST: 2_000},
)
