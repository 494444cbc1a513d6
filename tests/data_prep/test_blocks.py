"""Streams of blocks."""

import gzip
import os

import pytest

from command_line.errors import InputError
from data_prep import blocks
from data_prep.blocks import read_blocks


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_blocks_are_the_file(tmp_path, monkeypatch, size):
    monkeypatch.setattr(blocks, "LINES_PER_BLOCK", size)
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\x0bsame\n\nf\xc3\xbcnf\xe2\x80\xa8same\nno line end")
    found = list(read_blocks(path))
    assert [line for block in found for line in block.decode()] == [
        "one",
        "two\x0bsame",
        "",
        "fünf\u2028same",
        "no line end",
    ]
    assert [block.first_line for block in found] == list(range(1, 6, size))


def test_gzip(tmp_path):
    with gzip.open(tmp_path / "text.gz", "wb") as stream:
        stream.write(b"a\nb\n")
    (block,) = read_blocks(tmp_path / "text.gz")
    assert block.decode() == ["a", "b"]


@pytest.mark.parametrize("size", [2, 100])
def test_latin_1_is_named_with_its_line(tmp_path, monkeypatch, size):
    monkeypatch.setattr(blocks, "LINES_PER_BLOCK", size)
    (tmp_path / "text").write_bytes(b"a\nb\nc\nd\xe9\ne\n")
    with pytest.raises(InputError, match=r"text:4: byte 0xe9 is not UTF-8"):
        [block.decode() for block in read_blocks(tmp_path / "text")]


@pytest.mark.parametrize("size", [2, 100])
def test_unequal_files_are_named(tmp_path, monkeypatch, size):
    monkeypatch.setattr(blocks, "LINES_PER_BLOCK", size)
    (tmp_path / "long").write_text("a\nb\nc\nd\ne\n")
    (tmp_path / "short").write_text("a\nb\nc\n")
    with pytest.raises(InputError, match=r"short: ends after 3 lines but .*long goes on"):
        list(read_blocks(tmp_path / "long", tmp_path / "short"))


def test_empty_missing_and_truncated_files(tmp_path):
    (tmp_path / "empty").write_text("")
    with pytest.raises(InputError, match="empty: is empty"):
        list(read_blocks(tmp_path / "empty"))
    with pytest.raises(InputError, match="nowhere: no such file"):
        list(read_blocks(tmp_path / "nowhere"))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(os.urandom(5000).hex().encode())[:-2000])
    with pytest.raises(InputError, match=r"cut.gz:1: cannot read on"):
        list(read_blocks(tmp_path / "cut.gz"))
