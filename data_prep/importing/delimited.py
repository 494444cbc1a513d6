"""TSV and CSV: columns by number from 1, or by the names in the first line.

Fields of TSV are as they are, without quotes; those of CSV may be quoted. A first line is of names if every
field is a language code, `document`, or a name that `--columns` says.
"""

import csv
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from operator import itemgetter
from pathlib import Path

from command_line.errors import InputError, at
from command_line.lines import decode, read_lines, read_rows
from data_prep.importing.tables import (
    DOCUMENT,
    ROWS_PER_BLOCK,
    Choice,
    Row,
    Table,
    columns_by_name,
    in_blocks,
    is_language_name,
    one_line,
)

LONGEST_FIELD = 1 << 24  # characters; of csv it is 128 K


def open_tsv(path: Path, choice: Choice) -> Table:
    return _open(path, choice, _tsv_rows)


def open_csv(path: Path, choice: Choice) -> Table:
    return _open(path, choice, _csv_rows)


def _open(path: Path, choice: Choice, read) -> Table:
    with closing(read(path)) as blocks:
        first = next((block[0] for block in blocks), None)
    if first is None:
        raise InputError(f"{path}: is empty, expected lines of text")
    has_names = _are_names(first, choice)
    if has_names:
        columns = {key: first.index(name) for key, name in columns_by_name(path, first, choice).items()}
    else:
        columns = _by_number(path, len(first), choice)
    languages = tuple(key for key in columns if key != DOCUMENT)
    order = [columns[key] for key in (*languages, *(key for key in columns if key == DOCUMENT))]
    said = ", ".join(f"column {column + 1} is {key}" for key, column in columns.items())
    rows = partial(_chosen, path, read, tuple(order), len(first), int(has_names), not choice.columns)
    return Table(languages, rows, DOCUMENT in columns, f"{path}: {said}")


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


def _tsv_rows(path: Path) -> Iterator[list[list[str]]]:
    number = 1
    with closing(read_rows(path, ROWS_PER_BLOCK)) as blocks:
        for rows in blocks:
            text = decode(b"".join(rows), path, number, nul=True).removesuffix("\n")
            if "\r" in text:
                text = text.replace("\r\n", "\n").removesuffix("\r").replace("\r", " ")
            yield [line.split("\t") for line in text.split("\n")]
            number += len(rows)


def _csv_rows(path: Path) -> Iterator[list[list[str]]]:
    csv.field_size_limit(min(LONGEST_FIELD, sys.maxsize))
    reader = csv.reader((f"{line}\n" for line in read_lines(path, nul=True)), strict=True)
    try:
        yield from in_blocks([one_line(field) for field in row] for row in reader if row)
    except csv.Error as error:
        raise InputError(f"{at(path, reader.line_num)}: not CSV: {error}") from None


def _chosen(
    path: Path, read, columns: tuple[int, ...], fields: int, names: int, exact: bool
) -> Iterator[list[Row]]:
    """The columns of every row.

    Args:
        fields: of the first row.
        names: rows to leave out, which are no text.
        exact: whether every row needs as many fields as the first; otherwise, all of `columns`.

    Raises:
        InputError: a row has too few fields, or too many; names file and line, of CSV the row.
    """
    in_order = columns == tuple(range(fields))
    pick = itemgetter(*columns) if len(columns) > 1 else lambda row: (row[columns[0]],)
    number = 1
    for block in read(path):
        lengths = set(map(len, block))
        if lengths != {fields} and (exact or min(lengths) <= max(columns)):
            least, most = (fields, fields) if exact else (max(columns) + 1, LONGEST_FIELD)
            place = next(place for place, row in enumerate(block) if not least <= len(row) <= most)
            raise InputError(
                f"{at(path, number + place)}: {len(block[place])} fields, expected {least}; --columns chooses"
                " some of them"
            )
        rows = block[names:] if number == 1 and names else block
        yield list(map(tuple, rows)) if in_order else list(map(pick, rows))
        number += len(block)
