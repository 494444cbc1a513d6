"""JSONL: an object per line, with a text per language, as `{"de": …, "en": …}` or within `translation`.

A column within another is named with a dot: `translation.de`.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from command_line.errors import InputError, at
from data_prep.blocks import Block, read_blocks
from data_prep.importing.tables import DOCUMENT, Choice, Columns, Table, columns_by_name, in_order, one_line


def open_jsonl(path: Path, choice: Choice) -> Table:
    with closing(read_blocks(path)) as blocks:
        first = next((found for block in blocks for found in _objects(block)), None)
    if first is None:
        raise InputError(f"{path}: is empty, expected a JSON object per line")
    columns = columns_by_name(path, _names(first[1]), choice)
    languages, order = in_order(columns)
    places = [tuple(name.split(".")) for name in order]
    said = ", ".join(f"{name} is {key}" for key, name in columns.items())
    blocks, of_block = partial(read_blocks, path), partial(_columns, places)
    return Table(languages, blocks, of_block, DOCUMENT in columns, f"{path}: {said}")


def _objects(block: Block) -> Iterator[tuple[int, dict]]:
    path = block.paths[0]
    for number, line in enumerate(block.decode(nul=True), start=block.first_line):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{at(path, number)}: not JSON: {error}") from None
        if not isinstance(value, dict):
            raise InputError(f"{at(path, number)}: {type(value).__name__}, expected a JSON object")
        yield number, value


def _names(value: dict, prefix: str = "") -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _names(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _columns(places: list[tuple[str, ...]], block: Block) -> Columns:
    objects = list(_objects(block))
    return [[_text(block.paths[0], *found, place) for found in objects] for place in places]


def _text(path: Path, number: int, value, place: tuple[str, ...]) -> str | None:
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # the number of a document
    if not isinstance(value, str):
        raise InputError(f"{at(path, number)}: {'.'.join(place)} is {json.dumps(value)[:60]}, expected text")
    if max(value, default="") >= "\ud800" and any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"{at(path, number)}: {'.'.join(place)} has half a character (a surrogate)")
    return one_line(value)
