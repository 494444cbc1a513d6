"""Names of files as corpora have them: split, languages, and which files are sides of one text."""

from pathlib import Path

import pytest

from command_line.errors import InputError
from data_prep.importing.formats import find_sources
from data_prep.importing.names import languages_in_name, side_in_name, split_in_name

SIDES = {
    "train.de-en.de": ("train.de-en", "de", "train"),
    "dev.en-hau.hau.xz": ("dev.en-hau", "hau", "valid"),
    "Tatoeba.de-en.en": ("Tatoeba.de-en", "en", None),
    "opus.de-en-train.de": ("opus.de-en-train", "de", "train"),
    "newstest2019-src.eng.txt": ("newstest2019", "eng", "test"),
    "newstest2019-ref.srp-Cyrl.txt": ("newstest2019", "srp_Cyrl", "test"),
    "newsdev2021-ref.ha.sgm": ("newsdev2021", "ha", "valid"),
    "newstest2014-deen-src.de.sgm": ("newstest2014-deen", "de", "test"),
    "eng_Latn.devtest": ("devtest", "eng_Latn", "test"),
    "zho_Hans.dev": ("dev", "zho_Hans", "valid"),
    "europarl-v7.de-en.de.gz": ("europarl-v7.de-en", "de", None),
    "validation.fr.zst": ("validation", "fr", "valid"),
    "contest.de": ("contest", "de", None),
}


@pytest.mark.parametrize("name", SIDES)
def test_sides(name):
    side = side_in_name(Path(name))
    assert (side.group, side.language, split_in_name(Path(name))) == SIDES[name]


@pytest.mark.parametrize("name", ["README.md", "README", "train.log", "notes.txt", "train.de-en.fr"])
def test_names_without_a_language(name):
    assert side_in_name(Path(name)) is None


def test_languages_of_files_of_both():
    assert languages_in_name(Path("train.de-en.tsv.gz")) == ("de", "en")
    assert languages_in_name(Path("Tatoeba.en_GB-pt_BR.tmx")) == ("en_GB", "pt_BR")
    assert languages_in_name(Path("news-commentary-v16.cs-en.tsv")) == ("cs", "en")
    assert languages_in_name(Path("train-00000-of-00001.parquet")) == ()


def write(folder, *names):
    for name in names:
        (folder / name).write_text(f"{name}\n", encoding="utf-8")
    return folder


def test_files_of_a_folder_become_tables(tmp_path, capsys):
    folder = write(
        tmp_path, "README.md", "eng_Latn.dev", "fra_Latn.dev", "deu_Latn.devtest", "eng_Latn.devtest"
    )
    sources = find_sources([folder], None, (), {})
    assert [(source.split, source.table.languages) for source in sources] == [
        ("test", ("deu_Latn", "eng_Latn")), ("valid", ("eng_Latn", "fra_Latn")),
    ]  # fmt: skip
    assert capsys.readouterr().err == f"{folder}/README.md: its name says no language; skipped\n"


def test_one_side_of_a_pair_alone(tmp_path):
    write(tmp_path, "train.de-en.de", "newstest2014-deen-src.de.sgm")
    with pytest.raises(InputError, match=r"train.de-en.de: its other side, train.de-en.en, is not there"):
        find_sources([tmp_path], None, (), {})
    (source,) = find_sources([tmp_path / "train.de-en.de"], None, ("de",), {})
    assert source.table.languages == ("de",)


def test_a_name_that_is_two_codes_by_chance(tmp_path):
    """Neither is English, so the name does not speak of its sides."""
    write(tmp_path, "is-it.en")
    (source,) = find_sources([tmp_path], None, (), {})
    assert source.table.languages == ("en",)


@pytest.mark.parametrize("names", [("a.txt", "b.txt"), ("en.de", "de.en"), ("input", "output.tok")])
def test_two_files_of_any_names(tmp_path, names):
    write(tmp_path, *names)
    (source,) = find_sources([tmp_path / name for name in names], None, ("de", "fr"), {})
    assert source.table.languages == ("de", "fr")
    (block,) = source.table.blocks()
    assert source.table.columns(block) == [[name] for name in names]
