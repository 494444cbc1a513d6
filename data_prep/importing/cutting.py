"""Valid and test sets cut out of training text, the same on every machine, without leaks.

What is cut out is a unit: a document, or, where there are none, a sentence of the side that pairs share.
Units are in the order of a hash of their names or text, so the choice depends on nothing else. Bitexts that
share sentences, or documents, get the same ones.

No sentence of a set is in another one: of training text, every row goes of which a side is in one in its
language, in whichever bitext. Sentences are compared as `clean` leaves them.

Memory: `CANDIDATES_PER_LINE` rows for every line of the sets, and what is cut out.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, compress
from typing import NamedTuple

from command_line.errors import InputError
from data_prep.blocks import encode
from data_prep.duplicates import KEY_BYTES, key
from data_prep.formats.texts import TEST, VALID
from data_prep.importing.tables import Columns
from data_prep.normalization import normalize

CANDIDATES_PER_LINE = 10

BitextRow = tuple[str, ...]  # a text per language, and the document ("" if there is none)
Candidates = dict[bytes, list[BitextRow]]  # unit -> its rows


def with_digests(shared: int, columns: Columns) -> tuple[list[bytes], Columns]:
    """The hash of every row's unit, and the rows."""
    names = zip(columns[-1], columns[shared], strict=True)
    return [key(name or normalize(text)) for name, text in names], columns


def first_units(blocks: Iterable[tuple[list[bytes], Columns]], lines: int) -> Candidates:
    """The first units by their hashes, which have at least so many lines, if there are."""
    units: Candidates = {}
    rows, bound = 0, b"\xff" * (KEY_BYTES + 1)
    for digests, columns in blocks:
        small = [place for place, digest in enumerate(digests) if digest < bound]
        for place in small:
            digest, row = digests[place], tuple(column[place] for column in columns)
            if digest >= bound or "" in row[:-1]:
                continue
            if digest not in units:
                units[digest] = [row]
            elif row[-1]:
                units[digest].append(row)
            else:
                continue
            rows += 1
            if rows >= 2 * lines and len(units) > 1:
                units, bound = _smallest(units, lines)
                rows = sum(map(len, units.values()))
    return units


def _smallest(units: Candidates, lines: int) -> tuple[Candidates, bytes]:
    """The first units with so many lines, and a bound above their hashes."""
    order = sorted(units)
    ends = accumulate(len(units[digest]) for digest in order)
    count = next((number for number, end in enumerate(ends, start=1) if end >= lines), len(order))
    return {digest: units[digest] for digest in order[:count]}, order[count - 1] + b"\0"


class Sentences:
    """Sentences of evaluation sets, by language."""

    def __init__(self):
        self._known: dict[str, set[str]] = {}

    def add(self, languages: Iterable[str], rows: Iterable[BitextRow]) -> None:
        for language, side in zip(languages, zip(*rows, strict=True), strict=False):
            self._known.setdefault(language, set()).update(map(normalize, side))

    def of(self, languages: Iterable[str]) -> list[set[str]]:
        return [self._known.get(language, set()) for language in languages]

    def without(self, languages: tuple[str, ...], rows: list[BitextRow]) -> list[BitextRow]:
        """The rows of which no side is known."""
        for place, language in enumerate(languages):
            if held_out := self._known.get(language):
                rows = [row for row in rows if normalize(row[place]) not in held_out]
        return rows


class Part(NamedTuple):
    """Some lines of a bitext.

    Attributes:
        sides: the text in each language, UTF-8.
        left_out: rows that are not among the lines.
    """

    sides: tuple[bytes, ...]
    lines: int
    left_out: int = 0


def part_of(columns: Columns) -> Part:
    """Rows as text; columns as `Bitext.map` gives them."""
    *sides, documents = columns
    return Part(tuple(map(encode, sides)), len(documents))


def training_part(held_out: list[set[str]], documents: set[str], columns: Columns) -> Part:
    """The rows that are in no evaluation set.

    Args:
        held_out: of each language, sentences of evaluation sets.
        documents: of evaluation sets.
    """
    *sides, names = columns
    places: set[int] = set()
    for side, of_language in zip(sides, held_out, strict=True):
        if of_language:
            places.update(n for n, text in enumerate(map(normalize, side)) if text in of_language)
    if documents:
        places.update(n for n, name in enumerate(names) if name in documents)
    kept = [n not in places for n in range(len(names))]
    return part_of([list(compress(column, kept)) for column in columns])._replace(left_out=len(places))


def choose(
    candidates: Mapping[str, Candidates],
    wanted: Mapping[tuple[str, str], int],
    taken: Sentences,
    shared_first: bool,
) -> Iterator[tuple[str, str, list[BitextRow]]]:
    """The sets of all bitexts: split, pair, rows.

    Args:
        candidates: pair -> the first units of its bitext.
        wanted: (split, pair) -> lines.
        taken: sentences that are in none of them; those of the sets are added.
        shared_first: units come first that most bitexts have.
    """
    bitexts = {digest: 0 for units in candidates.values() for digest in units}
    for units in candidates.values():
        for digest in units:
            bitexts[digest] += 1
    for split in (TEST, VALID):
        sets = {
            pair: _taken(pair, split, lines, candidates[pair], bitexts if shared_first else None, taken)
            for (each, pair), lines in wanted.items()
            if each == split
        }
        for pair, rows in sets.items():
            taken.add(pair.split("-"), rows)
            yield split, pair, rows


def _taken(
    pair: str, split: str, lines: int, units: Candidates, bitexts: dict[bytes, int] | None, taken: Sentences
) -> list[BitextRow]:
    """The first rows, whole units, that have no sentence of another set."""
    order = sorted(units, key=lambda digest: (-bitexts[digest] if bitexts else 0, digest))
    languages, rows = tuple(pair.split("-")), []
    for digest in order:
        rows += taken.without(languages, units[digest])
        if len(rows) >= lines:
            return rows
    raise InputError(
        f"--{split} {lines}: {pair} has {len(rows)} sentences that may be taken; expected more, give fewer"
    )
