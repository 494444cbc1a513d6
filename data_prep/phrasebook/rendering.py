"""Says what a structure means in one language: CLDR through Babel, spelled-out numbers through num2words.

Two traps of the libraries are taken care of here. Babel prints the name of a unit ("5 duration-hour") where
CLDR has no long form of its own: the short form is used then. num2words has no Chinese: the ten-line rule
below spells it.
"""

import datetime
import functools
import re
import tomllib
from pathlib import Path

from command_line.errors import InputError
from data_prep.languages import is_unspaced
from data_prep.normalization import normalize

PHRASES = {  # language -> frame -> what introduces its value
    language: phrases
    for file in sorted(Path(__file__).with_name("phrases").glob("*.toml"))
    for language, phrases in tomllib.loads(file.read_text(encoding="utf-8")).items()
}
SUPPORTED = tuple(sorted(PHRASES))
CHARACTERS_PER_WORD = 2  # to count words in languages that do not separate them

UNITS = {  # of kinds that have one
    "volume": "volume-liter",
    "temperature": "temperature-celsius",
    "speed": "speed-kilometer-per-hour",
}
_NUM2WORDS_NAMES = {"pt": "pt_BR"}  # CLDR's pt is Brazilian
_DIGITS = "零一二三四五六七八九"
_WORD = re.compile(r"\S*\w\S*")  # what spaces separate, but for punctuation that stands alone
_NEVER = 10**12  # larger than any relative time in seconds: Babel then keeps to the unit that it is given


def chinese_number(number: int) -> str:
    """A number from 0 to 99 in Chinese characters: 12 is 十二, 40 is 四十, 99 is 九十九."""
    tens, ones = divmod(number, 10)
    if not tens:
        return _DIGITS[ones]
    return ("" if tens == 1 else _DIGITS[tens]) + "十" + (_DIGITS[ones] if ones else "")


class Renderer:
    """Renders structures in one language."""

    def __init__(self, language: str):
        if language not in PHRASES:
            raise InputError(f"the phrasebook has no language {language!r}; it has {', '.join(SUPPORTED)}")
        try:
            import babel
            import num2words
        except ImportError as error:
            raise InputError(f"the phrasebook needs Babel and num2words: {error}") from None
        self.language = language
        self._locale = babel.Locale.parse(language)
        self._num2words = num2words.num2words
        self._render_value = functools.lru_cache(maxsize=200_000)(self._value)
        wide = is_unspaced(language)
        self._colon = "：" if wide else " : " if language == "fr" else ": "
        self._stop, self._space = ("。", "") if wide else (".", " ")
        self._brackets = "（{}）" if wide else " ({})"

    def render(self, structure: tuple) -> str:
        """The line, NFC, single spaces, no control or direction characters."""
        return self._space.join(self._statement(*statement) for statement in structure)

    def count_words(self, line: str) -> int:
        if is_unspaced(self.language):
            return -(-len(line.replace(" ", "")) // CHARACTERS_PER_WORD)
        return len(_WORD.findall(line))

    def _statement(self, frame: str, kind: str, value, remark_kind: str = "", remark=None) -> str:
        text = PHRASES[self.language][frame] + self._colon + self._render_value(kind, value)
        if remark_kind:
            text += self._brackets.format(self._render_value(remark_kind, remark))
        return text if text.endswith(self._stop) else text + self._stop  # "2025 г." has its full stop

    def _value(self, kind: str, value) -> str:
        text = normalize(self._spelled(kind, value))
        return text.replace(" ", "") if is_unspaced(self.language) else text

    def _spelled(self, kind: str, value) -> str:
        match kind:
            case "date":
                return self._date(value)
            case "future":
                return self._relative(*value)
            case "past":
                return self._relative(-value[0], value[1])
            case "duration":
                units = ("duration-hour", "duration-minute")
                return self._list(list(map(self._unit, value, units)), "standard")
            case "money":
                return self._money(*value)
            case "length" | "mass":
                return self._unit(value[0], f"{kind}-{value[1]}")
            case "volume" | "temperature" | "speed":
                return self._unit(value, UNITS[kind])
            case "number":
                return self._number(value)
        names, style = kind.split("-")  # countries-and, languages-or
        name_of = self._locale.territories if names == "countries" else self._locale.languages
        return self._list([name_of[code] for code in value], "or" if style == "or" else "standard")

    def _unit(self, amount: int, unit: str) -> str:
        from babel.units import format_unit

        for length in ("long", "short", "narrow"):
            text = format_unit(amount, unit, length=length, locale=self._locale)
            if unit not in text:
                return text
        raise AssertionError(f"CLDR has no pattern for {unit} in {self.language}")

    def _date(self, value: str) -> str:
        from babel.dates import format_date

        return format_date(datetime.date.fromisoformat(value), "full", locale=self._locale)

    def _relative(self, amount: int, unit: str) -> str:
        from babel.dates import TIMEDELTA_UNITS, format_timedelta

        seconds = amount * dict(TIMEDELTA_UNITS)[unit]
        return format_timedelta(
            datetime.timedelta(seconds=seconds),
            granularity=unit,
            threshold=_NEVER,
            add_direction=True,
            locale=self._locale,
        )

    def _money(self, amount: int, currency: str) -> str:
        from babel.numbers import format_currency

        return format_currency(
            amount, currency, format_type="name", currency_digits=False, locale=self._locale
        )

    def _number(self, value: int) -> str:
        if self.language == "zh":
            return chinese_number(value)
        text = self._num2words(value, lang=_NUM2WORDS_NAMES.get(self.language, self.language))
        return text.replace("'", "ʼ") if self.language == "uk" else text  # the letter, as CLDR writes it

    def _list(self, items: list[str], style: str) -> str:
        from babel.lists import format_list

        return format_list(items, style=style, locale=self._locale)
