"""The options of a command as a dataclass: libraries take it, only a command's `main` sees argparse."""

from dataclasses import fields, is_dataclass
from typing import TypeVar

Options = TypeVar("Options")


def from_arguments(kind: type[Options], args) -> Options:
    """A dataclass whose fields are the parsed options of the same names.

    Args:
        kind: the dataclass. A field that is a dataclass itself takes its own options.
        args: what argparse found.
    """
    return kind(
        **{
            field.name: from_arguments(field.type, args)
            if is_dataclass(field.type)
            else getattr(args, field.name)
            for field in fields(kind)
        }
    )


def by_name(options) -> dict:
    """Option -> value of a dataclass and of those in it, as on the command line: one level.

    Fields by which two dataclasses are not compared (`field(compare=False)`) are left out: how the work is
    done, not what comes of it.
    """
    found = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if field.compare:
            found |= by_name(value) if is_dataclass(value) else {field.name: value}
    return found
