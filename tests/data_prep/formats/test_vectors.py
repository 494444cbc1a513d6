"""Files of vectors: read in blocks, written through a memory map, and refused."""

import errno
import json

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats import vectors
from data_prep.formats.vector_numbers import Numbers
from data_prep.formats.vectors import VectorsFile, create_vectors, identity_of_vectors, normalized


@pytest.fixture
def path(tmp_path):
    return tmp_path / "test.en.npy"


def test_blocks_are_copies_in_single_precision(path):
    stored = np.arange(12, dtype=np.float16).reshape(6, 2)
    np.save(path, stored)
    file = VectorsFile.open(path, width=2, lines=6)
    assert (len(file), file.width, file.record) == (6, 2, None)
    blocks = list(file.blocks(4))
    assert [start for start, _ in blocks] == [0, 4]
    assert all(block.dtype == np.float32 for _, block in blocks)
    assert (np.concatenate([block for _, block in blocks]) == stored).all()
    blocks[0][1][:] = -1  # the caller may change what it was given
    assert (file.read() == stored).all() and (np.load(path) == stored).all()


def test_some_rows_of_some_rows(path):
    stored = np.arange(12, dtype=np.float32).reshape(6, 2)
    np.save(path, stored)
    some = VectorsFile.open(path).only(np.array([4, 1, 3]))
    assert some.read().tolist() == stored[[4, 1, 3]].tolist()
    assert some.only(np.array([2, 0])).read().tolist() == stored[[3, 4]].tolist()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none(path, value):
    vectors = np.ones((5, 2), dtype=np.float32)
    vectors[3, 1] = value
    np.save(path, vectors)
    with pytest.raises(InputError, match="vector 4 has numbers that are NaN or infinite"):
        list(VectorsFile.open(path).blocks(2))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3, dtype=np.float32), r"an array of shape \(3,\) of float32, expected lines x C"),
        (np.ones((3, 2)), "of float64, expected lines x C of float16 or float32"),
        (np.ones((3, 2), dtype=np.int8), "of int8, expected"),
        (np.ones((3, 0), dtype=np.float32), r"of shape \(3, 0\)"),
        (np.array([[{}]]), "damaged, or no array of numbers"),
        (np.ones((3, 5), dtype=np.float32), "vectors of 5 numbers, expected 4; encode with one encoder"),
        (np.ones((2, 4), dtype=np.float32), "2 vectors, expected 3, one per line"),
    ],
)
def test_other_arrays(path, array, message):
    np.save(path, array)
    with pytest.raises(InputError, match=message):
        VectorsFile.open(path, width=4, lines=3)


def test_other_files(path):
    with pytest.raises(InputError, match="no such file"):
        VectorsFile.open(path)
    path.write_bytes(b"x")
    with pytest.raises(InputError, match="damaged"):
        VectorsFile.open(path)
    np.save(path, np.ones((50, 4), dtype=np.float32))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InputError, match="damaged"):
        VectorsFile.open(path)


def header(shape: str = "(3, 4)", descr: str = "'<f4'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


HEADERS = {
    "words": "hello",
    "open brackets": "(" * 3000,
    "many signs": "-" * 9000 + "1",
    "an open string": "'",
    "bytes": "\xff\x00",
    "a negative shape": header("(-3, 4)"),
    "a shape beyond 64 bits": header(f"({10**30},)"),
    "a shape of 70 dimensions": header("(" + "1," * 70 + ")"),
    "a shape of dozens of terabytes": header(f"({2**44},)"),
    "a comma for a type": header(descr="','"),
    "a type of negative shape": header(descr="('<f4', (2, -3))"),
    "objects": header(descr="'|O'"),
}


@pytest.mark.parametrize("wrong", HEADERS)
def test_headers_that_are_none(path, wrong):
    content = HEADERS[wrong].encode("latin-1")
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content + bytes(48))
    with pytest.raises(InputError, match=rf"^{path}: damaged, or no array of numbers \(") as caught:
        VectorsFile.open(path)
    assert "\n" not in str(caught.value)


def test_an_archive_of_arrays_is_no_array(path):
    with open(path, "wb") as stream:
        np.savez(stream, vectors=np.ones((3, 4), dtype=np.float32))
    with pytest.raises(InputError, match=rf"^{path}: damaged, or no array of numbers \("):
        VectorsFile.open(path)


def test_a_record_of_other_vectors(path):
    np.save(path, np.ones((3, 2), dtype=np.float32))
    record = {
        "format": 1, "kind": "vectors", "encoder": {"name": "x", "kind": "transformers", "width": 2},
        "text": {"path": "x", "sha256": "x", "lines": 4}, "width": 2, "dtype": "float32", "normalized": False,
        **identity_of_vectors(path),
    }  # fmt: skip
    path.with_name("test.en.npy.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"test\.en\.npy\.json: is of other vectors than"):
        VectorsFile.open(path)
    record["text"]["lines"] = 3
    path.with_name("test.en.npy.json").write_text(json.dumps(record))
    assert VectorsFile.open(path).record == record


def test_numbers_of_fewer_bits_need_the_record_that_says_how_they_are_read(path):
    numbers = Numbers("binary", 11)
    vectors = normalized(np.random.default_rng(1).normal(size=(5, 11)))
    create_vectors(path, 5, numbers)[:] = numbers.stored(vectors)
    with pytest.raises(
        InputError, match=r"of uint8, expected .* or beside it test\.en\.npy\.json, which says"
    ):
        VectorsFile.open(path)
    record = {
        "format": 1, "kind": "vectors", "encoder": {"name": "x", "kind": "transformers", "width": 11},
        "text": {"path": "x", "sha256": "x", "lines": 5}, "width": 11, "dtype": "binary", "normalized": True,
        **identity_of_vectors(path),
    }  # fmt: skip
    beside = path.with_name("test.en.npy.json")
    for wrong in ({"dtype": "int8"}, {"width": 17}, {"width": 0}):
        beside.write_text(json.dumps(record | wrong))
        with pytest.raises(InputError):
            VectorsFile.open(path)
    beside.write_text(json.dumps(record))
    file = VectorsFile.open(path, width=11, lines=5)
    assert file.read(1, 3) == pytest.approx(np.where(vectors[1:3] > 0, 1, -1) / 11**0.5)
    some = file.only(np.array([4, 0]))
    assert (some.as_stored() == file.stored[[4, 0]]).all() and (some.read()[1] == file.read()[0]).all()


def test_writing_is_continued_only_in_the_same_shape(path):
    create_vectors(path, 3, Numbers("float32", 2))[1] = 5
    assert create_vectors(path, 3, Numbers("float32", 2)).tolist() == [[0, 0], [5, 5], [0, 0]]
    assert not create_vectors(path, 3, Numbers("float16", 2)).any()
    create_vectors(path, 3, Numbers("float16", 2))[1] = 5
    assert not create_vectors(path, 4, Numbers("float16", 2)).any()
    path.write_bytes(path.read_bytes()[:20])
    assert create_vectors(path, 4, Numbers("float16", 2)).shape == (4, 2)


def test_lengths_of_1_leave_what_they_are_given():
    given = np.array([[3, 4], [0, 0]], dtype=np.float32)
    assert normalized(given) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))
    assert given.tolist() == [[3, 4], [0, 0]]


def test_a_file_without_its_room_gets_it_when_it_is_continued(path, monkeypatch):
    """A full disk leaves a file with holes, into which a memory map must not be written."""

    def full(path, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(vectors, "reserve", full)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            create_vectors(path, 3, Numbers("float32", 2))
        assert path.is_file()
    monkeypatch.undo()
    assert not create_vectors(path, 3, Numbers("float32", 2)).any()
