"""Test sets of WMT: SGM, one file per language, and the XML of later years, all languages in one.

SGM is no XML (`&` stands alone in it), so it is read as HTML. The document of a row is its `docid`, or `id`.
"""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import read_lines
from data_prep.importing.tables import Choice, Row, Table, columns_of, in_blocks, same_code
from data_prep.importing.xml_events import TextOfElement, read_xml

SIDES = ("src", "ref")  # `hyp`, the output of a system, is left out


def sgm_segments(path: Path) -> Iterator[tuple[str, str]]:
    """Text and document of every segment of an SGM file.

    Raises:
        InputError: it has none.
    """
    parser, count = _Sgm(), 0
    with closing(read_lines(path, nul=True)) as lines:
        for line in lines:
            parser.feed(f"{line}\n")
            count += len(parser.rows)
            yield from parser.rows
            parser.rows.clear()
    if not count:
        raise InputError(f"{path}: no <seg>; expected SGM of a test set")


class _Sgm(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.rows: list[tuple[str, str]] = []
        self._document = ""
        self._segment = TextOfElement()

    def handle_starttag(self, tag, attrs):
        if tag == "doc":
            self._document = dict(attrs).get("docid") or ""
        elif tag == "seg":
            self._segment.open()

    def handle_endtag(self, tag):
        if tag == "seg":
            self.rows.append((self._segment.close(), self._document))

    def handle_data(self, data):
        self._segment.text(data)


def open_wmt_xml(path: Path, choice: Choice) -> Table:
    """Of several references the first one."""
    first = next(chain.from_iterable(read_xml(path, _Documents())), None)
    if first is None:
        raise InputError(f"{path}: no <seg> in a <doc>; expected XML of a test set of WMT")
    texts, _ = first
    if choice.columns:
        codes = dict(choice.columns)
    else:
        codes = {same_code(code, choice.languages or [code]): code for code in texts}
        codes.pop(None, None)
    languages = tuple(sorted(codes))
    order = [codes[language] for language in languages]
    said = ", ".join(f"{codes[language]} is {language}" for language in languages)
    return Table(languages, partial(_rows, path, order), columns_of, True, f"{path}: {said}")


class _Documents:
    """Makes rows of every document: code -> text, and the document."""

    def __init__(self):
        self.rows: list[tuple[dict[str, str], str]] = []
        self._document, self._code = "", ""
        self._segment = TextOfElement()
        self._sides: dict[str, dict[str, str]] = {}  # code -> id of a segment -> text
        self._id: str | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "doc":
            self._document, self._sides = attributes.get("id", ""), {}
        elif name in SIDES:
            code = attributes.get("lang", "")
            self._code = "" if code in self._sides else code  # of another reference nothing is taken
            self._sides.setdefault(code, {})
        elif name == "hyp":
            self._code = ""
        elif name == "seg":
            self._id = attributes.get("id", "")
            self._segment.open()

    def end(self, name: str) -> None:
        if name == "seg":
            text = self._segment.close()
            if self._code:
                self._sides[self._code][self._id] = text
        elif name == "doc":
            places = dict.fromkeys(chain.from_iterable(self._sides.values()))
            for place in places:
                texts = {code: side[place] for code, side in self._sides.items() if place in side}
                self.rows.append((texts, self._document))

    def text(self, text: str) -> None:
        self._segment.text(text)


def _rows(path: Path, codes: list[str]) -> Iterator[list[Row]]:
    documents = chain.from_iterable(read_xml(path, _Documents()))
    return in_blocks((*(texts.get(code) for code in codes), document) for texts, document in documents)
