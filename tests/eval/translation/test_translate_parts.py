"""The parts of `translate`: choice of directions, cutting, names of systems."""

from argparse import Namespace

import pytest

from command_line.errors import InputError
from eval.translation.directions import choose_directions
from fairseq_ext.data.language_tags import LanguageTags
from tests.fairseq_ext.folders import write_dictionaries, write_pair, write_preparation
from tests.fairseq_ext.models import toy_dictionary

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
    directions = choose_directions(task, folder, "test", wanted, pivot)
    assert [*map("-".join, directions)] == expected.split()


@pytest.mark.parametrize(
    ("wanted", "pivot", "message"),
    [
        ("de-it", None, "language 'it': the model has no tag for it; known languages: de, en, fr"),
        ("all", "it", "language 'it': the model has no tag for it; known languages: de, en, fr"),
        ("en-de,fr-en", "en", "--pivot en: en-de,fr-en has no zero-shot direction between other languages"),
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
