"""small_parallel_enja: 50,000 short pairs of the Tanaka corpus."""

from collections.abc import Iterator
from pathlib import Path

from command_line.errors import InputError
from data_prep.corpora.corpus import BitextRows, Corpus, file_of, rows_of
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import TEST, TRAIN, VALID

URL = "https://raw.githubusercontent.com/odashi/small_parallel_enja/master/{name}"
TEST_LINES = 1_000  # taken from training where there is no test set


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """small_parallel_enja (Tanaka corpus): English as published, tokenized, in lower case; Japanese without
    the spaces between its words. A local folder may lack the test set: then the last 1,000 training lines are
    it.
    """
    published = {TRAIN: "train", VALID: "dev", TEST: "test"}
    files: dict[str, list[Path]] = {}
    for split, name in published.items():
        try:
            files[split] = [
                file_of(source, URL.format(name=f"{name}.{code}"), f"{name}.{code}", f"{split}.{code}")
                for code in ("en", "ja")
            ]
        except InputError:
            if not source.is_local or split != TEST:
                raise
    for split, paths in files.items():
        held_out = TEST_LINES if split == TRAIN and TEST not in files else 0
        yield BitextRows(split, "en-ja", _unspaced(paths, slice(-held_out or None)))
        if held_out:
            yield BitextRows(TEST, "en-ja", _unspaced(paths, slice(-TEST_LINES, None)))


def _unspaced(paths: list[Path], lines: slice) -> Iterator[tuple[str, str]]:
    for english, japanese in list(rows_of(*paths))[lines]:
        yield english, "".join(japanese.split())


CORPUS = Corpus(
    description=(
        "small_parallel_enja (Tanaka corpus): 50,000 short pairs, English tokenized in lower case; of"
        " a folder without test set, the last 1,000 training lines are the test set"
    ),
    languages=("en", "ja"),
    read=read,
)
