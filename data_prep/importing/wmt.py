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
from data_prep.importing.xml_elements import children, read_elements, text_of

SIDES = ("src", "ref")  # `hyp`, the output of a system, is left out


def sgm_segments(path: Path) -> Iterator[tuple[str, str]]:
    """Text and document of every segment of an SGM file."""
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
        self._parts: list[str] = []  # of the segment

    def handle_starttag(self, tag, attrs):
        if tag == "doc":
            self._document = dict(attrs).get("docid") or ""
        elif tag == "seg":
            self._parts = []

    def handle_endtag(self, tag):
        if tag == "seg":
            self.rows.append((" ".join("".join(self._parts).split()), self._document))

    def handle_data(self, data):
        self._parts.append(data)


def open_wmt_xml(path: Path, choice: Choice) -> Table:
    """Of several references the first one."""
    first = next(_segments(path), None)
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


def _segments(path: Path) -> Iterator[tuple[dict[str, str], str]]:
    """Code -> text of every segment, and its document."""
    for document in read_elements(path, "doc"):
        sides: dict[str, dict[str, str]] = {}  # code -> id of a segment -> text
        for side in children(document, *SIDES):
            segments = side.iterdescendants("{*}seg")
            texts = {segment.get("id", ""): text_of(segment) for segment in segments}
            sides.setdefault(side.get("lang", ""), texts)  # of another reference nothing is taken
        for place in dict.fromkeys(chain.from_iterable(sides.values())):
            yield {code: side[place] for code, side in sides.items() if place in side}, document.get("id", "")


def _rows(path: Path, codes: list[str]) -> Iterator[list[Row]]:
    return in_blocks((*(texts.get(code) for code in codes), name) for texts, name in _segments(path))
