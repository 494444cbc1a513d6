"""XML as a stream of events, for readers that keep a row at a time.

Entities of a document are not expanded and nothing is loaded from elsewhere: a file that declares entities is
refused, and a document type is passed over.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol
from xml.parsers import expat

from command_line.errors import InputError, at
from command_line.lines import BROKEN, broken, open_binary
from data_prep.importing.tables import Row

_CHUNK = 1 << 16  # bytes at a time


class RowHandler(Protocol):
    """Makes rows of the events of a document.

    Attributes:
        rows: what has been read and not been taken.
    """

    rows: list[Row]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins; its name has no namespace."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, text: str) -> None:
        """Some text, a part of what an element holds."""


def read_xml(path: Path, handler: RowHandler) -> Iterator[list[Row]]:
    """Yield the rows that a handler makes, some at a time.

    Raises:
        InputError: the file is missing, broken, not well-formed, or declares entities; names file and line.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: handler.start(_local(name), attributes)
    parser.EndElementHandler = lambda name: handler.end(_local(name))
    parser.CharacterDataHandler = handler.text
    parser.EntityDeclHandler = lambda name, *_: _refuse_entity(path, parser, name)
    with closing(open_binary(path)) as stream:
        for chunk in _chunks(path, stream):
            try:
                parser.Parse(chunk, not chunk)
            except expat.ExpatError as error:
                reason = expat.ErrorString(error.code)
                raise InputError(f"{at(path, error.lineno)}: not well-formed XML: {reason}") from None
            if rows := handler.rows:
                handler.rows = []
                yield rows


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _chunks(path: Path, stream) -> Iterator[bytes]:
    """The file, and an empty chunk at its end."""
    while True:
        try:
            chunk = stream.read(_CHUNK)
        except BROKEN as error:
            raise broken(path, 1, error) from None
        yield chunk
        if not chunk:
            return


def _refuse_entity(path: Path, parser, name: str) -> None:
    line = at(path, parser.CurrentLineNumber)
    raise InputError(f"{line}: declares the entity {name!r}; write its text in place of it")


class TextOfElement:
    """Collects the text of an element, without that of elements in it which hold markup.

    Args:
        left_out: names of these elements.
    """

    def __init__(self, left_out: frozenset[str] = frozenset()):
        self._left_out = left_out
        self._parts: list[str] | None = None
        self._inside = 0  # elements left out that are open

    def open(self) -> None:
        self._parts, self._inside = [], 0

    def start(self, name: str) -> None:
        if self._parts is not None and name in self._left_out:
            self._inside += 1

    def end(self, name: str) -> None:
        if self._parts is not None and name in self._left_out:
            self._inside -= 1

    def text(self, text: str) -> None:
        if self._parts is not None and not self._inside:
            self._parts.append(text)

    def close(self) -> str:
        """The text, in which line ends and indentation of the document are single spaces."""
        text, self._parts = "".join(self._parts or ()), None
        return " ".join(text.split())
