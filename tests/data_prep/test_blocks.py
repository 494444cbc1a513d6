"""Streams of blocks and worker processes."""

import gzip
import os
import signal

import pytest

from command_line.errors import InputError
from data_prep import blocks
from data_prep.blocks import Workers, read_blocks


def square(number):
    return number * number


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def complain(number):
    raise InputError(f"line {number}")


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


@pytest.mark.parametrize("count", [1, 3])
def test_workers_keep_the_order(count):
    with Workers(count) as workers:
        assert list(workers.map(square, range(200))) == [number * number for number in range(200)]
        assert list(workers.map(square, [])) == []


def test_workers_take_no_more_items_than_they_need():
    taken = []

    def items():
        for number in range(1000):
            taken.append(number)
            yield number

    with Workers(2) as workers:
        results = workers.map(square, items())
        next(results)
        assert len(taken) <= 10
        results.close()


def test_a_killed_worker_is_an_error():
    with Workers(2) as workers, pytest.raises(InputError, match="worker process was killed"):
        list(workers.map(die, range(3)))


def test_errors_of_workers_arrive_as_they_are():
    with Workers(2) as workers, pytest.raises(InputError, match=r"^line 0$"):
        list(workers.map(complain, range(3)))


def test_no_workers():
    with pytest.raises(InputError, match="--workers: 0"):
        Workers(0)
