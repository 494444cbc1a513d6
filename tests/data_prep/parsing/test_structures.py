"""`structures`: from words to the subwords of binarized text."""

import numpy as np
import pytest
from fairseq.tokenizer import tokenize_line

from command_line.errors import InputError
from data_prep.blocks import Block
from data_prep.formats.structures import BUNSETSU, PHRASES, Structure, Structures, encode, write_structures
from data_prep.parsing.structures import carry, carry_block
from data_prep.subword_spans import word_boundaries

WORDS = ["lowest", "newer", "low", "wider", "new", "lower"]


@pytest.fixture
def folders(step, tmp_path, write_corpus):
    """A toy corpus in subwords, binarized, with random structures of the English side; and its lines."""
    rng = np.random.default_rng(1)
    lines = [" ".join(rng.choice(WORDS, size=int(rng.integers(1, 9)))) for _ in range(30)]
    files = {
        "train.en-ja.en": lines,
        "train.en-ja.ja": lines,
        "valid.en-ja.en": ["low"],
        "valid.en-ja.ja": ["low"],
    }
    write_corpus(tmp_path / "tok", files)
    for words in (
        ("subword", "--input", tmp_path / "tok", "--output", tmp_path / "sub", "--merges", 6, "--workers", 1),
        ("binarize", "--input", tmp_path / "sub", "--text", tmp_path / "tok", "--output", tmp_path / "data"),
    ):
        status, error = step(*words)
        assert status == 0, error
    structures = [[]] + [encode([], rng.permutation(len(line.split()))) for line in lines[1:]]
    (tmp_path / "ana").mkdir()
    write_structures(tmp_path / "ana/train.en-ja.en.bunsetsu", BUNSETSU, structures)
    return tmp_path, lines


def structures_step(step, root, *more):
    options = {"input": "ana", "tokenized": "tok", "subword": "sub", "data": "data"}
    words = [word for name, folder in options.items() for word in (f"--{name}", root / folder)]
    return step("structures", *words, "--workers", 1, *more)


def test_structures_of_binarized_text(step, folders, read):
    from data_prep.formats.sentences import load_sentences

    root, lines = folders
    status, error = structures_step(step, root)
    assert status == 0, error
    found = Structures(root / "data/train.en-ja.en.bunsetsu", BUNSETSU)
    sentences = load_sentences(root / "data/train.en-ja.en")
    found.check(sentences.sizes - 1)
    assert found[0] is None
    units = read(root / "sub/train.en-ja.en")
    assert any("@@" in line for line in units)
    words = Structures(root / "ana/train.en-ja.en.bunsetsu", BUNSETSU)
    for number in range(1, len(lines)):
        moved = np.array(units[number].split())[found[number].token_order()]
        expected = np.array(lines[number].split())[words[number].order]
        assert " ".join(moved).replace("@@ ", "") == " ".join(expected)
    assert "complete, skipped" in structures_step(step, root)[1]


def test_what_a_killed_command_has_left_is_no_structure(step, folders, capsys):
    root, _ = folders
    (root / "ana/.partial-deadbeef-4711.train.en-ja.en.bunsetsu").write_bytes(b"")
    assert structures_step(step, root)[0] == 0
    assert (root / "data/train.en-ja.en.bunsetsu").exists()
    assert step("position-changes", "--input", root / "ana")[0] == 0
    (root / "ana/train.en-ja.en.bunsetsu").unlink()
    for found in (structures_step(step, root), step("position-changes", "--input", root / "ana")):
        assert found[0] == 2 and "ana: no structures, expected files that `bunsetsu` or" in found[1]
    assert "gone: no such folder, expected files" in step("position-changes", "--input", root / "gone")[1]


@pytest.mark.parametrize("space", ["  ", "\u2003", "\u3000", "\t", "\u00a0"])
def test_subwords_are_counted_as_the_binarizer_counts_them(tmp_path, space):
    path = tmp_path / "train.en.bunsetsu"
    write_structures(path, BUNSETSU, [encode([1], [1, 0])])
    units = f"low{space}low@@ er"
    block = Block((tmp_path / "tok", tmp_path / "sub"), 1, (b"low lower\n", f"{units}\n".encode()), 1)
    write_structures(tmp_path / "carried", BUNSETSU, carry_block(path, BUNSETSU, "subword-nmt", block))
    found = Structures(tmp_path / "carried", BUNSETSU)
    found.check(np.array([len(tokenize_line(units))]))
    assert found[0].token_order().tolist() == [1, 2, 0]


def test_what_does_not_fit_is_refused(step, folders, write_corpus):
    root, lines = folders
    for content, message in (
        (["low low low", *lines[1:]], "train.en-ja.en:1: the words spell"),
        ([*lines[:-1], lines[-1] + " low"], "words, but"),
        (lines[:-1], "ends after 29 lines"),
    ):
        structures = [encode([], range(len(line.split()))) for line in [*content[:29], lines[-1]]]
        write_structures(root / "ana/train.en-ja.en.bunsetsu", BUNSETSU, structures)
        write_corpus(root / "tok", {"train.en-ja.en": content})
        status, error = structures_step(step, root)
        assert status == 2
        assert message in error
    write_corpus(root / "tok", {"train.en-ja.en": lines})
    write_structures(root / "ana/train.en-ja.en.bunsetsu", BUNSETSU, [[]] * 31)
    status, error = structures_step(step, root)
    assert (status, "31 lines, but" in error) == (2, True)
    (root / "data/train.en-ja.en.idx").unlink()
    assert "expected the binarized text of" in structures_step(step, root)[1]
    (root / "ana/train.en-ja.en.bunsetsu").unlink()
    assert "no structures" in structures_step(step, root)[1]


def structure(boundaries, order):
    return Structure(np.array(boundaries, dtype=int), np.array(order), np.arange(len(order) + 1))


def test_words_that_share_a_subword_become_one_unit():
    # a sentencepiece unit over the boundary of the second and third word
    boundaries = word_boundaries(["ab", "c", "d", "e"], ["▁ab", "cd", "e"], "sentencepiece", "file", 1)
    assert carry(structure([1, 2, 3], [3, 2, 1, 0]), BUNSETSU, boundaries, 3) == encode(
        [1, 2], [2, 1, 0], [0, 1, 2, 3]
    )
    # the tree [ab [[c d] e]] over these units
    assert carry(structure([1, 3, 2], [0, 3, 1, 2]), PHRASES, boundaries, 3) == encode(
        [1, 2], [0, 2, 1], [0, 1, 2, 3]
    )
    # the bunsetsu [ab c][d e]: its boundary is inside of a unit
    assert carry(structure([2], [2, 3, 0, 1]), BUNSETSU, boundaries, 3)[:2] == [3, 0]


def test_random_boundaries_give_whole_units():
    rng = np.random.default_rng(2)
    for _ in range(1_000):
        text = "x" * int(rng.integers(1, 30))
        words, units = (
            np.split(list(text), np.flatnonzero(rng.random(len(text) - 1) < 0.5) + 1) for _ in range(2)
        )
        words, units = ["".join(word) for word in words], ["".join(unit) for unit in units]
        boundaries = word_boundaries(words, units, "sentencepiece", "file", 1)
        order = rng.permutation(len(words))
        for kind, split in ((BUNSETSU, np.arange(1, len(words))), (PHRASES, np.arange(1, len(words)))):
            values = carry(structure(split, order), kind, boundaries, len(units))
            count, cuts = values[:2]
            starts = values[2 + cuts + count :]
            assert sorted(values[2 + cuts : 2 + cuts + count]) == list(range(count))
            assert starts[0] == 0 and starts[-1] == len(units) and sorted(set(starts)) == starts
            assert cuts == count - 1
            ends = {sum(map(len, units[:start])) for start in starts}
            assert ends <= {sum(map(len, words[:place])) for place in range(len(words) + 1)}


def test_the_structure_of_another_line(tmp_path):
    from data_prep.blocks import Block
    from data_prep.parsing.structures import carry_block

    write_structures(tmp_path / "a", BUNSETSU, [encode([], [0, 1])])
    block = Block((tmp_path / "x", tmp_path / "y"), 1, (b"a b c\n", b"a b c\n"), 1)
    with pytest.raises(InputError, match=r"x:1: 3 words, but .*a has the structure of 2"):
        carry_block(tmp_path / "a", BUNSETSU, "none", block)
