"""The indexed file of aligned subword spans: what is written comes back, what is damaged is refused."""

import pickle

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats import ragged_array
from data_prep.formats.alignments import (
    AlignedSpans,
    AlignedSpansWriter,
    aligners,
    alignment_files,
    alignment_path,
    choose_aligner,
    is_alignment_file,
)

PAIR = ("de", "en")
LINES = [[(0, 1, 0, 2), (2, 4, 3, 4)], [], [(1, 2, 0, 1)], []]
LENGTHS = [4, 1, 2, 0], [4, 3, 1, 7]


def write(folder, lines=LINES, split="train"):
    with AlignedSpansWriter(folder, split, PAIR, "fast_align") as writer:
        for spans in lines:
            writer.append(spans)
    return AlignedSpans.open(folder, split, PAIR, "fast_align")


def test_what_is_written_comes_back(tmp_path):
    spans = write(tmp_path)
    assert len(spans) == 4 and spans.total == 3
    for line, expected in enumerate(LINES):
        assert spans[line].dtype == np.int64 and spans[line].shape == (len(expected), 4)
        assert spans[line].tolist() == [list(row) for row in expected]
    assert spans[-2].tolist() == [[1, 2, 0, 1]]
    assert spans.counts().tolist() == [2, 0, 1, 0]
    spans.check(*LENGTHS)
    assert [path.name for path in tmp_path.iterdir()] == ["train.de-en.fast_align.alignment"]
    for line in (4, -5):
        with pytest.raises(IndexError):
            spans[line]


def test_iteration_ends(tmp_path):
    assert [len(rows) for rows in write(tmp_path)] == [2, 0, 1, 0]


def test_rows_are_sorted_and_not_repeated(tmp_path):
    spans = write(tmp_path, [[(2, 3, 0, 1), (0, 2, 5, 6), (0, 1, 9, 10), (2, 3, 0, 1)]])
    assert spans[0].tolist() == [[0, 1, 9, 10], [0, 2, 5, 6], [2, 3, 0, 1]]


def test_arrays_are_taken_and_any_number_of_lines(tmp_path):
    assert write(tmp_path, [np.array([[0, 1, 0, 1]]), np.zeros((0, 4), int)]).counts().tolist() == [1, 0]
    assert len(write(tmp_path, [])) == 0


def test_a_copy_in_another_process_maps_the_file_anew(tmp_path):
    spans = write(tmp_path)
    content = pickle.dumps(spans)
    assert len(content) < 1000
    assert pickle.loads(content)[0].tolist() == spans[0].tolist()


def test_nothing_is_left_of_a_writer_that_failed(tmp_path):
    with pytest.raises(RuntimeError), AlignedSpansWriter(tmp_path, "train", PAIR, "fast_align") as writer:
        writer.append(LINES[0])
        raise RuntimeError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("row", [(1, 1, 0, 1), (0, 1, 3, 2), (-1, 1, 0, 1), (0, 1, 0, 65536)])
def test_impossible_spans_are_not_written(tmp_path, row):
    with (
        pytest.raises(InputError, match=r"train.de-en.fast_align.alignment:2: found the spans .*65535"),
        AlignedSpansWriter(tmp_path, "train", PAIR, "fast_align") as writer,
    ):
        writer.append([])
        writer.append([row])


def test_pairs_come_in_alphabetical_order(tmp_path):
    with pytest.raises(ValueError, match="alphabetical"):
        alignment_path(tmp_path, "train", ("en", "de"), "fast_align")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: c[:-1], r"bytes, expected .* not whole"),
        (lambda c: c + b"\0", r"bytes, expected .* not whole"),
        (lambda c: c[:20], "not a file of `python -m data_prep align`"),
        (lambda c: b"", "not a file of `python -m data_prep align`"),
        (lambda c: b"0-0 1-1\n" * 50, "not a file of `python -m data_prep align`"),
        (lambda c: c[:8] + b"\2" + c[9:], "version 2 with 4 columns, expected 1 with 4"),
        (lambda c: c[:-8] + b"\7" + c[-7:], "damaged"),
    ],
)
def test_damaged_files_are_refused(tmp_path, damage, message):
    path = write(tmp_path).path
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=f"train.de-en.fast_align.alignment: .*{message}"):
        AlignedSpans.open(tmp_path, "train", PAIR, "fast_align")


def test_missing_files(tmp_path):
    with pytest.raises(InputError, match="no such file; `python -m data_prep align`"):
        AlignedSpans.open(tmp_path, "train", PAIR, "fast_align")
    (tmp_path / "train.de-en.fast_align.alignment").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        AlignedSpans.open(tmp_path, "train", PAIR, "fast_align")


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (([4, 1, 2], [4, 3, 1]), "alignment: 4 lines, but the data has 3"),
        (
            ([4, 1, 1, 0], [4, 3, 1, 7]),
            "alignment:3: found the span 1:2 on side A in a sentence of 1 subwords",
        ),
        (
            ([4, 1, 2, 0], [3, 3, 1, 7]),
            "alignment:1: found the span 3:4 on side B in a sentence of 3 subwords",
        ),
    ],
)
@pytest.mark.parametrize("at_once", [1, 2, 1000])
def test_alignments_of_other_data_are_refused(tmp_path, monkeypatch, lengths, message, at_once):
    monkeypatch.setattr("data_prep.formats.alignments._LINES_AT_ONCE", at_once)
    spans = write(tmp_path)
    spans.check(*LENGTHS)
    with pytest.raises(InputError, match=message):
        spans.check(*lengths)


@pytest.mark.parametrize("rows", [((2, 4, 3, 4), (0, 1, 0, 2)), ((0, 1, 0, 2), (0, 1, 0, 2))])
def test_order_is_checked(tmp_path, rows):
    path = write(tmp_path).path
    content = bytearray(path.read_bytes())
    content[32:48] = np.array(rows, dtype="<u2").tobytes()
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"alignment:1: found .* after .*, expected .* ascending order"):
        AlignedSpans.open(tmp_path, "train", PAIR, "fast_align").check(*LENGTHS)


def test_offsets_are_checked(tmp_path):
    path = write(tmp_path).path
    content = bytearray(path.read_bytes())
    content[-24:-16] = (9).to_bytes(8, "little")  # line 3 would begin behind the end
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"alignment:3: damaged"):
        AlignedSpans.open(tmp_path, "train", PAIR, "fast_align").check(*LENGTHS)


def test_a_random_corpus(tmp_path):
    rng = np.random.default_rng(1)
    lines, lengths = [], []
    for _ in range(300):
        a, b = rng.integers(1, 30, 2)
        lengths.append((a, b))
        ends = rng.integers(1, [a + 1, b + 1], (rng.integers(0, 6), 2))
        lines.append([(rng.integers(0, x), x, rng.integers(0, y), y) for x, y in ends])
    spans = write(tmp_path, lines)
    spans.check(*zip(*lengths, strict=True))
    for line, rows in enumerate(lines):
        assert spans[line].tolist() == [list(map(int, row)) for row in sorted(set(rows))]


# --- whose alignments


def write_by(folder, *names: str) -> None:
    for name in names:
        with AlignedSpansWriter(folder, "train", PAIR, name) as writer:
            writer.append([(0, 1, 0, len(name))])


def test_aligners_lie_beside_each_other(tmp_path):
    names = ["fast_align", "fast_align-program", "word2word"]
    write_by(tmp_path, *names)
    assert aligners(tmp_path) == names
    for name in names:
        assert AlignedSpans.open(tmp_path, "train", PAIR, name)[0].tolist() == [[0, 1, 0, len(name)]]
        path = alignment_path(tmp_path, "train", PAIR, name)
        assert alignment_files(tmp_path, "train", name) == [path]
        assert [other for other in names if is_alignment_file(path, other)] == [name]


def test_files_that_are_not_of_this_format_are_of_no_aligner(tmp_path):
    """What a command that was killed on another machine has left, and what others call so."""
    write_by(tmp_path, "fast_align")
    for name in (
        ".partial-deadbeef-4711.train.en-ja.word2word.alignment",
        "notes.alignment",
        "my.notes.alignment",
        "train.de-en.alignment",
    ):
        (tmp_path / name).write_bytes(b"")
        assert not is_alignment_file(tmp_path / name)
    assert aligners(tmp_path) == ["fast_align"]


@pytest.mark.parametrize(
    ("there", "wanted", "preferred", "expected"),
    [
        (["eflomal"], None, None, "eflomal"),
        (["eflomal", "word2word"], "eflomal", "word2word", "eflomal"),
        (["eflomal", "word2word"], None, "word2word", "word2word"),
        (["eflomal", "word2word"], None, None, "{data}: alignments by eflomal, word2word; choose with --x"),
        (["eflomal"], "word2word", None, "--x word2word: {data} has alignments by eflomal; `python -m data"),
        ([], "word2word", None, "{data}: no word alignments; `python -m data_prep align` writes them"),
    ],
)  # fmt: skip
def test_the_only_aligner_or_the_one_that_is_chosen(there, wanted, preferred, expected, tmp_path):
    write_by(tmp_path, *there)
    try:
        found = choose_aligner(tmp_path, wanted, "--x", preferred)
    except InputError as error:
        found = str(error)
    assert found.startswith(expected.format(data=tmp_path))


def test_a_file_that_cannot_be_ended_does_not_appear(tmp_path, monkeypatch):
    """A full disk, or a signal, when the block has ended and the rest is written."""

    def full(*arguments):
        raise OSError("No space left on device")

    def write(lines: int) -> None:
        with AlignedSpansWriter(tmp_path, "train", ("de", "en"), "fast_align") as writer:
            for _ in range(lines):
                writer.append([(0, 1, 0, 1)])

    write(2)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(ragged_array.shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        write(3)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
