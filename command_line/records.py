"""JSON files that commands hand to each other: what a record must hold is a type, and checked when read.

A record is a class beside the code that writes it:

    class Part(TypedDict):
        name: str
        seed: NotRequired[int | None]
        loss: list[float]
        kind: Literal["supervised", "zero-shot"]
        directions: dict[str, Direction]

pydantic compares it with what was read, without conversions. Fields that the class does not name may hold
anything; numbers are finite. A wrong record is an `InputError` of one line: file, field, what was found, what
was expected.
"""

import functools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from command_line.errors import InputError, at
from command_line.options import shown

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_KINDS = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
_EXPECTED = {  # by what pydantic calls an error
    "string_type": "a string",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
}


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


def read_record(path, kind) -> Any:
    """Read a file and check it."""
    value = read_json(path)
    check(value, kind, path)
    return value


def check(value, kind, path, name: str = "") -> None:
    """Compare a value with its type.

    Args:
        kind: a `TypedDict`, or what else annotates a value.
        path: the file, for errors.
        name: the field ("directions.de-en.kind"); the whole record if it is empty.

    Raises:
        InputError: the value is none of that kind; names the file and the field.
    """
    from pydantic import ValidationError

    try:
        validated = _adapter(kind).validate_python({"": value})[""]
    except ValidationError as refusal:
        errors = [(*_place(value, error), error) for error in refusal.errors(include_url=False)]
    else:
        for place, wrong, expected in _unlike(value, validated, name):
            raise InputError(f"{path}: field {place!r} is {shown(wrong):.80}, expected {expected!r}")
        return
    # of several alternatives, what the last one says
    place, wrong, error = [each for each in errors if each[0].startswith(errors[0][0])][-1]
    field_name = f"{name}{place}" if name else place.removeprefix(".")
    if error["type"] == "missing":
        raise InputError(f"{path}: field {field_name!r} is missing")
    expected = _EXPECTED.get(error["type"]) or error.get("ctx", {}).get("expected") or error["msg"]
    if field_name:
        raise InputError(f"{path}: field {field_name!r} is {shown(wrong):.80}, expected {expected}")
    raise InputError(f"{path}: found {_KINDS.get(type(wrong), 'null')}, expected {expected}")


@functools.cache
def _adapter(kind):
    """What compares a value of a kind, as the only one of an object."""
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(dict[str, kind], config=ConfigDict(strict=True, allow_inf_nan=False))


def _unlike(value, validated, name: str) -> Iterator[tuple[str, Any, Any]]:
    """The fields in which another type stands for an equal number: pydantic takes True and 1.0 for
    `Literal[1]`, and returns 1.
    """
    if isinstance(validated, dict):
        for key, inner in validated.items():
            yield from _unlike(value[key], inner, f"{name}.{key}" if name else str(key))
    elif isinstance(validated, list):
        for number, inner in enumerate(validated):
            yield from _unlike(value[number], inner, f"{name}[{number}]")
    elif isinstance(validated, int) and type(value) is not type(validated):
        yield name, value, validated


def _place(value, error: dict) -> tuple[str, Any]:
    """Where an error is, as ".pairs[2].lines", and the value there.

    Args:
        error: has keys and positions in "loc"; between them stand names of alternatives.
    """
    name = ""
    for part in error["loc"][1:]:
        if isinstance(value, list) and isinstance(part, int):
            name, value = f"{name}[{part}]", value[part]
        elif isinstance(value, dict) and part in value:
            name, value = f"{name}.{part}", value[part]
    return (f"{name}.{error['loc'][-1]}", None) if error["type"] == "missing" else (name, value)


def field(record: dict, name: str, kind, path) -> Any:
    """The value of a dotted `name` ("data.path") in a record; an `InputError` if it is missing or wrong."""
    value, place = record, ""
    for part in name.split("."):
        check(value, dict, path, place)
        place = f"{place}.{part}" if place else part
        if part not in value:
            raise InputError(f"{path}: field {place!r} is missing")
        value = value[part]
    check(value, kind, path, name)
    return value
