"""What every reader of the step `import` gives: a table of text, a language per column."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from command_line.errors import InputError
from data_prep.blocks import LINES_PER_BLOCK, Block
from data_prep.formats.texts import LANGUAGE_CODE
from data_prep.languages import find_language, primary_subtag

DOCUMENT = "document"  # in place of a language: the column of the document's name
# Names of columns that are also codes of languages: `id` of Indonesian, `src` of Logudorese.
_OTHER_COLUMNS = {
    "doc",
    "id",
    "idx",
    "key",
    "num",
    "ref",
    "set",
    "sid",
    "src",
    "tag",
    "tgt",
    "trg",
    "uid",
    "url",
}
_LINE_ENDS = re.compile(r"[\r\n]+")

Row = tuple[str | None, ...]
Columns = Sequence[Sequence[str | None]]
T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """Line-parallel text.

    Attributes:
        blocks: reads the text anew at every call, in blocks that can travel to another process.
        columns: function from a block to its columns: the texts of each language, None where there is no
            translation, and last, if there are documents, the name of every row's document.
        has_documents: whether the last column is that name.
        source: what is said of the table in messages, for instance "train.tsv: column 1 is de, 2 is en".
    """

    languages: tuple[str, ...]
    blocks: Callable[[], Iterator]
    columns: Callable[[Any], Columns]
    has_documents: bool
    source: str


@dataclass(frozen=True)
class Choice:
    """What the user says of the columns, and what the name of a file does.

    Attributes:
        columns: language, or `DOCUMENT`, -> number or name of its column; empty where the user says nothing.
        languages: in the order of the columns, from `--langs` or the name of the file; empty if unknown.
    """

    columns: Mapping[str, str]
    languages: tuple[str, ...]


def columns_of(rows: list[Row]) -> Columns:
    return list(zip(*rows, strict=True))


def in_blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows that come one by one, in blocks."""
    rows = iter(rows)
    while block := list(islice(rows, LINES_PER_BLOCK)):
        yield block


def one_line(text: str) -> str:
    """Text whose line ends are text, as in JSON."""
    return _LINE_ENDS.sub(" ", text) if "\n" in text or "\r" in text else text


def lines_of(block: Block, side: int = 0) -> list[str]:
    """The lines of a block, in which a carriage return that ends no line is a space."""
    return block.text(side, nul=True).replace("\r", " ").split("\n")[:-1]


def language_of(code: str) -> str | None:
    """The project's spelling of a code, `en_US` of `en-US`; None if it is no language code."""
    spelled = code.strip().replace("-", "_")
    return spelled if LANGUAGE_CODE.fullmatch(spelled) else None


def is_language_name(name: str) -> bool:
    """Whether the name of a column is a language code, and no usual name of another column."""
    return name.lower() not in _OTHER_COLUMNS and bool(language_of(name) and find_language(name))


def same_code(given: str, wanted: Iterable[str]) -> str | None:
    """The wanted language that a file's code means: itself, or the only one of its first part."""
    spelled = language_of(given)
    if spelled is None:
        return None
    wanted = list(wanted)
    if spelled in wanted:
        return spelled
    alike = [code for code in wanted if primary_subtag(code) == primary_subtag(spelled)]
    return alike[0] if len(alike) == 1 else None


def in_order(columns: Mapping[str, T]) -> tuple[tuple[str, ...], list[T]]:
    """The languages, and their columns in that order, behind which is that of the document, if there is one.

    Args:
        columns: language, or `DOCUMENT`, -> its column.
    """
    keys = sorted(columns, key=DOCUMENT.__eq__)
    return tuple(key for key in keys if key != DOCUMENT), [columns[key] for key in keys]


def columns_by_name(path: Path, names: Iterable[str], choice: Choice) -> dict[str, str]:
    """Language, or `DOCUMENT`, -> name of its column, of a file whose columns have names."""
    names = list(names)
    if choice.columns:
        if missing := [name for name in choice.columns.values() if name not in names]:
            raise InputError(f"{path}: no column {missing[0]!r}; it has {', '.join(names)}")
        return dict(choice.columns)
    columns: dict[str, str] = {}
    for name in names:
        code = name.removeprefix("translation.")
        if choice.languages:
            language = same_code(code, choice.languages)
        else:
            language = language_of(code) if is_language_name(code) else None
        if language or name == DOCUMENT:
            columns.setdefault(language or DOCUMENT, name)
    if not columns.keys() - {DOCUMENT}:
        raise InputError(
            f"{path}: which of the columns {', '.join(names)} are text, in which language? Say it as in"
            f" --columns de={names[0]}"
        )
    return columns
