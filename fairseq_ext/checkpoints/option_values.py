"""Whether a value is of the type that is declared for an option."""

import ast
import reprlib
import types
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

LONGEST_LITERAL = 10_000  # characters; longer ones could exhaust Python's parser


class Unfit(ValueError):
    """A value is not of the declared type."""


def fitted(declared: Any, value: Any) -> Any:
    """The value as one of the declared type; None always is one.

    Older versions of fairseq store numbers and lists of numbers as text, which is read as a Python literal:
    nothing is evaluated.

    Raises:
        Unfit: it is not of that type.
    """
    if value is None:
        return None
    origin = get_origin(declared)
    if origin in (Union, types.UnionType):
        return _first_fitting(get_args(declared), value)
    if declared is Any or origin is dict:
        return _plain(value)
    if declared is str:
        return _checked(type(value) is str, value)
    if origin is Literal or issubclass(origin or declared, Enum):
        return _checked(type(value) is str and value in choices(declared), value)
    if type(value) is str:
        value = _literal(value)
    if origin is list:
        return _list(get_args(declared), value)
    return _number(declared, value)


def choices(declared: Any) -> list:
    if get_origin(declared) is Literal:
        return list(get_args(declared))
    return [member.value for member in declared]


def is_literal(text: str) -> bool:
    """Whether evaluating a text gives what it shows: a number, a string, or a list, … of them."""
    try:
        _literal(text)
    except Unfit:
        return False
    return True


def describe(declared: Any) -> str:
    """A declared type in words."""
    names = {bool: "true or false", int: "an integer", float: "a number", str: "text", Any: "plain data"}
    origin, members = get_origin(declared), [each for each in get_args(declared) if each is not type(None)]
    if origin in (Union, types.UnionType):
        return " or ".join(map(describe, members))
    if origin is list:
        return f"a list, each {describe(members[0])}"
    if origin is Literal or (isinstance(declared, type) and issubclass(declared, Enum)):
        return "one of " + ", ".join(map(str, choices(declared)))
    return names.get(declared, "plain data")


def shown(value: Any) -> str:
    """A value in an error: short, and in one line."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 80
    return " ".join(short.repr(value).split())


def _checked(fits: bool, value: Any) -> Any:
    if not fits:
        raise Unfit
    return value


def _first_fitting(declared: tuple, value: Any) -> Any:
    for kind in declared:
        if kind is not type(None):
            try:
                return fitted(kind, value)
            except Unfit:
                continue
    raise Unfit


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text if len(text) <= LONGEST_LITERAL else "")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Unfit from None


def _list(members: tuple, value: Any) -> list:
    values = value if isinstance(value, list | tuple) else [value]  # fairseq stored single numbers once
    return [fitted(members[0], each) for each in values]


def _number(declared: type, value: Any) -> bool | int | float:
    if declared is bool:
        return bool(_checked(type(value) is bool or (type(value) is int and value in (0, 1)), value))
    if declared is int:
        return int(_checked(type(value) is int or (type(value) is float and value.is_integer()), value))
    return _checked(declared is float and type(value) in (int, float), value)


def _plain(value: Any, depth: int = 0) -> Any:
    """Numbers and texts, and lists and dictionaries of them, copied."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if depth < 5 and type(value) in (list, tuple):
        return type(value)(_plain(each, depth + 1) for each in value)
    if depth < 5 and type(value) is dict and all(type(key) in (str, int) for key in value):
        return {key: _plain(each, depth + 1) for key, each in value.items()}
    raise Unfit
