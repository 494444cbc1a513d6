"""JSON files that commands hand to each other: what a record must hold is declared, and checked when read.

A schema is Python that looks like the record:

    {"name": str, "seed": Optional(int), "loss": [float], "directions": Objects({"kind": str})}

`str`, `int`, `float` (any finite number) and `bool` are themselves, a dict is an object with at least these
fields, a list of one schema is a list of such items. Fields that a schema does not name may hold anything. A
wrong record is an `InputError` of one line: file, field, what was found, what was expected.
"""

import contextlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line.errors import InputError, at
from command_line.options import shown

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True)
class Optional:
    """The field may be missing, or null."""

    schema: Any


@dataclass(frozen=True)
class Objects:
    """An object with any fields, whose values are all alike."""

    schema: Any
    at_least: int = 0


@dataclass(frozen=True)
class OneOf:
    """One of a few values."""

    values: tuple

    def __init__(self, *values):
        object.__setattr__(self, "values", values)


@dataclass(frozen=True)
class AnyOf:
    """As one of several schemas says."""

    schemas: tuple

    def __init__(self, *schemas):
        object.__setattr__(self, "schemas", schemas)


class Anything:
    """No matter what, but it is there."""


def read_json(path) -> Any:
    """The contents of a JSON file.

    Raises:
        InputError: the file is missing, not UTF-8, not JSON (NaN and Infinity are none), or has an object
            with one name twice.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder, expected a JSON file")
    try:
        return parse_json(path.read_bytes(), path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None


def parse_json(content: bytes, path, line_number: int = 1) -> Any:
    """As `read_json`, of bytes that were read from a file, beginning with a line of it."""
    where = at(path, line_number) if line_number > 1 else path
    try:
        text = content.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite)
        if _SURROGATE.search(text):
            _check_surrogates(value)
        return value
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 text (byte {error.start}), expected JSON") from None
    except json.JSONDecodeError as error:
        where = at(path, line_number + error.lineno - 1)
        raise InputError(f"{where}: not JSON: {error.msg} (column {error.colno})") from None
    except ValueError as error:  # of the functions below, or a whole number with thousands of digits
        raise InputError(f"{where}: not JSON as expected here: {str(error)[:200]}") from None
    except RecursionError:
        raise InputError(f"{where}: not JSON as expected here: nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(field_name for field_name in names if names.count(field_name) > 1)
        raise ValueError(f"the field {shown(twice)} occurs twice")
    return fields


def _check_surrogates(value) -> None:
    """Half of a character, which JSON can spell and no file or stream takes."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"found half a character, {error.object[error.start]!a}, expected text") from None


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"found the number {shown(text)}, expected finite ones")
    return value


def read_record(path, schema) -> Any:
    """Read a file and check it."""
    value = read_json(path)
    check(value, schema, path)
    return value


def check(value, schema, path, name: str = "") -> None:
    """Compare a value with what its schema declares.

    Args:
        path: the file, for errors.
        name: the field ("directions.de-en.kind"); the whole record if it is empty.

    Raises:
        InputError: the value is not as the schema says; names the file and the field.
    """
    if schema is Anything:
        return
    if isinstance(schema, Optional):
        if value is not None:
            check(value, schema.schema, path, name)
    elif isinstance(schema, OneOf):
        if value not in schema.values or isinstance(value, bool):
            _refuse(value, _listed(schema.values), path, name)
    elif isinstance(schema, AnyOf):
        _check_any(value, schema.schemas, path, name)
    elif isinstance(schema, Mapping | Objects):
        _check_object(value, schema, path, name)
    elif isinstance(schema, list):
        if not isinstance(value, list):
            _refuse(value, "a list", path, name)
        for number, item in enumerate(value):
            check(item, schema[0], path, f"{name}[{number}]")
    elif not _is_a(value, schema):
        _refuse(value, _NAMES[schema], path, name)


def refuse_unknown(value, schema, path, name: str = "") -> None:
    """Of a checked record that people write: a field that its schema does not name is misspelled.

    Args:
        path: the file, for errors.
        name: the field; the whole record if it is empty.

    Raises:
        InputError: there is such a field; names it and those that are known.
    """
    if isinstance(schema, Optional):
        schema = schema.schema
    if isinstance(schema, list) and isinstance(value, list):
        for number, item in enumerate(value):
            refuse_unknown(item, schema[0], path, f"{name}[{number}]")
    if not isinstance(schema, Mapping | Objects) or not isinstance(value, dict):
        return
    schemas = dict.fromkeys(value, schema.schema) if isinstance(schema, Objects) else schema
    for field_name, inner in value.items():
        if field_name not in schemas:
            where = f" of {name}" if name else ""
            raise InputError(f"{path}: unknown field {field_name!r}{where}; expected {', '.join(schemas)}")
        refuse_unknown(inner, schemas[field_name], path, f"{name}.{field_name}" if name else field_name)


def _check_any(value, schemas: tuple, path, name: str) -> None:
    *others, last = schemas
    for schema in others:
        with contextlib.suppress(InputError):
            check(value, schema, path, name)
            return
    check(value, last, path, name)


def _check_object(value, schema, path, name: str) -> None:
    if not isinstance(value, dict):
        _refuse(value, "an object", path, name)
    if isinstance(schema, Objects):
        if len(value) < schema.at_least:
            _refuse(value, f"at least {schema.at_least} fields in it", path, name)
        schema = dict.fromkeys(value, schema.schema)
    for field_name, expected in schema.items():
        inner = f"{name}.{field_name}" if name else field_name
        if field_name in value:
            check(value[field_name], expected, path, inner)
        elif not isinstance(expected, Optional):
            raise InputError(f"{path}: field {inner!r} is missing")


def _is_a(value, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float) and _is_finite(value)
    return isinstance(value, kind)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number with hundreds of digits, which no float is near to
        return False


def _listed(values: tuple) -> str:
    *others, last = map(repr, values)
    return f"{', '.join(others)} or {last}" if others else last


def _refuse(value, expected: str, path, name: str) -> None:
    if name:
        raise InputError(f"{path}: field {name!r} is {shown(value):.80}, expected {expected}")
    kind = _NAMES.get(type(value), "null")
    raise InputError(f"{path}: found {kind}, expected {expected}")


def field(record: dict, name: str, schema, path) -> Any:
    """The value of a dotted `name` ("data.path") in a record; an `InputError` if it is missing or wrong."""
    parts = name.split(".")
    for part in reversed(parts):
        schema = {part: schema}
    check(record, schema, path)
    for part in parts:
        record = record[part]
    return record
