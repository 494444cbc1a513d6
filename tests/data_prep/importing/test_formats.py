"""Every format gives the rows that were written in it, and says in one line what is wrong with a file."""

import json
from html import escape

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from command_line.errors import InputError
from data_prep.importing.formats import find_sources

ROWS = [
    ("Guten Morgen.", "Good morning."),
    ('Er sagte "Hallo", & ging <fort>.', 'He said "hello", & went <away>.'),
    ("Straße 3 ‐ 5 €", "naïve\u2028line"),
    ("", "Nothing."),
]


def write(path, text: str):
    path.write_text(text, encoding="utf-8", newline="")
    return path


def rows_of_table(table) -> list[tuple]:
    return [row for block in table.blocks() for row in zip(*table.columns(block), strict=True)]


def rows_of(path, langs=(), columns=None, name=None) -> dict:
    """Languages and rows of the only table of a file or folder."""
    (source,) = find_sources([path], name, tuple(langs), columns or {})
    return source.table.languages, rows_of_table(source.table)


def tmx(rows) -> str:
    units = "".join(
        f'<tu tuid="{number}">\n  <tuv xml:lang="de-DE"><seg>{escape(de)}</seg></tuv>'
        f'<tuv xml:lang="en"><prop>x</prop><seg>{escape(en)}</seg></tuv></tu>'
        for number, (de, en) in enumerate(rows)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
        f'<tmx version="1.4"><header srclang="de"/><body>{units}</body></tmx>'
    )


def xliff(rows) -> str:
    units = "".join(
        f"<trans-unit id='{number}'><source>{escape(de)}</source><target>{escape(en)}</target>"
        "<alt-trans><source>alt</source><target>alt</target></alt-trans></trans-unit>"
        for number, (de, en) in enumerate(rows)
    )
    return (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        '<file source-language="de-DE" target-language="en" original="a.po">'
        f"<body>{units}</body></file></xliff>"
    )


def xliff_2(rows) -> str:
    units = "".join(
        f"<unit id='{number}'><segment><source>{escape(de)}</source>"
        f"<target>{escape(en)}</target></segment></unit>"
        for number, (de, en) in enumerate(rows)
    )
    return f'<xliff version="2.0" srcLang="de-DE" trgLang="en"><file id="a.po">{units}</file></xliff>'


def wmt_xml(rows) -> str:
    def side(place):
        return "".join(f"<seg id='{n}'>{escape(row[place])}</seg>" for n, row in enumerate(rows, start=1))

    return (
        f'<dataset id="x"><doc origlang="de" id="a.po"><src lang="de"><p>{side(0)}</p></src>'
        f'<ref lang="en" translator="A"><p>{side(1)}</p></ref><ref lang="en" translator="B"><p>'
        '<seg id="1">another</seg></p></ref><hyp system="s"><p><seg id="1">machine</seg></p></hyp></doc>'
        "</dataset>"
    )


TEXTS = {
    "a.de-en.tsv": "".join(f"{de}\t{en}\n" for de, en in ROWS),
    "a.tsv": "de\ten\n" + "".join(f"{de}\t{en}\r\n" for de, en in ROWS),
    "a.csv": "de,en\n" + "".join('"{}","{}"\n'.format(*(x.replace('"', '""') for x in row)) for row in ROWS),
    "a.jsonl": "".join(json.dumps({"id": 3, "de": de, "en": en}) + "\n" for de, en in ROWS),
    "b.jsonl": "".join(json.dumps({"translation": {"de": de, "en": en}}) + "\n\n" for de, en in ROWS),
}


@pytest.mark.parametrize("name", TEXTS)
def test_lines(tmp_path, name):
    assert rows_of(write(tmp_path / name, TEXTS[name])) == (("de", "en"), ROWS)


@pytest.mark.parametrize("is_nested", [False, True])
def test_parquet(tmp_path, is_nested):
    rows = [{"id": "x", "de": de, "en": en} for de, en in ROWS]
    table = pyarrow.Table.from_pylist([{"translation": row} for row in rows] if is_nested else rows)
    parquet.write_table(table, tmp_path / "a.parquet")
    assert rows_of(tmp_path / "a.parquet") == (("de", "en"), ROWS)


XML = {"a.tmx": (tmx, False), "a.xlf": (xliff, True), "b.xliff": (xliff_2, True), "a.xml": (wmt_xml, True)}


@pytest.mark.parametrize("name", XML)
def test_xml(tmp_path, name):
    """Line ends and separators of XML are spaces."""
    content, has_documents = XML[name]
    documents = ("a.po",) if has_documents else ()
    expected = [(de, " ".join(en.split()), *documents) for de, en in ROWS]
    languages, rows = rows_of(write(tmp_path / name, content(ROWS)), ["de", "en"])
    assert (languages, rows) == (("de", "en"), expected)


def test_xml_with_a_comment_and_a_style_before_its_root(tmp_path):
    content = tmx(ROWS).replace("<!DOCTYPE", "<?xml-stylesheet href='a'?><!-- b --><!DOCTYPE")
    assert rows_of(write(tmp_path / "a.tmx", content)) == rows_of(write(tmp_path / "b.tmx", tmx(ROWS)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tmx", "<tmx><tu><tuv lang='de'><seg>Der <bpt>&lt;b></bpt><hi>Zug</hi><ph/>.</seg></tuv></tu>"
         "</tmx>"),
        ("a.xlf", "<xliff><file source-language='de' target-language='en'><trans-unit>"
            "<source>Der <g>Zug</g>"
         "<ph>\\n</ph><x id='2'/>.</source></trans-unit></file></xliff>"),
    ],
)  # fmt: skip
def test_markup_within_text_goes_and_its_text_stays(tmp_path, name, content):
    languages, ((text, *_),) = rows_of(write(tmp_path / name, content))
    assert languages[0] == "de" and text == "Der Zug."


def test_a_translation_that_is_not_there(tmp_path):
    write(tmp_path / "a.jsonl", '{"de": "a", "en": "b"}\n{"de": "c"}\n{"de": null, "en": "d"}\n')
    assert rows_of(tmp_path / "a.jsonl")[1] == [("a", "b"), ("c", None), (None, "d")]
    units = (
        f'<tu><tuv xml:lang="{code}"><seg>{text}</seg></tuv></tu>'
        for code, text in (("de", "a"), ("en", "b"))
    )
    content = f"<tmx>{''.join(units)}</tmx>"
    assert rows_of(write(tmp_path / "b.tmx", content))[1] == [("a", None), (None, "b")]


SGM = (
    '<refset setid="x" srclang="any" trglang="en">\n<DOC docid="d1" origlang="de">\n<seg id="1">'
    "A & B &lt;c&gt;</seg>\n"
    '</DOC>\n<doc docid="d2">\n<p><seg id="1"> two\n lines </seg></p></doc></refset>\n'
)


def test_sgm_is_read_as_html(tmp_path):
    write(tmp_path / "newstest2014-deen-src.de.sgm", SGM.replace("A & B", "X"))
    write(tmp_path / "newstest2014-deen-ref.en.sgm", SGM)
    (source,) = find_sources([tmp_path], None, (), {})
    rows = rows_of_table(source.table)
    assert (source.split, source.table.languages) == ("test", ("en", "de"))
    assert rows == [("A & B <c>", "X <c>", "d1"), ("two lines", "two lines", "d2")]


@pytest.mark.parametrize("open_file", [zstandard.open], ids=["zst"])
def test_compressed_tables(tmp_path, open_file):
    for name in ("a.tmx", "a.de-en.tsv"):
        content = tmx(ROWS) if name == "a.tmx" else TEXTS[name]
        with open_file(tmp_path / f"{name}.zst", "wb") as stream:
            stream.write(content.encode())
        assert [row[0] for row in rows_of(tmp_path / f"{name}.zst", ["de", "en"])[1]] == [
            de for de, _ in ROWS
        ]


def test_columns_that_are_named(tmp_path):
    path = write(tmp_path / "a.tsv", "x\t1\tund\tand\n")
    assert rows_of(path, columns={"de": "3", "en": "4", "document": "1"}) == (
        ("de", "en"),
        [("und", "and", "x")],
    )
    path = write(tmp_path / "b.tsv", "src\ttgt\nund\tand\n")
    assert rows_of(path, columns={"en": "tgt", "de": "src"}) == (("en", "de"), [("and", "und")])
    path = write(tmp_path / "a.jsonl", '{"text": {"from": "und"}, "to": "and"}\n')
    assert rows_of(path, columns={"de": "text.from", "en": "to"}) == (("de", "en"), [("und", "and")])
    content = tmx(ROWS)
    assert rows_of(write(tmp_path / "a.tmx", content), columns={"xx": "de-DE"}) == (
        ("xx",),
        [(de,) for de, _ in ROWS],
    )


BAD = {
    "a.tsv": [
        ("a\tb\n", "a.tsv:1: 2 fields, but languages are not named; say which column is which"),
        ("de\ten\na\tb\na\tb\tc\n", "a.tsv:3: 3 fields, expected 2"),
        ("de\ten\na\n", "a.tsv:2: 1 fields, expected 2"),
        ("", "a.tsv: is empty"),
    ],
    "a.csv": [('de,en\n"a"b,c\n', "a.csv:2: not CSV")],
    "a.jsonl": [
        ("[1]\n", "a.jsonl:1: list, expected a JSON object"),
        ('{"de": "a", "en": "b"}\n{"de": 1.5, "en": "b"}\n', "a.jsonl:2: de is 1.5, expected text"),
        ('{"de": "a", "en": "b"}\n{"de"\n', "a.jsonl:2: not JSON"),
        ('{"de": "a", "en": "b"}\n{"de": "\\ud800", "en": "b"}\n', "a.jsonl:2: de has half a character"),
        ('{"src": "a", "tgt": "b"}\n', "a.jsonl: which of the columns src, tgt are text"),
        ("[" * 100_000 + "\n", "a.jsonl:1: not JSON"),
    ],
    "a.tmx": [
        ("<tmx><tu>\n<tuv xml:lang='de'></tmx>", "a.tmx:2: not well-formed XML: Opening and ending tag"),
        ("<tmx/>", "a.tmx: no translation unit with a language"),
        ('<!DOCTYPE t[\n<!ENTITY a "aaaa"><!ENTITY b "&a;">]><tmx>&b;</tmx>', "a.tmx:2: declares the"),
        ('<!DOCTYPE t[<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx/>', "a.tmx:1: declares the"),
    ],
    "a.xlf": [
        ("<xliff/>", "a.xlf: no trans-unit and no segment"),
        ("<xliff><file><trans-unit/></file></xliff>", "a.xlf: from None into None; say both languages"),
    ],
    "a.xml": [
        ("<dataset><doc/></dataset>", "a.xml: no <seg> in a <doc>"),
        ("", "a.xml:1: not well-formed XML: is empty"),
    ],
    "a.parquet": [("text", "a.parquet: not Parquet")],
    "test-src.de.sgm": [("text", "test-src.de.sgm: no <seg>")],
    "notes": [("text", "its name says no language; give all files of a text")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "message"), [(name, *bad) for name, each in BAD.items() for bad in each]
)
def test_bad_files(tmp_path, name, content, message):
    with pytest.raises(InputError) as error:
        rows_of(write(tmp_path / name, content))
    assert message in str(error.value) and "\n" not in str(error.value)
