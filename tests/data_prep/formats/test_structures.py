"""The file of structures: what goes in comes out; broken files are refused."""

import pickle

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats.structures import (
    BUNSETSU,
    PHRASES,
    Structures,
    encode,
    join_structures,
    order_of_parts,
    structure_path,
    write_structures,
)


def random_lines(rng, count):
    lines = []
    for _ in range(count):
        units = int(rng.integers(0, 8))
        if not units:
            lines.append([])
            continue
        boundaries = np.flatnonzero(rng.random(units - 1) < 0.5) + 1
        starts = np.concatenate(([0], rng.integers(1, 4, size=units).cumsum()))
        lines.append(encode(boundaries, rng.permutation(units), starts))
    return lines


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_what_goes_in_comes_out(tmp_path, parts):
    rng = np.random.default_rng(parts)
    shards = [random_lines(rng, int(rng.integers(1, 40))) for _ in range(parts)]
    for number, lines in enumerate(shards):
        write_structures(tmp_path / str(number), BUNSETSU, lines)
    join_structures(tmp_path / "all", BUNSETSU, [tmp_path / str(number) for number in range(parts)])
    found = pickle.loads(pickle.dumps(Structures(tmp_path / "all", BUNSETSU)))
    lines = [line for shard in shards for line in shard]
    assert len(found) == len(lines)
    assert found.known().tolist() == [bool(line) for line in lines]
    lengths = []
    for place, line in enumerate(lines):
        structure = found[place]
        if not line:
            assert structure is None
            lengths.append(5)
            continue
        assert encode(structure.boundaries, structure.order, structure.starts) == line
        lengths.append(int(structure.starts[-1]))
    assert (found[-1] is None) == (not lines[-1])
    found.check(lengths)
    with pytest.raises(IndexError):
        found[len(lines)]


def test_units_move_as_a_whole():
    order = order_of_parts(np.array([2, 0, 1]), np.array([0, 2, 3, 6]))
    assert order.tolist() == [3, 4, 5, 0, 1, 2]


def test_beside_words_units_are_words(tmp_path):
    write_structures(tmp_path / "a", PHRASES, [encode([1, 2], [0, 2, 1]), encode([], [0])])
    structures = Structures(tmp_path / "a", PHRASES)
    assert structures[0].starts.tolist() == [0, 1, 2, 3]
    assert structures[0].token_order().tolist() == [0, 2, 1]
    assert structures[1].token_boundaries().tolist() == []


@pytest.mark.parametrize(
    ("lengths", "message"),
    [([4, 3], "1 lines, but the data has 2"), ([5], r"a:1: does not describe a sentence of 5 subwords")],
)
def test_another_text_is_noticed(tmp_path, lengths, message):
    write_structures(tmp_path / "a", BUNSETSU, [encode([1], [1, 0], [0, 1, 4])])
    Structures(tmp_path / "a", BUNSETSU).check([4])
    with pytest.raises(InputError, match=message):
        Structures(tmp_path / "a", BUNSETSU).check(lengths)


def test_damage_inside_is_noticed(tmp_path):
    path = tmp_path / "a"
    write_structures(path, BUNSETSU, [encode([1], [1, 0], [0, 1, 4]), encode([], [0], [0, 2])])
    content = bytearray(path.read_bytes())
    content[32] = 9  # the number of units of line 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="a:1: does not describe"):
        Structures(path, BUNSETSU).check([4, 2])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (BUNSETSU, [3, 1, 1, 0, 0, 2, 0, 1, 2, 4]),  # word 1 is lost, word 0 is there twice
        (BUNSETSU, [3, 1, 1, 0, 1, 7, 0, 1, 2, 4]),  # there is no word 7
        (BUNSETSU, [3, 2, 2, 1, 0, 1, 2, 0, 1, 2, 4]),  # bunsetsu do not go back
        (BUNSETSU, [3, 1, 3, 0, 1, 2, 0, 1, 2, 4]),  # nor do they begin behind the sentence
        (BUNSETSU, [3, 1, 1, 0, 1, 2, 0, 2, 2, 4]),  # a word of no subword
        (PHRASES, [3, 0, 0, 1, 2, 0, 1, 2, 4]),  # three words have two splits
        (PHRASES, [3, 2, 2, 2, 0, 1, 2, 0, 1, 2, 4]),  # the phrase 0:2 does not split before 2
        (PHRASES, [3, 3, 1, 2, 2, 0, 1, 2, 0, 1, 2, 4]),
        (PHRASES, [1, 1, 0, 0, 0, 4]),
    ],
)
def test_a_damaged_line_is_named_where_it_is_used(tmp_path, kind, values):
    write_structures(tmp_path / "a", kind, [encode([], [0], [0, 4]), values])
    structures = Structures(tmp_path / "a", kind)
    assert structures[0].order.tolist() == [0]
    with pytest.raises(InputError, match=r"a:2: damaged; run `python -m data_prep .* --force` again"):
        structures[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-1], "not whole"),
        (lambda content: content + b"\0", "not whole"),
        (lambda content: content[:20], "not a file of"),
        (lambda content: b"X" + content[1:], "not a file of"),
        (lambda content: content[:8] + b"\x07" + content[9:], "version 7"),
        (lambda content: b"", "not a file of"),
        (lambda content: content[:-8] + bytes(8), "damaged"),
    ],
)
def test_broken_files_are_refused(tmp_path, change, message):
    path = tmp_path / "a"
    write_structures(path, BUNSETSU, [encode([1], [1, 0]), []])
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=f"{path}: .*{message}"):
        Structures(path, BUNSETSU)


def test_missing_files_and_other_kinds_are_refused(tmp_path):
    write_structures(tmp_path / "a", BUNSETSU, [[]])
    with pytest.raises(InputError, match="not a file of `python -m data_prep phrases`"):
        Structures(tmp_path / "a", PHRASES)
    with pytest.raises(InputError, match=r"no such file; `python -m data_prep phrases`"):
        Structures(tmp_path / "b", PHRASES)
    with pytest.raises(InputError, match="is a folder"):
        Structures(tmp_path, PHRASES)


def test_a_line_of_too_many_words():
    with pytest.raises(ValueError, match="65535"):
        encode([], range(65_536))


def test_names():
    assert structure_path("x/train.en-ja.ja.gz", BUNSETSU).name == "train.en-ja.ja.bunsetsu"
