"""Bitexts of tables: which pairs there are, their rows, and those that share English."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, compress
from typing import TypeVar

from command_line.workers import Workers
from data_prep.formats.texts import TRAIN, all_pairs, pair_name
from data_prep.importing.cutting import BitextRow
from data_prep.importing.formats import Source
from data_prep.importing.tables import Columns, Table
from data_prep.languages import is_english
from data_prep.normalization import normalize

T = TypeVar("T")


@dataclass(frozen=True)
class Bitext:
    """Two languages, or one, of the tables of a split that have them.

    Attributes:
        pair: in alphabetical order, or the only language.
        tables: one after the other.
    """

    split: str
    pair: str
    tables: tuple[Table, ...]

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.pair.split("-"))

    def map(self, workers: Workers, function: Callable[[Columns], T]) -> Iterator[T]:
        """What workers make of the rows that both languages have, some at a time."""
        for table in self.tables:
            places = tuple(table.languages.index(language) for language in self.languages)
            yield from workers.map(
                partial(_applied, function, table.columns, places, table.has_documents), table.blocks()
            )


def _applied(function: Callable, columns_of: Callable, places: tuple, has_documents: bool, block):
    columns = columns_of(block)
    sides = [columns[place] for place in places]
    documents = [name or "" for name in columns[-1]] if has_documents else [""] * len(sides[0])
    chosen = [*sides, documents]
    if any(None in side for side in sides):
        complete = [None not in row for row in zip(*sides, strict=True)]
        chosen = [list(compress(column, complete)) for column in chosen]
    return function(chosen)


def shared_language(languages: Iterable[str], centric: str | None) -> str | None:
    """The language that bitexts share: as it is called, or English."""
    languages = list(languages)
    if centric is not None:
        return centric if centric in languages else None
    return next(filter(is_english, languages), None)


def pairs_of(table: Table, langs: Iterable[str], centric: str | None, all_of_them: bool) -> list[str]:
    """The pairs of a table: with the shared language, if there is one, unless all are wanted."""
    languages = [language for language in table.languages if not langs or language in langs]
    if len(languages) < 2:
        return languages
    shared = shared_language(languages, centric)
    pairs = all_pairs(languages)
    return pairs if shared is None or all_of_them else [pair for pair in pairs if shared in pair.split("-")]


def bitexts_of(
    sources: Iterable[Source], split: str | None, langs: tuple[str, ...], centric: str | None, zero_shot: bool
) -> list[Bitext]:
    """All bitexts, those of evaluation first.

    Args:
        split: of all sources; None: of their names, and training where these say none.
        langs: that are wanted; empty: all.
        zero_shot: evaluation sets are of all pairs.
    """
    tables: dict[tuple[str, str], list[Table]] = {}
    for source in sources:
        place = split or source.split or TRAIN
        print(f"{source.table.source}; {place}", flush=True)
        for pair in pairs_of(source.table, langs, centric, zero_shot and place != TRAIN):
            tables.setdefault((place, pair), []).append(source.table)
    order = sorted(tables, key=lambda key: (key[0] == TRAIN, key))
    return [Bitext(*key, tuple(tables[key])) for key in order]


def zero_shot_sets(
    sets: dict[str, list[BitextRow]], centric: str | None
) -> Iterator[tuple[str, list[BitextRow]]]:
    """Sets of pairs that have none, of lines that two sets have in the shared language.

    Args:
        sets: pair -> rows, of one split.

    Yields:
        pair and rows, in the order of the first of both sets; of a line that comes again the first.
    """
    others: dict[str, dict[str, str]] = {}  # language -> sentence of the shared one -> translation
    for pair, rows in sets.items():
        languages = pair.split("-")
        shared = shared_language(languages, centric)
        if shared is None or len(languages) != 2:
            continue
        place = languages.index(shared)
        translations = others.setdefault(languages[1 - place], {})
        for row in rows:
            if row[place]:
                translations.setdefault(normalize(row[place]), row[1 - place])
    for first, second in combinations(sorted(others), 2):
        if (pair := pair_name(first, second)) not in sets:
            rest = others[second]
            yield (pair, [(text, rest[line], "") for line, text in others[first].items() if line in rest])
