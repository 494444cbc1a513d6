"""Directions of translation: `en-de` is English into German."""

from command_line.errors import InputError
from command_line.options import OptionType, items, require
from data_prep.formats.texts import LANGUAGE

Direction = tuple[str, str]  # (source language, target language)


def _direction(text: str) -> str:
    source, _, target = text.partition("-")
    require(bool(source and target) and LANGUAGE(source) != LANGUAGE(target))
    return text


DIRECTIONS = items(OptionType("a direction such as en-de", _direction))


def directions_or(*sets: str) -> OptionType:
    """A list of directions, or the name of a set of them, as it was given."""
    listed = ", ".join(sets)

    def read(text: str) -> str:
        if text not in sets:
            DIRECTIONS(text)
        return text

    return OptionType(f"{listed}, or {DIRECTIONS.expected}", read)


def parse_directions(text: str | None, option: str) -> list[Direction]:
    """`en-de,de-en` -> [("en", "de"), ("de", "en")]."""
    directions: list[Direction] = []
    for entry in filter(None, (text or "").split(",")):
        source, _, target = entry.strip().partition("-")
        if not source or not target or source == target:
            raise InputError(f"{option}: {entry!r} is not SOURCE-TARGET (for example en-de)")
        if (source, target) in directions:
            raise InputError(f"{option}: {entry!r} occurs twice")
        directions.append((source, target))
    return directions


def format_direction(direction: Direction) -> str:
    return "-".join(direction)
