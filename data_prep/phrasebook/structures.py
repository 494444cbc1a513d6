"""What a phrasebook line means: one or two statements, each a frame and a value, independent of any language.

A structure is a tuple of statements; a statement is `(frame, slot kind, value)` or, with a remark in
brackets, `(frame, slot kind, value, remark kind, remark value)`. Values are numbers, ISO dates and CLDR
codes.
"""

import random

# frame -> kind of its value
FRAMES = {
    "train": "date",
    "museum": "date",
    "birthday": "date",
    "guests": "future",
    "concert": "future",
    "rain": "past",
    "letter": "past",
    "ticket": "money",
    "hotel": "money",
    "lunch": "money",
    "station": "length",
    "river": "length",
    "suitcase": "mass",
    "apples": "mass",
    "morning": "temperature",
    "journey": "duration",
    "wait": "duration",
    "visit": "countries-and",
    "choose": "countries-or",
    "guide": "languages-and",
    "course": "languages-or",
    "room": "number",
    "visitors": "number",
    "water": "volume",
    "bus": "speed",
}
REMARKS = {"date": "future", "length": "duration", "money": "number", "mass": "number", "volume": "number"}

YEARS = (1990, 2029)
LARGEST_NUMBER = 99
CURRENCIES = ("EUR", "USD", "GBP", "JPY", "CHF", "CNY", "CAD", "INR")
COUNTRIES = (
    "AR", "AT", "AU", "BE", "BR", "CA", "CH", "CN", "CZ", "DE", "DK", "EG", "ES", "FI", "FR", "GR",
    "HU", "IE", "IN", "IT", "JP", "KE", "MA", "MX", "NL", "NO", "PE", "PL", "PT", "RO", "SE", "UA",
)  # fmt: skip
LANGUAGES = (
    "ar", "cs", "da", "de", "en", "es", "fi", "fr", "hu", "it", "ja", "ko", "nl", "pl", "pt", "ro",
    "ru", "sv", "tr", "zh",
)  # fmt: skip
TIME_UNITS = ("minute", "hour", "day", "week", "month", "year")


class Draws:
    """Random draws that are the same on every Python: built on `Random.random()` alone, the one method whose
    sequence Python promises to keep."""

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def below(self, bound: int) -> int:
        return int(self._random() * bound)

    def number(self, first: int = 1, last: int = LARGEST_NUMBER) -> int:
        return first + self.below(last - first + 1)

    def one_of(self, items: tuple):
        return items[self.below(len(items))]

    def some_of(self, items: tuple, count: int) -> tuple:
        """`count` different items in random order."""
        pool = list(items)
        return tuple(pool.pop(self.below(len(pool))) for _ in range(count))


def _date(draws: Draws) -> str:
    return f"{draws.number(*YEARS):04d}-{draws.number(1, 12):02d}-{draws.number(1, 28):02d}"


def _duration(draws: Draws) -> tuple[int, int]:
    return draws.number(1, 23), draws.number(2, 59)  # hours and minutes


def _relative(draws: Draws) -> tuple[int, str]:
    return draws.number(2, 59), draws.one_of(TIME_UNITS)


DRAW = {
    "date": _date,
    "future": _relative,
    "past": _relative,
    "duration": _duration,
    "money": lambda draws: (draws.number(2, 999), draws.one_of(CURRENCIES)),
    "length": lambda draws: (draws.number(1, 999), draws.one_of(("kilometer", "meter"))),
    "mass": lambda draws: (draws.number(), draws.one_of(("kilogram", "gram"))),
    "volume": lambda draws: draws.number(),
    "temperature": lambda draws: draws.number(1, 40),
    "speed": lambda draws: draws.number(10, 130),
    "number": lambda draws: draws.number(),
    "countries-and": lambda draws: draws.some_of(COUNTRIES, draws.number(2, 4)),
    "countries-or": lambda draws: draws.some_of(COUNTRIES, draws.number(2, 4)),
    "languages-and": lambda draws: draws.some_of(LANGUAGES, draws.number(2, 4)),
    "languages-or": lambda draws: draws.some_of(LANGUAGES, draws.number(2, 4)),
}


def _statement(draws: Draws, frame: str) -> tuple:
    kind = FRAMES[frame]
    statement = (frame, kind, DRAW[kind](draws))
    if kind in REMARKS and draws.below(4) == 0:
        statement += (REMARKS[kind], DRAW[REMARKS[kind]](draws))
    return statement


def draw_structure(draws: Draws) -> tuple:
    """One statement (2 in 5 lines) or two with different frames (3 in 5)."""
    frames = draws.some_of(tuple(FRAMES), 2)
    return tuple(_statement(draws, frame) for frame in frames[: 1 if draws.below(5) < 2 else 2])
