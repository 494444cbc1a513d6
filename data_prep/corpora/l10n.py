"""Translations of the programs of a Linux distribution, as a line-parallel table of many languages."""

from collections.abc import Iterator

from command_line.errors import InputError
from data_prep.corpora.corpus import BitextRows, Corpus, rows_of, supervised_pairs
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import TEST, TRAIN, VALID, all_pairs

CENTRIC = "en"
MULTIWAY = ("cs", "de", "en", "es", "fr", "it", "ja", "pl", "pt", "ru", "zh")
OTHERS = (
    "ar", "ca", "el", "eu", "fi", "he", "hi", "hu", "id", "ko", "lt", "nl", "ro", "sv", "tr", "uk", "vi",
)  # fmt: skip


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """A table `train.LANG` whose lines are empty where a language has no translation; `multiway/SPLIT.LANG`
    for the languages that have all evaluation sentences, SPLIT.en-LANG.* with English for the others: pairs
    without English of these have no evaluation set.
    """
    if not source.is_local:
        raise InputError(
            "l10n has no address to download from; give the folder of its table as --from-folder"
        )
    for pair in supervised_pairs(languages, centric):
        yield from read_pair(source, pair)
    for split in (VALID, TEST):
        for pair in all_pairs(languages):
            codes = pair.split("-")
            if set(codes) <= set(MULTIWAY):
                names = [f"multiway/{split}.{code}" for code in codes]
            elif CENTRIC in codes:
                other = next(code for code in codes if code != CENTRIC)
                names = [f"{split}.{CENTRIC}-{other}.{code}" for code in codes]
            else:
                continue
            yield BitextRows(split, pair, rows_of(*(source.file("", name) for name in names)))


def read_pair(source: Source, pair: str) -> Iterator[BitextRows]:
    """The rows of the table that both languages of a pair have, English or not."""
    table = rows_of(*(source.file("", f"{TRAIN}.{code}") for code in pair.split("-")))
    yield BitextRows(TRAIN, pair, (row for row in table if all(side.strip() for side in row)))


CORPUS = Corpus(
    description=(
        "translations of a Linux distribution's programs (messages, help, descriptions): a table of"
        " English with 27 languages; English and 10 of them have multi-way valid and test; from a local"
        " folder only"
    ),
    languages=tuple(sorted(MULTIWAY + OTHERS)),
    read=read,
    english_centric=False,
    read_pair=read_pair,
)
