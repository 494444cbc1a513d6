"""Multi30k, task 1 (Elliott et al., 2016, 2017)."""

from collections.abc import Iterator

from data_prep.corpora.corpus import BitextRows, Corpus, file_of, rows_of, supervised_pairs
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import TEST, TRAIN, VALID, all_pairs

URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/{name}.gz"


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """Multi30k, task 1 (Elliott et al., 2016, 2017): 29,000 multi-way lines; valid and test for all pairs."""
    published = {TRAIN: "train", VALID: "val", TEST: "test_2016_flickr"}
    files = {}
    for split, name in published.items():
        for code in languages:
            files[split, code] = file_of(
                source, URL.format(name=f"{name}.{code}"), f"{name}.{code}.gz", f"{split}.{code}"
            )
    for split in published:
        for pair in supervised_pairs(languages, centric) if split == TRAIN else all_pairs(languages):
            yield BitextRows(split, pair, rows_of(*(files[split, code] for code in pair.split("-"))))


CORPUS = Corpus(
    description="Multi30k task 1: multi-way train, valid and test (test_2016_flickr); research use only",
    languages=("cs", "de", "en", "fr"),
    read=read,
    lines={TRAIN: 29_000, VALID: 1_014, TEST: 1_000},
    english_centric=False,
)
