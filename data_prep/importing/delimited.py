"""TSV and CSV: columns by number from 1, or by the names in the first line.

Fields of TSV are as they are, without quotes; those of CSV may be quoted. A first line is of names if every
field is a language code, `document`, or a name that `--columns` says.
"""

import csv
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from command_line.errors import InputError, at
from command_line.lines import read_lines
from data_prep.blocks import Block, read_blocks
from data_prep.importing.tables import (
    DOCUMENT,
    Choice,
    Columns,
    Row,
    Table,
    columns_by_name,
    in_blocks,
    in_order,
    is_language_name,
    lines_of,
    one_line,
)

LONGEST_FIELD = 1 << 24  # characters; of csv it is 128 K
_NO_SEPARATORS = bytes(byte for byte in range(256) if byte not in b"\t\n")


def open_tsv(path: Path, choice: Choice) -> Table:
    return _open(path, choice, _tsv_blocks, _tsv_fields, _ChosenOfTsv)


def open_csv(path: Path, choice: Choice) -> Table:
    return _open(path, choice, _csv_blocks, list, _Chosen)


def _open(path: Path, choice: Choice, read, fields_of, chosen_of) -> Table:
    with closing(read(path)) as blocks:
        first = next((fields_of(block)[0] for _, block in blocks), None)
    if first is None:
        raise InputError(f"{path}: is empty, expected lines of text")
    has_names = _are_names(first, choice)
    if has_names:
        columns = {key: first.index(name) for key, name in columns_by_name(path, first, choice).items()}
    else:
        columns = _by_number(path, len(first), choice)
    languages, order = in_order(columns)
    said = ", ".join(f"column {column + 1} is {key}" for key, column in columns.items())
    chosen = chosen_of(path, fields_of, tuple(order), len(first), int(has_names), not choice.columns)
    return Table(languages, partial(read, path), chosen, DOCUMENT in columns, f"{path}: {said}")


def _are_names(fields: Row, choice: Choice) -> bool:
    if choice.columns:
        return not any(column.isdecimal() for column in choice.columns.values())
    return all(field == DOCUMENT or is_language_name(field) for field in fields)


def _by_number(path: Path, fields: int, choice: Choice) -> dict[str, int]:
    """Language, or `DOCUMENT`, -> place from 0."""
    if choice.columns:
        columns = {key: int(number) - 1 for key, number in choice.columns.items()}
        if not all(0 <= column < fields for column in columns.values()):
            given = " ".join(f"{key}={column}" for key, column in choice.columns.items())
            raise InputError(f"{at(path, 1)}: has {fields} fields, expected those of --columns {given}")
        return columns
    if len(choice.languages) != fields:
        raise InputError(
            f"{at(path, 1)}: {fields} fields, but languages are {', '.join(choice.languages) or 'not named'};"
            " say which column is which, for example --columns de=1 en=2"
        )
    return {language: column for column, language in enumerate(choice.languages)}


def _tsv_blocks(path: Path) -> Iterator[tuple[int, Block]]:
    return ((block.first_line, block) for block in read_blocks(path))


def _tsv_fields(block: Block) -> list[list[str]]:
    return [line.split("\t") for line in lines_of(block)]


def _csv_blocks(path: Path) -> Iterator[tuple[int, list[list[str]]]]:
    csv.field_size_limit(min(LONGEST_FIELD, sys.maxsize))
    reader = csv.reader((f"{line}\n" for line in read_lines(path, nul=True)), strict=True)
    number = 1
    try:
        for block in in_blocks([one_line(field) for field in row] for row in reader if row):
            yield number, block
            number += len(block)
    except csv.Error as error:
        raise InputError(f"{at(path, reader.line_num)}: not CSV: {error}") from None


@dataclass(frozen=True)
class _Chosen:
    """Chooses the columns of a block.

    Attributes:
        fields_of: function from a block to the fields of its rows.
        columns: places from 0.
        fields: of the first row.
        names: rows to leave out at the beginning, which are no text.
        exact: whether every row needs as many fields as the first; otherwise, all of `columns`.
    """

    path: Path
    fields_of: Callable[[Any], list[list[str]]]
    columns: tuple[int, ...]
    fields: int
    names: int
    exact: bool

    def __call__(self, numbered: tuple[int, Any]) -> Columns:
        """The columns of a block, of which the number of the first row is given."""
        number, block = numbered
        rows = self.fields_of(block)
        lengths = set(map(len, rows))
        if lengths != {self.fields} and (self.exact or min(lengths) <= max(self.columns)):
            least = self.fields if self.exact else max(self.columns) + 1
            most = self.fields if self.exact else LONGEST_FIELD
            place = next(place for place, row in enumerate(rows) if not least <= len(row) <= most)
            raise InputError(
                f"{at(self.path, number + place)}: {len(rows[place])} fields, expected {least}; --columns"
                " chooses some of them"
            )
        if number == 1:
            rows = rows[self.names :]
        return [[row[column] for row in rows] for column in self.columns]


class _ChosenOfTsv(_Chosen):
    """The same without a list per line, where lines have as many fields as the first: three times as fast."""

    def __call__(self, numbered: tuple[int, Block]) -> Columns:
        number, block = numbered
        separators = block.texts[0].translate(None, _NO_SEPARATORS)
        if separators != (b"\t" * (self.fields - 1) + b"\n") * block.lines:
            return super().__call__(numbered)
        text = block.text(nul=True).replace("\r", " ")
        fields = text.replace("\n", "\t").split("\t")[:-1]
        names = self.names if number == 1 else 0
        return [fields[column :: self.fields][names:] for column in self.columns]
