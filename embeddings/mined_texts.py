"""Texts that are searched for pairs: their different sentences, identifiers, gold pairs; and pairs on disk.

A sentence that occurs twice in a text is one, to be found once, and no neighbour of itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.outputs import atomic_path
from embeddings.search.texts import distinct_lines, lines_at, open_lines, some_lines


@dataclass(frozen=True)
class Side:
    """A text and its different sentences.

    Attributes:
        text: all its lines, without identifiers.
        rows: the lines where a sentence occurs first, from 0, ascending.
        places: of every line, its sentence's place among these.
        identifiers: identifier -> line; none in a text without.
    """

    path: Path
    text: Sequence[str]
    rows: np.ndarray
    places: np.ndarray
    identifiers: dict[str, int]

    @property
    def sentences(self) -> Sequence[str]:
        """The different ones."""
        return some_lines(self.text, self.rows)

    def place(self, identifier: str) -> int:
        """The place of the sentence with an identifier."""
        return int(self.places[self.identifiers[identifier]])


def read_side(path: Path, identifiers: bool) -> Side:
    """One side of the text that is searched for pairs: its lines and their identifiers.

    Raises:
        InputError: no text, or with identifiers a line without one, or one that occurs twice.
    """
    text, names = _read_identifiers(path) if identifiers else (open_lines(path), {})
    if not text:
        raise InputError(f"{path}: is empty, expected a sentence per line")
    return Side(path, text, *distinct_lines(text), names)


def _read_identifiers(path: Path) -> tuple[list[str], dict[str, int]]:
    sentences: list[str] = []
    names: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        name, tab, sentence = line.partition("\t")
        if not tab or not name:
            raise InputError(f"{at(path, number)}: no tab; expected identifier<TAB>sentence")
        if name in names:
            raise InputError(f"{at(path, number)}: the identifier {name!r:.50} occurs twice")
        names[name] = len(sentences)
        sentences.append(sentence)
    return sentences, names


def read_gold(path: Path, first: Side, second: Side) -> set[tuple[int, int]]:
    """Pairs of places of `identifier<TAB>identifier` lines.

    Raises:
        InputError: a line is something else, or has an identifier that no sentence has.
    """
    gold = set()
    for number, line in enumerate(read_lines(path), start=1):
        names = line.split("\t")
        if len(names) != 2:
            raise InputError(f"{at(path, number)}: {len(names)} fields, expected identifier<TAB>identifier")
        for name, side in zip(names, (first, second), strict=True):
            if name not in side.identifiers:
                raise InputError(f"{at(path, number)}: {name!r:.50} is no identifier of {side.path}")
        gold.add((first.place(names[0]), second.place(names[1])))
    if not gold:
        raise InputError(f"{path}: is empty, expected pairs of identifiers")
    return gold


def pairs_of(sides: Sequence[Side], first: np.ndarray, second: np.ndarray) -> Iterable[tuple[str, str]]:
    """The sentences of pairs, which are looked up one by one.

    Args:
        first, second: places among the different sentences of either side.
    """
    sentences = (
        lines_at(side.text, side.rows[which]) for side, which in zip(sides, (first, second), strict=True)
    )
    return zip(*sentences, strict=True)


class PairLists:
    """Pairs that were found, by the file that they belong in.

    They are written when all has been measured and the result is marked as begun, so that no file of another
    measurement lies beside a result that looks finished.
    """

    def __init__(self):
        self._lists: dict[Path, tuple[np.ndarray, Iterable[tuple[str, str]]]] = {}

    def add(self, output: Path, scores: np.ndarray, pairs: Iterable[tuple[str, str]]) -> None:
        self._lists[output] = (scores, pairs)

    def write(self) -> list[Path]:
        """The files: lines `score<TAB>sentence<TAB>sentence`; tabs within sentences become spaces."""
        for output, (scores, pairs) in self._lists.items():
            with atomic_path(output) as temporary, open(temporary, "w", encoding="utf-8") as file:
                for score, sentences in zip(scores, pairs, strict=True):
                    fields = [f"{score:.6f}", *(each.replace("\t", " ") for each in sentences)]
                    file.write("\t".join(fields) + "\n")
        return list(self._lists)
