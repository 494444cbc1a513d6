"""Lines that are looked up in their file, against lists of all lines."""

import gzip

import numpy as np
import pytest

from command_line.errors import InputError
from command_line.lines import read_lines
from embeddings.search import texts
from embeddings.search.texts import (
    LazyLines,
    distinct_lines,
    first_of_equal_pairs,
    identities_of,
    lines_at,
    open_lines,
    rows_of,
    some_lines,
)

LINES = ["a b", "", "ä 漢字 c", "a b", "x\u2028y", " ", "", "last"]


@pytest.fixture(params=["plain", "windows", "mark", "no-end"])
def path(request, tmp_path):
    path = tmp_path / "text.en"
    end = "\r\n" if request.param == "windows" else "\n"
    content = "".join(f"{line}{end}" for line in LINES)
    if request.param == "no-end":
        content = content.removesuffix("\n")
    path.write_bytes((b"\xef\xbb\xbf" if request.param == "mark" else b"") + content.encode())
    return path


def test_lines_and_some_of_them(path):
    lines = LazyLines.open(path)
    assert list(lines) == [lines[place] for place in range(len(lines))] == list(read_lines(path)) == LINES
    some = lines.only(np.array([0, 2, 3, 7])).only(np.array([1, 3]))
    assert (len(some), list(some), some[1]) == (2, [LINES[2], LINES[7]], LINES[7])
    assert rows_of(some).tolist() == [2, 7] and rows_of(LINES[:2]).tolist() == [0, 1]


def test_equal_lines_are_those_of_a_list(path):
    for identity, other in zip(identities_of(LazyLines.open(path)), identities_of(LINES), strict=True):
        assert (identities_of(LazyLines.open(path)) == identity).tolist() == (
            identities_of(LINES) == other
        ).tolist()


@pytest.mark.parametrize("most", [0, 1_000])
def test_large_texts_and_small_ones_have_the_same_lines(path, monkeypatch, most):
    monkeypatch.setattr(texts, "MOST_IN_MEMORY", most)
    lines = open_lines(path)
    assert isinstance(lines, LazyLines) == (most == 0)
    assert list(lines_at(lines, np.array([7, 2, 2]))) == [LINES[7], LINES[2], LINES[2]]
    first, places = distinct_lines(lines)
    assert list(some_lines(lines, first)) == list(dict.fromkeys(LINES))
    assert list(lines_at(lines, first[places])) == LINES


def test_a_compressed_text_is_read_however_large(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "MOST_IN_MEMORY", 0)
    with gzip.open(tmp_path / "text.en.gz", "wt", encoding="utf-8", newline="\n") as stream:
        stream.write("".join(f"{line}\n" for line in LINES))
    assert open_lines(tmp_path / "text.en.gz") == LINES


def test_the_first_of_equal_pairs_stays(tmp_path):
    sides = [["a", "b", "a", "a", "b"], ["x", "y", "z", "x", "y"]]
    for name, lines in zip(("one", "two"), sides, strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    places = first_of_equal_pairs(*(LazyLines.open(tmp_path / name) for name in ("one", "two")))
    assert places.tolist() == [0, 1, 2]


@pytest.mark.parametrize("most", [0, 1_000])
def test_a_nul_is_no_text_however_large_the_file_is(tmp_path, monkeypatch, most):
    monkeypatch.setattr(texts, "MOST_IN_MEMORY", most)
    (tmp_path / "text.en").write_bytes(b"one\ntw\0o\n")
    with pytest.raises(InputError, match=r"text\.en:2: a NUL byte"):
        open_lines(tmp_path / "text.en")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.en.gz", b"", "lines of a compressed file cannot be looked up; decompress it"),
        ("text.en", b"", "is empty, expected a sentence per line"),
        ("text.en", b"a\n\xff\n", "text.en:2: byte 0xff is not UTF-8"),
        ("none", None, "none: no such file"),
    ],
)
def test_files_that_are_none(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        LazyLines.open(tmp_path / name)
