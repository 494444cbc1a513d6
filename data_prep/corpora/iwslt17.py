"""The multilingual task of IWSLT 2017 (Wu et al., 2021)."""

import html
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import read_lines
from data_prep.corpora.corpus import BitextRows, Corpus, supervised_pairs
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import TEST, TRAIN, VALID, all_pairs

URL = (
    "https://huggingface.co/datasets/IWSLT/iwslt2017/resolve/main/data/2017-01-trnmted/texts/"
    "DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo.zip"
)
TEST_URL = (
    "https://raw.githubusercontent.com/hlt-mt/WIT3/master/archive/2017-01-mted-test/texts/{0}/{1}/{0}-{1}.tgz"
)

_SEGMENT = re.compile(r"<seg[^>]*>(.*?)</seg>")


def _segments(path: Path) -> Iterator[str]:
    """Text of the `<seg>` elements, one per line, of the campaign's XML."""
    for line in read_lines(path, nul=True):
        if match := _SEGMENT.search(line):
            yield html.unescape(match[1]).strip()


def _transcript(path: Path) -> Iterator[str]:
    """Lines of a `train.tags` file that are speech: tags such as `<title>` stand on lines of their own."""
    return (line.strip() for line in read_lines(path, nul=True) if not line.lstrip().startswith("<"))


def _pairs_of(reader: Callable, *paths: Path) -> Iterator[tuple[str, str]]:
    try:
        yield from zip(*map(reader, paths), strict=True)
    except ValueError:
        raise InputError(
            f"{paths[0]}: not as many lines of text as {paths[1]}; expected a parallel file"
        ) from None


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """IWSLT 2017 multilingual task (Wu et al., 2021): valid dev2010 and tst2010, test tst2017."""
    archive = "DeEnItNlRo-DeEnItNlRo.zip"
    supervised = supervised_pairs(languages, centric)
    train = [f"train.tags.{pair}.{code}" for pair in supervised for code in pair.split("-")]
    valid = [
        f"IWSLT17.TED.{year}.{pair}.{code}.xml"
        for pair in supervised
        for year in ("dev2010", "tst2010")
        for code in pair.split("-")
    ]
    files = source.members(URL, archive, train + valid)
    for pair in all_pairs(languages):
        first, second = pair.split("-")
        if pair in supervised:
            sides = [files[f"train.tags.{pair}.{code}"] for code in (first, second)]
            yield BitextRows(TRAIN, pair, _pairs_of(_transcript, *sides))
            years = [
                _pairs_of(
                    _segments, *(files[f"IWSLT17.TED.{year}.{pair}.{code}.xml"] for code in (first, second))
                )
                for year in ("dev2010", "tst2010")
            ]
            yield BitextRows(VALID, pair, chain(*years))
        test = []
        for source_code, target_code in (
            (first, second),
            (second, first),
        ):  # each side is the source of its direction
            name = f"IWSLT17.TED.tst2017.mltlng.{source_code}-{target_code}.{source_code}.xml"
            url = TEST_URL.format(source_code, target_code)
            test.append(source.members(url, f"{source_code}-{target_code}.tgz", [name])[name])
        yield BitextRows(TEST, pair, _pairs_of(_segments, *test))


CORPUS = Corpus(
    description=(
        "IWSLT 2017 multilingual task (Wu et al., 2021): valid is dev2010 + tst2010 (Table 7.1 has "
        "2,562 lines per pair, these have somewhat more or fewer), test is tst2017; zero-shot pairs "
        "have test sets of their own"
    ),
    languages=("en", "it", "nl", "ro"),
    read=read,
)
