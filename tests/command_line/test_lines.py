import gzip
import lzma

import pytest

from command_line.errors import InputError
from command_line.lines import count_lines, read_lines, read_parallel


def write(path, data: bytes):
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wb") as stream:
        stream.write(data)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
def test_plain_and_compressed_files(tmp_path, name):
    path = write(tmp_path / name, "één\n二\n\n".encode())
    assert list(read_lines(path)) == ["één", "二", ""]
    assert count_lines(path) == 3


def test_only_newlines_end_lines(tmp_path):
    path = write(tmp_path / "a.txt", "a\u2028b\x0bc\rd\r\ne".encode())
    assert list(read_lines(path)) == ["a\u2028b\x0bc\rd", "e"]
    assert count_lines(path) == 2


def test_a_byte_order_mark_is_dropped_from_the_first_line_only(tmp_path):
    path = write(tmp_path / "a.txt", "\ufeffa\n\ufeffb\n".encode())
    assert list(read_lines(path)) == ["a", "\ufeffb"]


def test_an_empty_file_has_no_lines(tmp_path):
    path = write(tmp_path / "a.txt", b"")
    assert list(read_lines(path)) == []
    assert count_lines(path) == 0


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path):
    path = write(tmp_path / "a.txt", b"good\nbad \xe9\n")
    with pytest.raises(InputError, match=r"a\.txt:2: byte 0xe9 is not UTF-8"):
        list(read_lines(path))


def test_truncated_gzip(tmp_path):
    path = write(tmp_path / "a.txt.gz", b"line\n" * 10_000)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"a\.txt\.gz:\d+: cannot read on"):
        list(read_lines(path))


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match=r"a\.txt: no such file"):
        list(read_lines(tmp_path / "a.txt"))
    with pytest.raises(InputError, match="is a folder"):
        list(read_lines(tmp_path))


def test_parallel_files(tmp_path):
    first, second = write(tmp_path / "a", b"1\n2\n"), write(tmp_path / "b", b"x\ny\n")
    assert list(read_parallel(first, second)) == [("1", "x"), ("2", "y")]


def test_parallel_files_of_unequal_length_name_the_short_one(tmp_path):
    long, short = write(tmp_path / "long", b"1\n2\n3\n"), write(tmp_path / "short", b"x\n")
    with pytest.raises(InputError, match=r"short: ends after 1 lines but .*long goes on"):
        list(read_parallel(long, short))
