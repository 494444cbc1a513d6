"""The parts of `translate`: journal of a killed run, choice of directions, cutting, names of systems."""

from argparse import Namespace

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from eval.translation.decoding import Truncated
from eval.translation.directions import choose_directions
from eval.translation.journal import Journal
from fairseq_ext.data.language_tags import LanguageTags
from tests.fairseq_ext.folders import write_dictionaries, write_pair, write_preparation
from tests.fairseq_ext.models import toy_dictionary

# --- the journal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path, settings, *entries) -> None:
    with Journal(path, settings) as journal:
        for entry in entries:
            journal.add(entry)


def test_entries_survive(path):
    write(path, {"beam": 5}, [1, 2], {"a": "ü"})
    write(path, {"beam": 5}, "third")
    assert Journal(path, {"beam": 5}).entries == [[1, 2], {"a": "ü"}, "third"]


def test_a_journal_of_other_settings_is_discarded(path):
    write(path, {"beam": 5}, "first")
    assert Journal(path, {"beam": 4}).entries == []
    write(path, {"beam": 4}, "other")
    assert Journal(path, {"beam": 5}).entries == []


def test_whatever_a_kill_leaves_of_the_file_whole_entries_are_read_and_can_be_continued(path):
    entries = [{"examples": [number], "tokens": [[number, 7]]} for number in range(3)]
    write(path, {"beam": 5}, *entries)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        found = Journal(path, {"beam": 5}).entries
        assert found == entries[: len(found)]
        assert len(found) == max(0, content[:length].count(b"\n") - 1)
        write(path, {"beam": 5}, "next")
        assert Journal(path, {"beam": 5}).entries == [*found, "next"]


def test_a_damaged_line_is_dropped_and_said(path, capsys):
    entries = [{"examples": [number], "tokens": [[number, 7]]} for number in range(3)]
    write(path, {"beam": 5}, *entries)
    content = path.read_bytes()
    for position in range(content.index(b"\n") + 1, len(content)):
        if content[position] == ord("\n"):  # two lines in one; the last is one that was cut off
            continue
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        number = content[:position].count(b"\n") + 1
        assert Journal(path, {"beam": 5}).entries == entries[: number - 2] + entries[number - 1 :]
        assert capsys.readouterr().err == f"{path}:{number}: damaged; what it held is done again\n"
    path.write_bytes(content.replace(b"[1]", b"[2]"))
    write(path, {"beam": 5}, entries[1])
    assert Journal(path, {"beam": 5}).entries == [entries[0], entries[2], entries[1]]


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\n", b"[]\n[]\n", b'{"beam": 5}\n{"examples": 3}\n'])
def test_a_file_that_is_no_journal_is_discarded(path, content):
    path.write_bytes(content)
    assert Journal(path, {"beam": 5}).entries == []


def test_a_journal_that_shall_not_be_kept_is_discarded(path):
    write(path, {"beam": 5}, 1)
    assert Journal(path, {"beam": 5}, keep=False).entries == []


def test_removed_when_done(path):
    write(path, {}, 1)
    Journal(path, {}).remove()
    assert not path.exists()


# --- directions


@pytest.fixture
def task():
    tags = LanguageTags(toy_dictionary(3), ["de", "en", "fr"], "t-enc")
    return Namespace(tags=tags, supervised=[("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en")])


@pytest.fixture
def folder(tmp_path):
    for pair in ("de-en", "en-fr", "de-fr", "de-it"):
        write_pair(tmp_path, "test", pair, [[4, 2]], [[4, 2]])
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "pivot", "expected"),
    [
        ("all", None, "de-en de-fr en-de en-fr fr-de fr-en"),
        ("supervised", None, "de-en en-de en-fr fr-en"),
        ("zero-shot", None, "de-fr fr-de"),
        ("fr-de,de-en", None, "de-en fr-de"),
        ("all", "en", "de-fr fr-de"),
        ("fr-de,de-en", "en", "fr-de"),
    ],
)
def test_directions(task, folder, wanted, pivot, expected):
    found = choose_directions(task, folder, "test", wanted, pivot)
    assert [*map("-".join, found)] == expected.split()


@pytest.mark.parametrize(
    ("wanted", "pivot", "message"),
    [
        ("de-it", None, "language 'it': the model has no tag for it; known languages: de, en, fr"),
        ("all", "it", "language 'it': the model has no tag for it; known languages: de, en, fr"),
        ("de", None, "--directions: 'de' is not SOURCE-TARGET"),
        ("de-en,de-en", None, "--directions: 'de-en' occurs twice"),
        ("supervised", "en", "no test set for supervised directions between the languages of the model"),
    ],
)
def test_bad_directions(task, folder, wanted, pivot, message):
    with pytest.raises(InputError, match=message):
        choose_directions(task, folder, "test", wanted, pivot)


def test_direction_without_data(task, folder):
    """It is left out of a set of directions only if the folder never had it."""
    for path in folder.glob("test.de-fr.*"):
        path.unlink()
    with pytest.raises(InputError, match=r"test.de-fr.de.idx: no such file"):
        choose_directions(task, folder, "test", "de-fr")
    assert ("de", "fr") not in choose_directions(task, folder, "test", "all")


@pytest.mark.parametrize("language", ["de", "fr"])
def test_direction_whose_data_is_gone(task, folder, language):
    write_dictionaries(folder, ["de", "en", "fr"])
    write_preparation(folder)
    (folder / f"test.de-fr.{language}.idx").unlink()
    for wanted in ("all", "zero-shot"):
        with pytest.raises(InputError, match=rf"test.de-fr.{language}.idx: no such file, but preparation"):
            choose_directions(task, folder, "test", wanted)


# --- sentences longer than the model reads


def test_long_sentences_are_cut_before_their_end():
    sentences = [torch.tensor([4, 5, 6, 7, 2]), torch.tensor([4, 5, 2]), torch.tensor([2])]
    cut = Truncated(sentences, np.array([5, 3, 1]), room=3)
    assert [cut[index].tolist() for index in range(3)] == [[4, 5, 2], [4, 5, 2], [2]]
    assert (cut.sizes.tolist(), cut.too_long) == ([3, 3, 1], 1)
