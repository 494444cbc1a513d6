"""Directions of translation: `en-de` is English into German."""

from command_line.errors import InputError

Direction = tuple[str, str]  # (source language, target language)


def parse_directions(text: str | None, option: str) -> list[Direction]:
    """`en-de,de-en` -> [("en", "de"), ("de", "en")].

    Raises:
        InputError: an entry is not SOURCE-TARGET, or occurs twice.
    """
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
