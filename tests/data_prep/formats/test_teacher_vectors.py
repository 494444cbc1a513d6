"""A teacher's vectors beside binarized sentences: what a file says, and which files are refused."""

import json
import pickle
import struct

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.binarize import is_data_file
from data_prep.formats.teacher_vectors import (
    TeacherVectors,
    check_teacher,
    create_teacher_vectors,
    encoder_title,
    sentences_identity,
    teachers,
    vectors_path,
)
from tests.fairseq_ext.folders import write_sentences

ENCODER = {"name": "LaBSE", "kind": "transformers", "width": 3, "model": "/a", "weights": {"x": "0"}}
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3) / 3


def describe(prefix, **changes) -> dict:
    description = {
        "encoder": ENCODER,
        "text": sentences_identity(prefix),
        "read": {"kind": "tokens"},
        "lines": 2,
        "width": 3,
        "dtype": "float16",
        "normalized": False,
    }
    return {**description, **changes}


@pytest.fixture
def prefix(tmp_path):
    prefix = tmp_path / "train.de-en.de"
    write_sentences(prefix, [[4, 5, 2], [6, 2]])
    return prefix


def write(prefix, name: str = "labse", rows=ROWS, **changes):
    path = vectors_path(prefix, name)
    create_teacher_vectors(path, describe(prefix, **changes))[:] = rows
    return path


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rows_come_back_by_memory_map_also_in_a_worker(prefix, dtype):
    path = write(prefix, dtype=dtype)
    assert path.name == "train.de-en.de.labse.vectors"
    for found in (TeacherVectors(path), pickle.loads(pickle.dumps(TeacherVectors(path)))):
        assert (len(found), found.width, found[1].dtype) == (2, 3, np.float32)
        np.testing.assert_array_equal(np.stack([found[0], found[1]]), ROWS.astype(dtype).astype("f4"))
        assert isinstance(found._rows, np.memmap)
        found.check(prefix)
    assert is_data_file(path)  # goes with the sentences when they are binarized again


def test_the_layout_is_the_one_described(prefix):
    """Read without our code."""
    content = write(prefix).read_bytes()
    magic, version, length = struct.unpack("<8sII", content[:16])
    assert (magic, version, (16 + length) % 64) == (b"SENTVECS", 1, 0)
    assert json.loads(content[16 : 16 + length]) == describe(prefix)
    rows = np.frombuffer(content, "<f2", 6, 16 + length).reshape(2, 3)
    np.testing.assert_array_equal(rows, ROWS.astype("f2"))


def test_other_sentences_are_refused_with_both_names(prefix):
    vectors = TeacherVectors(write(prefix))
    write_sentences(prefix, [[4, 5, 2], [7, 2]])
    with pytest.raises(InputError) as caught:
        vectors.check(prefix)
    assert f"{vectors.path}: vectors of another text than {prefix}.bin: sha256 " in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-1], "not whole"),
        (lambda content: content + b"x", "not whole"),
        (lambda content: b"WORDALGN" + content[8:], "not a file of `python -m embeddings encode --data`"),
        (lambda content: content[:9] + b"\1" + content[10:], "version 257, expected 1"),
        (
            lambda content: content[:30] + b"\xff" + content[31:],
            r"not UTF-8 text \(byte \d+\), expected JSON",
        ),
        (lambda content: content.replace(b"float16", b"float64"), "dtype"),
        (lambda content: content.replace(b'"lines": 2', b'"lines":-2'), "not whole"),
        (lambda content: b"", "not a file of"),
    ],
)
def test_damaged_files_are_one_line(prefix, damage, message):
    path = write(prefix)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=message) as caught:
        TeacherVectors(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_half_written_ones_are_continued_and_those_of_other_vectors_made_anew(prefix):
    path = write(prefix)
    np.testing.assert_array_equal(create_teacher_vectors(path, describe(prefix)), ROWS.astype("f2"))
    assert not create_teacher_vectors(path, describe(prefix, normalized=True)).any()


def test_the_teacher_is_one_that_is_there(prefix):
    with pytest.raises(
        InputError, match=r"--teacher labse: .* has no vectors of a teacher; `python -m embedd"
    ):
        check_teacher(prefix.parent, "labse", "--teacher")
    write(prefix)
    write(prefix, "ems")
    (prefix.parent / ".train.de-en.de.killed.vectors").touch()
    assert teachers(prefix.parent) == ["ems", "labse"]
    check_teacher(prefix.parent, "ems", "--teacher")
    with pytest.raises(InputError, match=r"--teacher x: .* has vectors of ems, labse; .* --name x"):
        check_teacher(prefix.parent, "x", "--teacher")


def test_encoders_of_one_name_are_told_apart_but_not_by_where_they_lie():
    other = {**ENCODER, "weights": {"x": "1"}}
    assert encoder_title(ENCODER) == encoder_title({**ENCODER, "model": "/b"}) != encoder_title(other)
