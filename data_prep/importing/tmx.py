"""TMX: translation units (`tu`) of variants (`tuv`) in several languages."""

import functools
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from command_line.errors import InputError
from data_prep.importing.tables import (
    DOCUMENT,
    Choice,
    Row,
    Table,
    columns_of,
    in_blocks,
    language_of,
    same_code,
)
from data_prep.importing.xml_elements import read_elements, text_of

MARKUP = frozenset(("bpt", "ept", "ph", "it", "ut"))  # what they hold is native code
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
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
    codes = dict.fromkeys(code for unit in islice(_units(path), UNITS_TO_LOOK_AT) for code in unit)
    languages = dict.fromkeys(filter(None, map(language_of, codes)))
    if not languages:
        raise InputError(f"{path}: no translation unit with a language; expected TMX")
    return tuple(sorted(languages))


def _units(path: Path) -> Iterator[dict[str, str]]:
    """Code as the file has it -> text, of every unit."""
    for unit in read_elements(path, "tu"):
        texts: dict[str, str] = {}
        for segment in unit.iterdescendants("{*}seg"):
            variant = segment.getparent()
            code = variant.get(LANGUAGE) or variant.get("lang") or ""
            texts.setdefault(code, text_of(segment, MARKUP))
        yield texts


def _rows(path: Path, languages: tuple[str, ...], codes: dict[str, str]) -> Iterator[list[Row]]:
    """The units as rows.

    Args:
        codes: as a file has them, in lower case, -> language; empty: they are what they mean.
    """

    @functools.cache
    def language(code: str) -> str | None:
        return codes.get(code.lower()) if codes else same_code(code, languages)

    def row(unit: dict[str, str]) -> Row:
        texts: dict[str | None, str] = {}
        for code, text in unit.items():
            texts.setdefault(language(code), text)
        return tuple(texts.get(each) for each in languages)

    return in_blocks(map(row, _units(path)))
