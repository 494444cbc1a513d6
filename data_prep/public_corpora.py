"""The public corpora of the papers (Tables 7.1 and 8.1): where their files are and how they become splits.

A corpus is a function from a source and languages to bitexts, which come as streams of line pairs. Nothing
here removes lines from a published test set.
"""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from command_line.lines import read_lines, read_parallel
from data_prep.fetching import Source
from data_prep.formats.texts import TEST, TRAIN, VALID, all_pairs
from data_prep.multiway import choose_multiway

OPUS100_URL = "https://object.pouta.csc.fi/OPUS-100/v1.0/opus-100-corpus-v1.0.tar.gz"
EUROPARL_URL = "https://www.statmt.org/europarl/v7/{other}-en.tgz"
IWSLT17_URL = (
    "https://huggingface.co/datasets/IWSLT/iwslt2017/resolve/main/data/2017-01-trnmted/texts/"
    "DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo.zip"
)
IWSLT17_TEST_URL = (
    "https://raw.githubusercontent.com/hlt-mt/WIT3/master/archive/2017-01-mted-test/texts/{0}/{1}/{0}-{1}.tgz"
)
MULTI30K_URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/{name}.gz"
ENJA_URL = "https://raw.githubusercontent.com/odashi/small_parallel_enja/master/{name}"
ENJA_TEST_LINES = 1_000  # taken from training where there is no test set
EUROPARL_LINES = 2_000  # of valid and of test, Table 7.1


@dataclass(frozen=True)
class Splits:
    """One bitext: `rows` gives its line pairs anew at every call, languages in alphabetical order."""

    split: str
    pair: str
    rows: Callable[[], Iterator[tuple[str, str]]]


def _supervised(languages: list[str], centric: str) -> list[str]:
    return [pair for pair in all_pairs(languages) if centric in pair.split("-")]


def _rows_of(*paths: Path) -> Callable[[], Iterator[tuple[str, str]]]:
    return lambda: read_parallel(*paths)


def opus100(source: Source, languages: list[str], centric: str) -> Iterator[Splits]:
    """OPUS-100 (Zhang et al., 2020): 1M training lines per pair, published valid, test, zero-shot test."""
    names = {}
    for pair in all_pairs(languages):
        supervised = centric in pair.split("-")
        kind = "supervised" if supervised else "zero-shot"
        for split, word in ((TRAIN, "train"), (VALID, "dev"), (TEST, "test")):
            if supervised or split == TEST:
                folder = f"opus-100-corpus/v1.0/{kind}/{pair}"
                names[split, pair] = [f"{folder}/opus.{pair}-{word}.{code}" for code in pair.split("-")]
    files = source.members(OPUS100_URL, "opus-100-corpus-v1.0.tar.gz", list(chain(*names.values())))
    for (split, pair), members in names.items():
        yield Splits(split, pair, _rows_of(*(files[name] for name in members)))


_SEGMENT = re.compile(r"<seg[^>]*>(.*?)</seg>")


def _segments(path: Path) -> Iterator[str]:
    """Text of the `<seg>` elements, one per line, of the campaign's XML."""
    for line in read_lines(path):
        if match := _SEGMENT.search(line):
            yield html.unescape(match[1]).strip()


def _transcript(path: Path) -> Iterator[str]:
    """Lines of a `train.tags` file that are speech: tags such as `<title>` stand on lines of their own."""
    return (line.strip() for line in read_lines(path) if not line.lstrip().startswith("<"))


def _pairs_of(reader, *paths: Path) -> Callable[[], Iterator[tuple[str, str]]]:
    return lambda: _zip_equal(paths, reader)


def _zip_equal(paths, reader) -> Iterator[tuple[str, str]]:
    from command_line.errors import InputError

    try:
        yield from zip(*map(reader, paths), strict=True)
    except ValueError:
        raise InputError(
            f"{paths[0]}: not as many lines of text as {paths[1]}; expected a parallel file"
        ) from None


def iwslt17(source: Source, languages: list[str], centric: str) -> Iterator[Splits]:
    """IWSLT 2017 multilingual task (Wu et al., 2021): valid dev2010 and tst2010, test tst2017."""
    archive = "DeEnItNlRo-DeEnItNlRo.zip"
    supervised = _supervised(languages, centric)
    train = [f"train.tags.{pair}.{code}" for pair in supervised for code in pair.split("-")]
    valid = [
        f"IWSLT17.TED.{year}.{pair}.{code}.xml"
        for pair in supervised
        for year in ("dev2010", "tst2010")
        for code in pair.split("-")
    ]
    files = source.members(IWSLT17_URL, archive, train + valid)
    for pair in all_pairs(languages):
        first, second = pair.split("-")
        if pair in supervised:
            sides = [files[f"train.tags.{pair}.{code}"] for code in (first, second)]
            yield Splits(TRAIN, pair, _pairs_of(_transcript, *sides))
            years = [
                _pairs_of(
                    _segments, *(files[f"IWSLT17.TED.{year}.{pair}.{code}.xml"] for code in (first, second))
                )
                for year in ("dev2010", "tst2010")
            ]
            yield Splits(VALID, pair, lambda years=years: chain(*(rows() for rows in years)))
        test = []
        for source_code, target_code in (
            (first, second),
            (second, first),
        ):  # each side is the source of its direction
            name = f"IWSLT17.TED.tst2017.mltlng.{source_code}-{target_code}.{source_code}.xml"
            url = IWSLT17_TEST_URL.format(source_code, target_code)
            test.append(source.members(url, f"{source_code}-{target_code}.tgz", [name])[name])
        yield Splits(TEST, pair, _pairs_of(_segments, *test))


def europarl(source: Source, languages: list[str], centric: str) -> Iterator[Splits]:
    """Europarl v7 (Liu et al., 2021): multi-way valid and test sets of 2,000 lines, cut out of training.

    English lines that occur exactly once in every pair are ordered by their SHA-256; the first 2,000 are the
    test set, the next 2,000 the valid set, for every pair. Training has the lines whose English side is in
    neither.
    """
    files = {}
    for other in languages:
        if other != centric:
            names = [f"europarl-v7.{other}-en.{code}" for code in (other, centric)]
            members = source.members(EUROPARL_URL.format(other=other), f"{other}-en.tgz", names)
            files[other] = tuple(members[name] for name in names)
    test, valid = choose_multiway({other: _rows_of(*paths) for other, paths in files.items()}, EUROPARL_LINES)
    held_out = {row[""] for row in (*test, *valid)}
    for split, rows in ((TEST, test), (VALID, valid)):
        for pair in all_pairs(languages):
            keys = ["" if code == centric else code for code in pair.split("-")]
            yield Splits(
                split, pair, lambda rows=rows, keys=keys: ((row[keys[0]], row[keys[1]]) for row in rows)
            )
    for other, paths in files.items():
        pair = "-".join(sorted((other, centric)))
        yield Splits(TRAIN, pair, lambda paths=paths, swap=centric < other: _training(paths, held_out, swap))


def _training(paths: tuple[Path, Path], held_out: set[str], swap: bool) -> Iterator[tuple[str, str]]:
    for other, english in read_parallel(*paths):
        if english.strip() not in held_out:
            yield (english, other) if swap else (other, english)


def multi30k(source: Source, languages: list[str], centric: str) -> Iterator[Splits]:
    """Multi30k, task 1 (Elliott et al., 2016, 2017): 29,000 multi-way lines; valid and test for all pairs."""
    published = {TRAIN: "train", VALID: "val", TEST: "test_2016_flickr"}
    files = {}
    for split, name in published.items():
        for code in languages:
            files[split, code] = _multi30k_file(source, split, f"{name}.{code}", code)
    for split in published:
        for pair in _supervised(languages, centric) if split == TRAIN else all_pairs(languages):
            yield Splits(split, pair, _rows_of(*(files[split, code] for code in pair.split("-"))))


def _multi30k_file(source: Source, split: str, name: str, code: str) -> Path:
    from command_line.errors import InputError

    try:
        return source.file(MULTI30K_URL.format(name=name), f"{name}.gz")
    except InputError:
        if not source.is_local:
            raise
        return source.file("", f"{split}.{code}")  # a folder may use this project's names of the splits


def enja(source: Source, languages: list[str], centric: str) -> Iterator[Splits]:
    """small_parallel_enja (Tanaka corpus): English as published, tokenized, in lower case; Japanese without
    the spaces between its words. A local folder may lack the test set: then the last 1,000 training lines are
    it.
    """
    from command_line.errors import InputError

    published = {TRAIN: "train", VALID: "dev", TEST: "test"}
    files: dict[str, list[Path]] = {}
    for split, name in published.items():
        try:
            files[split] = [_enja_file(source, split, name, code) for code in ("en", "ja")]
        except InputError:
            if not source.is_local or split != TEST:
                raise
    for split, paths in files.items():
        held_out = ENJA_TEST_LINES if split == TRAIN and TEST not in files else 0
        yield Splits(split, "en-ja", lambda paths=paths, cut=-held_out: _unspaced(paths, slice(cut or None)))
        if held_out:
            yield Splits(TEST, "en-ja", lambda paths=paths: _unspaced(paths, slice(-ENJA_TEST_LINES, None)))


def _enja_file(source: Source, split: str, name: str, code: str) -> Path:
    from command_line.errors import InputError

    try:
        return source.file(ENJA_URL.format(name=f"{name}.{code}"), f"{name}.{code}")
    except InputError:
        if not source.is_local:
            raise
        return source.file("", f"{split}.{code}")  # a folder may use this project's names of the splits


def _unspaced(paths: list[Path], lines: slice) -> Iterator[tuple[str, str]]:
    for english, japanese in list(read_parallel(*paths))[lines]:
        yield english, "".join(japanese.split())


@dataclass(frozen=True)
class Corpus:
    """A corpus by name: its languages, and its sizes in Table 7.1 (per pair; None where the pairs differ)."""

    languages: tuple[str, ...]
    read: Callable[[Source, list[str], str], Iterator[Splits]]
    lines: dict[str, int]
    english_centric: bool = True


CORPORA = {
    "opus100": Corpus(
        ("ar", "de", "en", "fr", "nl", "ru", "zh"), opus100, {TRAIN: 1_000_000, VALID: 2_000, TEST: 2_000}
    ),
    "iwslt17": Corpus(("en", "it", "nl", "ro"), iwslt17, {}),
    "europarl": Corpus(("de", "en", "es", "fr", "nl"), europarl, {VALID: 2_000, TEST: 2_000}),
    "multi30k": Corpus(
        ("cs", "de", "en", "fr"), multi30k, {TRAIN: 29_000, VALID: 1_014, TEST: 1_000}, english_centric=False
    ),
    "enja": Corpus(("en", "ja"), enja, {}),
}
