"""TMX: translation units (`tu`) of variants (`tuv`) in several languages."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

from command_line.errors import InputError
from data_prep.importing.tables import DOCUMENT, Choice, Row, Table, columns_of, language_of, same_code
from data_prep.importing.xml_events import TextOfElement, read_xml

MARKUP = frozenset(("bpt", "ept", "ph", "it", "ut"))  # what they hold is native code
UNITS_TO_LOOK_AT = 1_000  # for the languages of a file whose user names none


def open_tmx(path: Path, choice: Choice) -> Table:
    """The languages are of `--columns` (`de=de-AT`), of `--langs` or the name, or of the first units."""
    if DOCUMENT in choice.columns:
        raise InputError(f"{path}: --columns {DOCUMENT}=…: TMX has no documents")
    if choice.columns:
        languages = tuple(choice.columns)
        codes = {code.lower(): language for language, code in choice.columns.items()}
    else:
        languages = choice.languages or _languages(path)
        codes = {}
    rows = partial(_rows, path, languages, codes)
    return Table(languages, rows, columns_of, False, f"{path}: TMX with {', '.join(languages)}")


def _languages(path: Path) -> tuple[str, ...]:
    finder = _Units()
    units = chain.from_iterable(read_xml(path, finder))
    codes = dict.fromkeys(code for unit in islice(units, UNITS_TO_LOOK_AT) for code in unit)
    languages = dict.fromkeys(filter(None, map(language_of, codes)))
    if not languages:
        raise InputError(f"{path}: no translation unit with a language; expected TMX")
    return tuple(sorted(languages))


class _Units:
    """Makes a unit of every `tu`: code as the file has it -> text."""

    def __init__(self):
        self.rows: list[dict[str, str]] = []
        self._segment = TextOfElement(MARKUP)
        self._unit: dict[str, str] = {}
        self._code = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._unit = {}
        elif name == "tuv":
            self._code = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif name == "seg":
            self._segment.open()
        else:
            self._segment.start(name)

    def end(self, name: str) -> None:
        if name == "seg":
            self._unit.setdefault(self._code, self._segment.close())
        elif name == "tu":
            self.rows.append(self._unit)
        else:
            self._segment.end(name)

    def text(self, text: str) -> None:
        self._segment.text(text)


def _rows(path: Path, languages: tuple[str, ...], codes: dict[str, str]) -> Iterator[list[Row]]:
    """The units as rows.

    Args:
        codes: as a file has them, in lower case, -> language; empty: they are what they mean.
    """
    language_of_codes: dict[str, str | None] = {}

    def language(code: str) -> str | None:
        if code not in language_of_codes:
            language_of_codes[code] = codes.get(code.lower()) if codes else same_code(code, languages)
        return language_of_codes[code]

    def row(unit: dict[str, str]) -> Row:
        texts: dict[str | None, str] = {}
        for code, text in unit.items():
            texts.setdefault(language(code), text)
        return tuple(texts.get(each) for each in languages)

    units: Iterable[list] = read_xml(path, _Units())
    for block in units:
        yield list(map(row, block))
