"""Streams of xz, one after the other, whole or not."""

import lzma

import pytest

from command_line.errors import InputError
from command_line.frames import open_xz
from command_line.lines import count_lines, read_lines

FIRST, SECOND = (b"".join(b"%s %d\n" % (name, number) for number in range(50_000)) for name in (b"a", b"b"))
SECOND_STREAM = lzma.compress(SECOND)


def write(path, *parts: bytes):
    path.write_bytes(b"".join(parts))
    return path


@pytest.mark.parametrize("padding", [0, 4, 1 << 17])
def test_streams_one_after_the_other_with_padding(tmp_path, padding):
    zeros = bytes(padding)
    path = write(tmp_path / "a.xz", lzma.compress(FIRST), zeros, SECOND_STREAM, zeros)
    with open_xz(path) as stream:
        assert stream.read() == FIRST + SECOND
    assert count_lines(path) == 100_000
    assert list(read_lines(path))[::60_000] == ["a 0", "b 10000"]


def test_a_stream_of_nothing(tmp_path):
    assert count_lines(write(tmp_path / "a.xz", lzma.compress(b""))) == 0


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]


@pytest.mark.parametrize(
    "end",
    [
        b"garbage",
        bytes(3),
        bytes(5) + SECOND_STREAM,
        flipped(SECOND_STREAM, 2),
        flipped(SECOND_STREAM, 40),
        SECOND_STREAM[:-9],
    ],
    ids=["garbage", "odd padding", "odd padding between", "header", "block", "cut"],
)
def test_what_follows_a_stream_is_damaged(tmp_path, end):
    path = write(tmp_path / "a.xz", lzma.compress(FIRST), end)
    with pytest.raises(InputError, match=r"a\.xz:\d+: cannot read on: .*; damaged, copy it again"):
        list(read_lines(path))
    with pytest.raises(InputError, match="cannot read on"):
        count_lines(path)


def test_an_empty_file_is_no_stream(tmp_path):
    with pytest.raises(InputError, match=r"a\.xz:1: cannot read on: Compressed file ended before"):
        list(read_lines(write(tmp_path / "a.xz")))
