"""XLIFF 1.2 (`trans-unit` in `file`) and 2 (`segment` in `unit`): a source and its target.

The document of a row is the `original` of its file, or the `id`.
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from command_line.errors import InputError
from data_prep.importing.tables import Choice, Row, Table, columns_of, in_blocks, language_of, same_code
from data_prep.importing.xml_events import TextOfElement, read_xml

MARKUP = frozenset(("bpt", "ept", "ph", "it"))  # what they hold is native code
UNITS = ("trans-unit", "segment")
SOURCE, TARGET, SEGMENTED = "source", "target", "seg-source"


def open_xliff(path: Path, choice: Choice) -> Table:
    first = next(chain.from_iterable(read_xml(path, _Units())), None)
    if first is None:
        raise InputError(f"{path}: no trans-unit and no segment; expected XLIFF")
    given = [choice.columns[language] for language in choice.columns] or list(filter(None, first[:2]))
    languages = tuple(choice.columns) or tuple(
        same_code(code, choice.languages) if choice.languages else language_of(code) for code in given
    )
    if len(set(languages) - {None}) != 2:
        raise InputError(
            f"{path}: from {first[0]!r} into {first[1]!r}; say both languages as the file has them, as in"
            " --columns de=de-DE en=en-GB"
        )
    codes = tuple(given)
    source = f"{path}: XLIFF, {codes[0]} is {languages[0]}, {codes[1]} is {languages[1]}"
    return Table(languages, partial(_rows, path, codes), columns_of, True, source)


class _Units:
    """Makes rows: code of the source, of the target, source, target, document."""

    def __init__(self):
        self.rows: list[tuple] = []
        self._text = TextOfElement(MARKUP)
        self._codes: list[str | None] = [None, None]
        self._document = ""
        self._sides: dict[str, str] = {}
        self._alternatives = 0  # `alt-trans` that are open: what they hold is no translation of the unit

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "xliff":
            self._codes = [attributes.get("srcLang"), attributes.get("trgLang")]
        elif name == "file":
            self._document = attributes.get("original") or attributes.get("id") or ""
            source, target = self._codes
            self._codes = [
                attributes.get("source-language") or source,
                attributes.get("target-language") or target,
            ]
        elif name in UNITS:
            self._sides = {}
        elif name == "alt-trans":
            self._alternatives += 1
        elif name in (SOURCE, TARGET):
            self._text.open()
        else:
            self._text.start(name)

    def end(self, name: str) -> None:
        if name == "alt-trans":
            self._alternatives -= 1
        elif name in (SOURCE, TARGET):
            text = self._text.close()
            if not self._alternatives:
                self._sides[name] = text
        elif name in UNITS:
            sides = (self._sides.get(SOURCE), self._sides.get(TARGET))
            self.rows.append((*self._codes, *sides, self._document))
        else:
            self._text.end(name)

    def text(self, text: str) -> None:
        self._text.text(text)


def _rows(path: Path, codes: tuple[str, ...]) -> Iterator[list[Row]]:
    """Rows of the two languages; those of files in others have no text."""
    units = chain.from_iterable(read_xml(path, _Units()))
    return in_blocks(_row(unit, codes) for unit in units)


def _row(unit: tuple, codes: tuple[str, ...]) -> Row:
    source, target, source_text, target_text, document = unit
    texts = {target: target_text, source: source_text}
    return (*(texts.get(code) for code in codes), document)
