"""XLIFF 1.2 (`trans-unit` in `file`) and 2 (`segment` in `unit`): a source and its target.

The document of a row is the `original` of its file, or the `id`.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from command_line.errors import InputError
from data_prep.importing.tables import Choice, Row, Table, columns_of, in_blocks, language_of, same_code
from data_prep.importing.xml_elements import children, local_name, read_elements, text_of

MARKUP = frozenset(("bpt", "ept", "ph", "it"))  # what they hold is native code
UNITS = ("trans-unit", "segment")


def open_xliff(path: Path, choice: Choice) -> Table:
    first = next(_units(path), None)
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


def _units(path: Path) -> Iterator[tuple]:
    """Code of the source, of the target, source, target, document; None of what is not there."""
    for unit in read_elements(path, *UNITS):
        whole = unit.getroottree().getroot()
        file = next(unit.iterancestors("{*}file"), whole)
        source = file.get("source-language") or whole.get("srcLang")
        target = file.get("target-language") or whole.get("trgLang")
        sides = {local_name(side): text_of(side, MARKUP) for side in children(unit, "source", "target")}
        document = file.get("original") or file.get("id") or ""
        yield source, target, sides.get("source"), sides.get("target"), document


def _rows(path: Path, codes: tuple[str, ...]) -> Iterator[list[Row]]:
    """Rows of the two languages; those of files in others have no text."""
    return in_blocks(_row(unit, codes) for unit in _units(path))


def _row(unit: tuple, codes: tuple[str, ...]) -> Row:
    source, target, source_text, target_text, document = unit
    texts = {target: target_text, source: source_text}
    return (*(texts.get(code) for code in codes), document)
