"""Reading binarized folders: pairs in either order, and one line that names the file for everything bad."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from fairseq.data import data_utils
from fairseq.data.indexed_dataset import _code_to_dtype, make_builder

from command_line.errors import InputError
from data_prep.formats.dictionary import dictionary_fingerprint, load_shared_dictionary
from data_prep.formats.directions import parse_directions
from data_prep.formats.sentences import (
    TOKEN_TYPES,
    binarized_pairs,
    data_path,
    file_prefix,
    index_path,
    load_pair,
    load_sentences,
    sentence_lengths,
    with_data,
    written_sentences,
)
from tests.fairseq_ext.folders import write_dictionaries, write_pair, write_preparation, write_toy_folder
from tests.fairseq_ext.models import toy_dictionary


@pytest.fixture
def folder(tmp_path):
    return write_toy_folder(tmp_path / "data")


def refused(function, *arguments) -> str:
    with pytest.raises(InputError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- directions


def test_directions_are_read_in_order():
    assert parse_directions("en-de, de-en,,fr-en", "--x") == [("en", "de"), ("de", "en"), ("fr", "en")]
    assert parse_directions(None, "--x") == parse_directions("", "--x") == []


@pytest.mark.parametrize("text", ["ende", "en-", "-de", "en-en", "en-de,x"])
def test_malformed_direction(text):
    message = refused(parse_directions, text, "--lang-pairs")
    assert message.startswith("--lang-pairs: ")
    assert repr(text.split(",")[-1]) in message
    assert "is not SOURCE-TARGET" in message


def test_repeated_direction():
    assert (
        refused(parse_directions, "en-de,de-en,en-de", "--lang-pairs") == "--lang-pairs: 'en-de' occurs twice"
    )


# --- sentences


@pytest.mark.parametrize(("direction", "source"), [(("de", "en"), [4, 5, 2]), (("en", "de"), [6, 2])])
def test_one_file_pair_serves_both_directions(folder, direction, source):
    sources, targets = load_pair(folder, "train", direction)
    assert sources[0].tolist() == source
    assert len(sources) == len(targets) == 6


def test_what_a_killed_command_has_left_is_no_pair(folder):
    (folder / ".partial-deadbeef-4711.train.de-en.de.idx").write_bytes(b"")
    assert binarized_pairs(folder) == {"de-en", "en-fr", "de-fr"}


def test_missing_pair(folder):
    message = refused(file_prefix, folder, "train", ("de", "fr"), "de")
    assert f"{folder}/train.de-fr.de.idx: no such file, nor train.fr-de.de.idx" in message
    wanted = [("de", "fr"), ("fr", "de")]
    assert with_data(folder, "train", wanted) == []
    assert with_data(folder, "valid", wanted) == wanted


def test_missing_other_side(folder):
    (folder / "train.de-en.en.idx").unlink()
    assert with_data(folder, "train", [("de", "en")]) == []
    assert f"{folder}/train.de-en.en.idx: no such file" in refused(load_pair, folder, "train", ("de", "en"))


@pytest.mark.parametrize("language", ["de", "en"])
def test_what_the_preparation_lists_and_is_not_there_is_an_error(folder, language):
    write_preparation(folder)
    wanted = [("de", "en"), ("en", "de"), ("de", "fr")]
    assert with_data(folder, "train", wanted) == wanted[:2]
    (folder / f"train.de-en.{language}.idx").unlink()
    assert with_data(folder, "train", [("de", "fr"), ("en", "fr")]) == [("en", "fr")]  # nobody asks for it
    for direction in wanted[:2]:
        assert refused(with_data, folder, "train", [direction]) == (
            f"{folder}/train.de-en.{language}.idx: no such file, but preparation.json lists this pair;"
            " binarize again"
        )


def test_missing_data_file(folder):
    (folder / "train.de-en.en.bin").unlink()
    message = refused(load_pair, folder, "train", ("de", "en"))
    assert message == f"{folder}/train.de-en.en.bin: no such file"


@pytest.mark.parametrize(
    "change", [lambda b: b[:-4], lambda b: b + b"1234", lambda b: b""], ids=["shorter", "longer", "empty"]
)
def test_data_file_of_another_size(folder, change):
    path = folder / "train.de-en.de.bin"
    path.write_bytes(change(path.read_bytes()))
    message = refused(load_sentences, folder / "train.de-en.de")
    assert message.startswith(f"{path}: ")
    assert "but its index describes 72" in message  # 6 sentences of 3 tokens of 4 bytes


def test_truncated_index(folder, recwarn):
    path = folder / "train.de-en.de.idx"
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        message = refused(load_sentences, folder / "train.de-en.de")
        assert message == f"{path}: not a fairseq mmap index, or damaged; binarize again"
    assert not list(recwarn)  # nothing half-made is left to complain when it is collected


def test_any_changed_byte_of_an_index_is_noticed(folder):
    path = folder / "train.de-en.de.idx"
    content = path.read_bytes()
    for position in range(len(content)):
        if position == 17:  # the type of the token ids: another type of the same size cannot be noticed
            continue
        changed = bytearray(content)
        changed[position] ^= 0x81
        path.write_bytes(changed)
        assert str(folder) in refused(load_sentences, folder / "train.de-en.de")


@pytest.mark.parametrize(
    "garbage",
    [b"not an index", b"MMIDIDX\x00\x00" + b"\xff" * 60, b"\x00" * 500],
    ids=["text", "header", "zeros"],
)
def test_garbage_index(folder, garbage):
    path = folder / "train.de-en.de.idx"
    path.write_bytes(garbage)
    message = refused(load_sentences, folder / "train.de-en.de")
    assert message.startswith(f"{path}: not a fairseq mmap index, or damaged")


def test_unequal_line_counts(folder):
    write_pair(folder, "train", "de-en", [[4, 2]] * 3, [[4, 2]] * 2)
    message = refused(load_pair, folder, "train", ("en", "de"))
    assert message == f"{folder}/train.de-en.en.idx: 2 sentences, but {folder}/train.de-en.de.idx has 3"


def test_empty_direction(folder):
    write_pair(folder, "train", "de-en", [], [])
    message = refused(load_pair, folder, "train", ("de", "en"))
    assert message == f"{folder}/train.de-en.de.idx: no sentences; expected at least one"


@pytest.mark.parametrize("endless", [[4, 5], [], [2, 4]], ids=["cut off", "nothing", "begins with it"])
def test_sentences_without_an_end(folder, endless):
    write_pair(folder, "train", "de-en", [[4, 2], endless, [5, 2]], [[4, 2]] * 3)
    message = refused(load_pair, folder, "train", ("de", "en"))
    assert message == f"{folder}/train.de-en.de.bin: sentence 2 does not end with </s>; binarize again"


@pytest.mark.parametrize("token", [34, 2**30, -1])  # 30 words and four special symbols; then come tags
def test_tokens_that_are_not_in_the_dictionary(folder, token, monkeypatch):
    monkeypatch.setattr("data_prep.formats.sentences.TOKENS_AT_ONCE", 3)
    write_pair(folder, "train", "de-en", [[4, 33, 2], [5, 6, 2], [7, 8, token, 9, 2]], [[4, 2]] * 3)
    message = refused(load_pair, folder, "train", ("de", "en"))
    assert message.startswith(f"{folder}/train.de-en.de.bin: sentence 3 has the token {token}, expected")
    assert "below 34, the symbols of dict.de.txt;" in message


# --- dictionaries


def test_shared_dictionary(folder):
    assert load_shared_dictionary(folder, ["de", "en", "fr"]).symbols == toy_dictionary().symbols


def test_missing_dictionary(folder):
    assert f"{folder}/dict.cs.txt: no such file" in refused(load_shared_dictionary, folder, ["de", "cs"])


def test_dictionaries_that_differ(folder):
    write_dictionaries(folder, ["fr"], words=29)
    message = refused(load_shared_dictionary, folder, ["de", "en", "fr"])
    assert message.startswith(f"{folder}/dict.fr.txt: differs from {folder}/dict.de.txt")


@pytest.mark.parametrize("content", [b"word\n", b"word three\n", b"word 1\nword 1\n", b"\xff\xfe 3\n"])
def test_malformed_dictionary(folder, content):
    (folder / "dict.de.txt").write_bytes(content)
    message = refused(load_shared_dictionary, folder, ["de"])
    assert message.startswith(f"{folder}/dict.de.txt: not a fairseq dictionary (SYMBOL COUNT per line)")


def test_fingerprint_is_about_symbols_and_their_order():
    first, same, other = toy_dictionary(3), toy_dictionary(3), toy_dictionary(4)
    same.count = [10 * count for count in same.count]
    assert dictionary_fingerprint(first) == dictionary_fingerprint(same) != dictionary_fingerprint(other)
    swapped = toy_dictionary(3)
    swapped.symbols[-2:] = swapped.symbols[:-3:-1]
    assert dictionary_fingerprint(first) != dictionary_fingerprint(swapped)


# --- against fairseq itself


SENTENCES = [[4, 2], [2], [5, 6, 7, 2], [300, 2]]


def built(prefix: Path, symbols: int, sentences: list[list[int]]) -> Path:
    """By fairseq's builder."""
    builder = make_builder(str(data_path(prefix)), impl="mmap", vocab_size=symbols)
    for sentence in sentences:
        builder.add_item(torch.tensor(sentence))
    builder.finalize(str(index_path(prefix)))
    return prefix


@pytest.mark.parametrize("symbols", [500, 65_499, 65_500, 70_000])  # 16 bits per token below 65,500, or 32
@pytest.mark.parametrize("cuts", [[0, 4], [0, 1, 3, 4]], ids=["at once", "in blocks"])
@pytest.mark.parametrize("at_a_time", [1 << 20, 3])
def test_what_is_written_is_what_fairseq_writes(tmp_path, monkeypatch, symbols, cuts, at_a_time):
    monkeypatch.setattr("data_prep.formats.sentences._LENGTHS_AT_A_TIME", at_a_time)
    write_dictionaries(tmp_path, ["en"], words=297)
    prefix, theirs = tmp_path / "train.de-en.de", built(tmp_path / "train.de-en.en", symbols, SENTENCES)
    with written_sentences(prefix, symbols) as writer:
        for first, end in itertools.pairwise(cuts):
            some = SENTENCES[first:end]
            tokens = np.array([token for sentence in some for token in sentence], dtype=np.uint32)
            writer.write(tokens, np.array([len(sentence) for sentence in some]))
        assert writer.count == 4 and not data_path(prefix).exists()
    for path in (data_path, index_path):
        assert path(prefix).read_bytes() == path(theirs).read_bytes()
    for read in (load_sentences(theirs), data_utils.load_indexed_dataset(str(prefix))):
        assert [row.tolist() for row in read] == SENTENCES
    assert sentence_lengths(theirs).tolist() == [len(sentence) - 1 for sentence in SENTENCES]


def test_token_types_are_those_of_fairseq():
    theirs = {code: kind for code, kind in _code_to_dtype.items() if np.issubdtype(kind, np.integer)}
    assert {code: np.dtype(name) for code, name in TOKEN_TYPES.items()} == theirs


def test_a_file_that_was_not_written_to_its_end_is_not_there(tmp_path):
    with pytest.raises(RuntimeError), written_sentences(tmp_path / "x", 100):
        raise RuntimeError
    assert not list(tmp_path.iterdir())
