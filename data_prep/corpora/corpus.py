"""What a public corpus is: languages, and a function from its files to bitexts, which come as streams.

No corpus of this folder removes lines from a published test set.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import read_parallel
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import all_pairs


@dataclass(frozen=True)
class Corpus:
    """A corpus.

    Attributes:
        description: what it is and what its splits are, for `download --help`.
        languages: codes, those of the papers that are taken where none are asked for.
        further_languages: codes of others that it has; None for any.
        read: function (source, languages, centric language) -> bitexts.
        lines: split -> lines of every pair of `languages` in Table 7.1 (left out where pairs differ).
        english_centric: is its training data with English only?
        read_pair: function (source, pair in alphabetical order) -> its bitexts, of a corpus that has also
            pairs that `read` does not give; None for others.
    """

    description: str
    languages: tuple[str, ...]
    read: "Callable[[Source, list[str], str], Iterator[BitextRows]]"
    further_languages: tuple[str, ...] | None = ()
    lines: dict[str, int] = field(default_factory=dict)
    english_centric: bool = True
    read_pair: "Callable[[Source, str], Iterator[BitextRows]] | None" = None


@dataclass(frozen=True)
class BitextRows:
    """One bitext: its line pairs, languages in alphabetical order, of which none is read yet."""

    split: str
    pair: str
    rows: Iterator[tuple[str, str]]


def supervised_pairs(languages: list[str], centric: str) -> list[str]:
    return [pair for pair in all_pairs(languages) if centric in pair.split("-")]


def rows_of(*paths: Path) -> Iterator[tuple[str, str]]:
    return read_parallel(*paths, nul=True)


def file_of(source: Source, url: str, published: str, ours: str) -> Path:
    """A published file; a local folder may use this project's names of the splits.

    Args:
        published: its name where it is published.
    """
    try:
        return source.file(url, published)
    except InputError:
        if not source.is_local:
            raise
        return source.file("", ours)
