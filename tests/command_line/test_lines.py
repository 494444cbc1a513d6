import gzip
import io
import lzma

import pytest
import zstandard

from command_line.errors import InputError
from command_line.lines import (
    count_lines,
    find_text,
    read_lines,
    read_parallel,
    read_stream,
    uncompressed_name,
)
from data_prep.blocks import read_blocks


def open_zstd_with_checksum(path, mode: str):
    """As the program zstd writes files."""
    return zstandard.open(path, mode, cctx=zstandard.ZstdCompressor(write_checksum=True))


def write(path, data: bytes):
    opener = {".gz": gzip.open, ".xz": lzma.open, ".zst": open_zstd_with_checksum}.get(path.suffix, open)
    with opener(path, "wb") as stream:
        stream.write(data)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz", "a.txt.zst"])
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


def test_an_open_stream_is_read_as_a_file_line_by_line(tmp_path):
    given = "\ufeffa\u2028b\n\ufeffc\r\n\nd".encode()
    path = write(tmp_path / "a.txt", given)
    assert (
        list(read_stream(io.BytesIO(given), "it"))
        == list(read_lines(path))
        == ["a\u2028b", "\ufeffc", "", "d"]
    )
    ready = iter([b"first\n", b"\xff\n"])  # nothing is read ahead
    lines = read_stream(ready, "it")
    assert next(lines) == "first" and next(ready) == b"\xff\n"
    with pytest.raises(InputError, match="it:2: byte 0xe9 is not UTF-8"):
        list(read_stream([b"a\n", b"\xe9\n"], "it"))


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


DAMAGES = {
    "zeros in the middle": lambda content: content[:40] + bytes(20) + content[60:],
    "cut off": lambda content: content[:-9],
    "garbage behind it": lambda content: content + b"text\n",
}


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_reader_names_a_damaged_file_in_one_line(tmp_path, suffix, damage):
    path = tmp_path / f"a{suffix}"
    write(path, "".join(f"line {n * 7919 % 1000}\n" for n in range(1000)).encode())
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    for read in (count_lines, lambda path: list(read_lines(path)), lambda path: list(read_blocks(path))):
        with pytest.raises(
            InputError, match=rf"^{path}:\d+: cannot read on: .*damaged, copy it again$"
        ) as error:
            read(path)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_text_that_is_named_as_if_it_were_compressed(tmp_path, suffix):
    (tmp_path / f"a.de{suffix}").write_text("Guten Tag\n")
    for read in (count_lines, lambda path: list(read_lines(path))):
        with pytest.raises(InputError, match=rf"a\.de{suffix}: is not compressed, .* rename it to a\.de$"):
            read(tmp_path / f"a.de{suffix}")


def test_frames_of_zstd_one_after_the_other(tmp_path):
    first, second = b"one\n" * 100_000, b"two\n" * 100_000
    frames = [zstandard.compress(text) for text in (first, b"", second)]
    (tmp_path / "a.zst").write_bytes(b"".join(frames))
    assert count_lines(tmp_path / "a.zst") == 200_000
    assert list(read_lines(tmp_path / "a.zst"))[99_998:100_002] == ["one", "one", "two", "two"]


def test_the_line_where_a_damaged_file_ends_is_named(tmp_path):
    path = tmp_path / "a.gz"
    member = gzip.compress(b"one\ntwo\n")
    path.write_bytes(member + gzip.compress(b"three\n")[:12])
    with pytest.raises(InputError, match=f"^{path}:3: cannot read on"):
        list(read_lines(path))


def test_nul_bytes_are_no_text_after_cleaning(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntw\0o\n")
    (block,) = read_blocks(path)
    readers = (
        block.decode,
        lambda: list(read_lines(path)),
        lambda: list(read_stream(io.BytesIO(path.read_bytes()), str(path))),
        lambda: list(read_parallel(path, path)),
    )
    for read in readers:
        with pytest.raises(InputError, match=f"^{path}:2: a NUL byte, expected text"):
            read()
    assert block.decode(nul=True) == list(read_lines(path, nul=True)) == ["one", "tw\0o"]
    assert list(read_parallel(path, path, nul=True)) == [("one", "one"), ("tw\0o", "tw\0o")]


@pytest.mark.parametrize("stored", ["a.en", "a.en.gz", "a.en.xz"])
def test_a_text_is_found_under_its_plain_name_however_it_is_stored(tmp_path, stored):
    path = write(tmp_path / stored, b"one\n")
    assert find_text(tmp_path / "a.en") == path
    assert uncompressed_name(path) == "a.en"


def test_a_plain_text_goes_before_a_compressed_one_and_folders_are_none(tmp_path):
    assert find_text(tmp_path / "a.en") is None
    (tmp_path / "a.en").mkdir()
    compressed = write(tmp_path / "a.en.gz", b"one\n")
    assert find_text(tmp_path / "a.en") == compressed
    (tmp_path / "a.en").rmdir()
    assert find_text(tmp_path / "a.en") == compressed
    plain = write(tmp_path / "a.en", b"one\n")
    assert find_text(tmp_path / "a.en") == plain
