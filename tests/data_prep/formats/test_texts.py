"""Finding bitexts, and folders that steps write."""

import json
import os
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from command_line.completion import read_settings
from command_line.errors import InputError
from data_prep.formats.texts import (
    LANGUAGES,
    check_parallel,
    find_bitexts,
    find_texts,
    is_corpus_file,
    languages_of,
    open_outputs,
)
from data_prep.step_folder import StepFolder


def names(folder, *files):
    folder.mkdir(exist_ok=True)
    for name in files:
        (folder / name).write_text("x\n")
    return folder


def test_order_names_and_languages(tmp_path):
    folder = names(
        tmp_path, "test.de-fr.de", "test.de-fr.fr", "train.en-de.de.gz", "train.en-de.en", "notes.txt", "a.b"
    )
    first, second = find_bitexts(folder)
    assert (first.split, first.pair, first.languages) == ("train", "de-en", ("de", "en"))
    assert [path.name for path in first.paths] == ["train.en-de.de.gz", "train.en-de.en"]
    assert first.names() == ("train.de-en.de", "train.de-en.en")
    assert (second.split, second.pair) == ("test", "de-fr")
    assert languages_of([first, second]) == ["de", "en", "fr"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "no files named"),
        (["train.de-en.de"], "train.de-en.de has no other side, expected train.de-en.en"),
        (["train.de-en.de", "train.de-en.fr"], "language 'fr' is not one of the two of the pair 'de-en'"),
        (["train.de-de.de"], "is not one of the two"),
        (["train.de-en.de", "train.en-de.de"], "the same side as"),
        (["train.de-en.de", "train.de-en.de.gz"], "the same side as"),
        (["valid.de-en.de", "valid.de-en.en", "dev.de-en.de", "dev.de-en.en"], "the same side as"),
        (["train.de-en.tsv"], "is no plain text; `python -m data_prep import` reads other names and formats"),
        (["a.tsv"], "monolingual\\); `python -m data_prep import` reads other names and formats"),
        (["train.en-pt-BR.pt-BR"], "write '_' within a code: train.en-pt_BR.pt_BR"),
        (["train.pt-BR"], "write '_' within a code: pt_BR"),
        (["devtest.de-en.de"], "is 'devtest' for validation or test\\? Rename it: valid or test"),
    ],
)
def test_bad_folders(tmp_path, files, message):
    with pytest.raises(InputError, match=message):
        find_bitexts(names(tmp_path, *files))
    with pytest.raises(InputError, match="no such folder"):
        find_bitexts(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["dev", "validation"])
def test_other_names_of_the_validation_set(tmp_path, name):
    (text, alone) = find_texts(names(tmp_path, f"{name}.de-en.de", f"{name}.de-en.en.zst", f"{name}.ja"))
    assert (text.split, text.names()) == ("valid", ("valid.de-en.de", "valid.de-en.en"))
    assert [path.name for path in text.paths] == [f"{name}.de-en.de", f"{name}.de-en.en.zst"]
    assert alone.names() == ("valid.ja",)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    (tmp_path / "train.de-en.en").write_text("a\n")
    os.mkfifo(tmp_path / "train.de-en.de")
    with pytest.raises(InputError, match=r"train.de-en.de: is no regular file; expected one, since"):
        find_texts(tmp_path)


def test_monolingual_text_beside_bitexts(tmp_path):
    folder = names(tmp_path, "train.de-en.de", "train.de-en.en", "train.ja", "valid.zho_Hans.xz")
    names(tmp_path, "train.text", "notes.ja", "ja")  # none of these
    bitext, japanese, chinese = find_texts(folder)
    assert find_bitexts(folder) == [bitext]
    assert (japanese.split, japanese.pair, japanese.languages) == ("train", "ja", ("ja",))
    assert (bitext.is_bitext, japanese.is_bitext) == (True, False)
    assert chinese.names() == ("valid.zho_Hans",)
    assert chinese.outputs(tmp_path / "out") == (tmp_path / "out/valid.zho_Hans",)
    assert languages_of([bitext, japanese]) == ["de", "en", "ja"]
    (folder / "train.ja.gz").write_text("x\n")
    with pytest.raises(InputError, match=r"train.ja.gz: the same side as train.ja; keep one"):
        find_texts(folder)


@pytest.mark.parametrize("ending", ["log", "txt", "tsv", "txt.gz", "tar.gz"])
def test_other_files_are_no_text_in_a_small_language(ending):
    assert not is_corpus_file(Path(f"train.{ending}"))
    assert is_corpus_file(Path("train.pt")) and is_corpus_file(Path("valid.zho_Hans.xz"))


def test_text_that_is_named_as_other_files_are_is_skipped_with_a_line(tmp_path, capsys):
    for name in ("train.bak", "notes.bak", "train.bak-ru.bak", "train.bak-ru.ru", "valid.bak_Cyrl", "x.log"):
        (tmp_path / name).write_text("x\n")
    assert [text.pair for text in find_texts(tmp_path)] == ["bak-ru", "bak_Cyrl"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{tmp_path}/train.bak: skipped, as .bak is the ending of other files; if it is")
    assert line.endswith("too: train.bak_Latn")


def test_where_pairs_are_needed_monolingual_text_alone_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"has monolingual text only, expected files SPLIT.SRC-TGT.LANG"):
        find_bitexts(names(tmp_path, "train.ja"))


def test_empty_monolingual_text(tmp_path):
    (tmp_path / "train.ja").write_text("")
    with pytest.raises(InputError, match=r"train.ja: is empty"):
        check_parallel(find_texts(tmp_path))


def test_languages():
    assert LANGUAGES("en, de,pt_BR") == ["de", "en", "pt_BR"]
    for bad in ("en", "", "en,", "en,en", "en,D!", "en,../x", "en,klingon"):
        with pytest.raises(ArgumentTypeError):
            LANGUAGES(bad)


def test_languages_are_spelled_as_their_user_does():
    codes = ["arz", "deu", "en_XX", "es_419", "zh_Hans", "zh_Hans_CN", "zho_Hans", "zho_Hant"]
    assert LANGUAGES(",".join(codes)) == codes
    with pytest.raises(ArgumentTypeError, match="found 'zh-Hans', expected zh_Hans: '-' separates languages"):
        LANGUAGES("en,zh-Hans")


def test_files_of_long_codes(tmp_path):
    folder = names(tmp_path, *(f"test.eng_Latn-zho_Hans.{code}" for code in ("eng_Latn", "zho_Hans")))
    (bitext,) = find_bitexts(folder)
    assert (bitext.pair, bitext.languages) == ("eng_Latn-zho_Hans", ("eng_Latn", "zho_Hans"))


def test_outputs_appear_together_or_not_at_all(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(ZeroDivisionError), open_outputs(paths) as streams:
        streams[0].write(b"x")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with open_outputs(paths) as streams:
        streams[1].write(b"x")
        assert not any(path.exists() for path in paths)
    assert [path.read_bytes() for path in paths] == [b"", b"x"]


def is_text(path):
    return path.suffix == ".txt"


def test_a_step_folder_knows_its_own_files(tmp_path):
    folder = StepFolder(tmp_path, "s", {"a": 1})
    assert not folder.is_complete()
    with pytest.raises(ZeroDivisionError), folder.writing(is_text):
        (tmp_path / "old.txt").write_text("")
        raise ZeroDivisionError
    with pytest.raises(InputError, match="`s` did not finish"):
        read_settings(tmp_path, "s")
    with StepFolder(tmp_path, "s", {"a": 1}).writing(is_text):  # what lies there is ours
        assert not (tmp_path / "old.txt").exists()
        (tmp_path / "new.txt").write_text("")
    assert folder.is_complete() and read_settings(tmp_path, "s") == {"a": 1}
    other = StepFolder(tmp_path, "s", {"a": 2})
    assert not other.is_complete() and not folder.is_complete(force=True)
    with other.writing(is_text):
        assert not (tmp_path / "new.txt").exists()


def test_a_step_folder_leaves_the_files_of_others(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/deep.txt").write_text("precious")
    with (
        pytest.raises(InputError, match=r"mine\.txt: exists and is not from this step"),
        StepFolder(tmp_path, "s", {}).writing(is_text),
    ):
        pass
    (tmp_path / "s.json").write_text('{"how": "rules of mine"}')  # no record of ours
    with (
        pytest.raises(InputError, match=r"mine\.txt: exists and is not from this step"),
        StepFolder(tmp_path, "s", {"size": 1}).writing(is_text),
    ):
        pass
    assert (tmp_path / "mine.txt").read_text() == "precious"
    (tmp_path / "mine.txt").unlink()
    (tmp_path / "s.json").unlink()
    with StepFolder(tmp_path, "s", {}).writing(is_text):
        assert (tmp_path / "sub/deep.txt").exists()
    with pytest.raises(InputError, match="is the input folder"):
        StepFolder(tmp_path, "s", {}, inputs=(tmp_path,))
    assert read_settings(tmp_path, "other") is None


def test_a_step_folder_leaves_the_files_of_others_though_a_redo_was_killed(tmp_path):
    """And removes what the killed one wrote, as all that the step itself wrote before."""

    def write(*files: str, is_killed: bool = False) -> None:
        with StepFolder(tmp_path, "s", {"files": files}).writing(is_text):
            for name in files:
                (tmp_path / name).write_text("of the step")
            if is_killed:
                raise KeyboardInterrupt

    write("old.txt")
    (tmp_path / "mine.txt").write_text("precious")
    for files in (("old.txt", "killed.txt"), ("killed.txt", "new.txt")):
        with pytest.raises(KeyboardInterrupt):
            write(*files, is_killed=True)
    write("new.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"mine.txt", "new.txt", "s.json"}
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert list(json.loads((tmp_path / "s.json").read_text())["outputs"]) == ["new.txt"]
