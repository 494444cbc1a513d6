"""The options of a command as a dataclass, which libraries take: every option is declared once, as a field.

    @dataclass(frozen=True, kw_only=True)
    class Search:
        text: Path = option("a sentence per line", required=True, metavar="FILE")
        languages: list[str] = option("only these", ["de", "fr"], type=items(LANGUAGE))
        beam: int = option("hypotheses of a beam search", 5)
        cpu: bool = switch("do not use a GPU", compare=False)

`add_options` makes the parser of these fields, and `from_arguments` reads back what it has parsed. A field
that is such a dataclass itself has its own options.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin

from command_line import options as types

Options = TypeVar("Options")
TYPES = {Path: types.path, str: types.text, int: types.positive}  # of fields that do not say another one


@dataclass(frozen=True)
class Alternatives:
    """Options of which at most one may be given; with `required`, exactly one.

    Attributes:
        name: tells them from others of the command.
    """

    name: str
    required: bool = False


def option(
    help: str,
    default: Any = None,
    *,
    compare: bool = True,
    flags: Sequence[str] = (),
    among: Alternatives | None = None,
    **argument: Any,
) -> Any:
    """A field of a dataclass that is an option.

    A path, a line of text, a whole number from 1, and a list of one of them need no `type`: their annotation
    says it.

    Args:
        default: of the option and of the field; a `required` option has none.
        compare: False for an option that says how the work is done, not what comes of it.
        flags: how it is typed; `--field-name` by default.
        among: the options that exclude each other.
    """
    metadata = {"flags": flags, "among": among, "argument": {"help": help, **argument}}
    if argument.get("required"):
        return field(compare=compare, metadata=metadata)
    if isinstance(default, list | dict):
        return field(default_factory=default.copy, compare=compare, metadata=metadata)
    return field(default=default, compare=compare, metadata=metadata)


def switch(help: str, *, compare: bool = True, among: Alternatives | None = None) -> Any:
    """A field that is False unless its option is given."""
    return option(help, False, compare=compare, among=among, action="store_true")


def positional(help: str, *, compare: bool = True, **argument: Any) -> Any:
    """A field that is an argument without a name."""
    return field(compare=compare, metadata={"argument": {"help": help, **argument}})


def output_folder(contents: str) -> Any:
    """The field `output` of most commands."""
    return option(
        f"folder for {contents}", compare=False, required=True, type=types.output_folder, metavar="DIR"
    )


def force_switch(help: str = "do it again even if it is done") -> Any:
    """The field `force` of most commands."""
    return switch(help, compare=False)


def add_options(parser: ArgumentParser, options: type) -> None:
    """Give a parser the options that a dataclass declares.

    Args:
        options: the dataclass. Its fields without an option are dataclasses that have their own.
    """
    groups: dict[Alternatives, Any] = {}
    for declared in fields(options):
        if not declared.metadata:
            add_options(parser, declared.type)
            continue
        target = parser
        if among := declared.metadata.get("among"):
            if among not in groups:
                groups[among] = parser.add_mutually_exclusive_group(required=among.required)
            target = groups[among]
        target.add_argument(*_names(declared), **_argument(declared))


def _names(declared: Field) -> Sequence[str]:
    if "flags" not in declared.metadata:
        return (declared.name,)
    return declared.metadata["flags"] or (f"--{declared.name.replace('_', '-')}",)


def _argument(declared: Field) -> dict[str, Any]:
    """The arguments of `add_argument`."""
    argument = dict(declared.metadata["argument"])
    if declared.default_factory is not MISSING:
        argument["default"] = declared.default_factory()
    elif declared.default is not MISSING:
        argument["default"] = declared.default
    if argument.keys().isdisjoint(("type", "choices", "action")):
        argument = _said_by_annotation(declared.type) | argument
    return argument


def _said_by_annotation(annotation: Any) -> dict[str, Any]:
    """The type of an option, and whether it takes several values."""
    if NoneType in get_args(annotation):
        annotation = next(kind for kind in get_args(annotation) if kind is not NoneType)
    if get_origin(annotation) is list:
        (kind,) = get_args(annotation)
        return {"nargs": "+", "type": TYPES[kind]}
    return {"type": TYPES[annotation]}


def from_arguments(kind: type[Options], args: Namespace) -> Options:
    """A dataclass whose fields are the parsed options of the same names.

    Args:
        kind: the dataclass. A field that is a dataclass itself takes its own options.
    """
    return kind(
        **{
            declared.name: from_arguments(declared.type, args)
            if is_dataclass(declared.type)
            else getattr(args, declared.name)
            for declared in fields(kind)
        }
    )


def by_name(options) -> dict:
    """Option -> value of a dataclass and of those in it, as on the command line: one level.

    Fields by which two dataclasses are not compared (`field(compare=False)`) are left out: how the work is
    done, not what comes of it.
    """
    settings = {}
    for declared in fields(options):
        value = getattr(options, declared.name)
        if declared.compare:
            settings |= by_name(value) if is_dataclass(value) else {declared.name: value}
    return settings
