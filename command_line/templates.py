"""Texts with places for values: `translate {source} to {target}: `."""

from collections.abc import Collection
from string import Formatter

from command_line.errors import InputError


def check_template(template: str, fields: Collection[str], needed: Collection[str], name: str) -> None:
    """Refuse a template that cannot be filled.

    Args:
        fields: that have a value.
        needed: that must be in it.
        name: of the option or file, for errors.

    Raises:
        InputError: another field, a lonely brace, a conversion or format; a needed field is missing.
    """
    expected = f"expected {', '.join(f'{{{field}}}' for field in fields)} ({{{{ and }}}} are plain braces)"
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise InputError(f"{name}: {template!r:.80}: {error}; {expected}") from None
    named = set()
    for _, field, form, conversion in parts:
        if field is None:
            continue
        if field not in fields or form or conversion:
            raise InputError(f"{name}: has the field {{{field:.40}}}; {expected}")
        named.add(field)
    if missing := [field for field in needed if field not in named]:
        raise InputError(f"{name}: {template!r:.80} has no {{{missing[0]}}}; {expected}")
