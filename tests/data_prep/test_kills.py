"""Every step, killed wherever it changes the file system and run again, ends as if nothing had happened."""

import functools
import importlib
import io
import os
import shutil
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from command_line.completion import read_settings
from command_line.dispatch import run
from command_line.errors import InputError
from data_prep.__main__ import DESCRIPTION, STEPS
from data_prep.formats.preparation import Preparation
from data_prep.formats.structures import BUNSETSU, encode, write_structures
from data_prep.formats.texts import find_bitexts, find_texts
from data_prep.parsing.parsers import LOADED
from data_prep.spacing import spelled
from tests.kill_points import sweep

LINES = {"de": "das ist Zeile {} , gut .", "en": "this is line {} , good ."}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Text in de and en, and the folders tok, sub, data and analyses made of it."""
    root = tmp_path_factory.mktemp("corpus")
    (root / "raw").mkdir()
    for split, count in (("train", 30), ("valid", 4), ("test", 5)):
        for language, line in LINES.items():
            text = "".join(line.format(f"{split}{number}") + "\n" for number in range(count))
            (root / f"raw/{split}.de-en.{language}").write_text(text)
    for command in (
        f"tokenize --input {root}/raw --output {root}/tok --workers 1",
        f"subword --input {root}/tok --output {root}/sub --merges 20 --workers 1",
        f"binarize --input {root}/sub --text {root}/raw --output {root}/data --workers 1",
    ):
        assert step(command) == 0, command
    (root / "analyses").mkdir()
    for split in ("train", "valid"):
        lines = (root / f"tok/{split}.de-en.en").read_text().splitlines()
        values = [encode([], range(len(line.split()))) for line in lines]
        write_structures(root / f"analyses/{split}.de-en.en.bunsetsu", BUNSETSU, values)
    return root


def step(command: str) -> int:
    return run("data_prep", DESCRIPTION, STEPS, command.split())


def opus_archive(folder: Path, corpus: Path) -> None:
    """The corpus as the archive of OPUS-100."""
    folder.mkdir()
    names = {"train": "train", "valid": "dev", "test": "test"}
    with tarfile.open(folder / "opus-100-corpus-v1.0.tar.gz", "w:gz") as tar:
        for path in sorted((corpus / "raw").glob("*.de-en.*")):
            split, pair, code = path.name.split(".")
            name = f"opus-100-corpus/v1.0/supervised/{pair}/opus.{pair}-{names[split]}.{code}"
            content = path.read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def analyses_of(folder: Path, corpus: Path) -> None:
    """The English side, parsed: every word hangs on the last one."""
    folder.mkdir()
    for path in sorted((corpus / "tok").glob("*.en")):
        with open(folder / f"{path.name}.conllu", "w") as stream:
            for line in path.read_text().splitlines():
                words = list(map(spelled, line.split()))
                for number, word in enumerate(words, start=1):
                    head, relation = (0, "root") if number == len(words) else (len(words), "dep")
                    cells = (number, word, "_", "X", "_", "_", head, relation, "_", "_")
                    stream.write("\t".join(map(str, cells)) + "\n")
                stream.write("\n")


class Knp:
    """Every sentence is one bunsetsu."""

    def __init__(self, jumanpp):
        pass

    def apply_to_sentence(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(phrases=[SimpleNamespace(text=text)])


def japanese(root: Path, monkeypatch) -> None:
    """Tokenized text, and a stand-in for its parser."""
    (root / "japanese").mkdir()
    (root / "japanese/train.en-ja.ja").write_text("父 が 外国 へ 行く 。\n" * 25)
    monkeypatch.setitem(sys.modules, "rhoknp", SimpleNamespace(KNP=Knp, Jumanpp=lambda *_, **__: None))
    (root / "bin").mkdir()
    for name in ("knp", "jumanpp"):
        (root / "bin" / name).write_text("#!/bin/sh\n")
        (root / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(root / "bin"), prepend=os.pathsep)
    LOADED.make.cache_clear()


CORPUS = "--workers 1 --input {corpus}"
CASES = {
    "phrasebook": "--langs de,en --train-lines 5 --valid-lines 2 --test-lines 2 --output {out}",
    "download": "opus100 --langs de,en --from-folder {out.parent}/archive --output {out}",
    "clean": CORPUS + "/raw --output {out}",
    "low-resource": "--input {corpus}/raw --sizes 5,10 --output {out}",
    "tokenize": CORPUS + "/raw --output {out}",
    "subword": CORPUS + "/tok --output {out} --merges 10",
    "binarize": CORPUS + "/sub --text {corpus}/raw --output {out}",
    "align": CORPUS + "/tok --subword {corpus}/sub --data {data} --output {out}",
    "bunsetsu": "--workers 1 --input {out.parent}/japanese --output {out} --parser knp",
    "phrases": CORPUS + "/tok --output {out} --lang en --parser conllu --parses {out.parent}/parses",
    "structures": CORPUS + "/analyses --tokenized {corpus}/tok --subword {corpus}/sub --data {data}",
}


HEAVY = {
    "phrasebook": ("babel.dates", "babel.numbers", "num2words"),
    "subword": ("subword_nmt.learn_bpe", "subword_nmt.apply_bpe"),
}


def read_output(name: str, out: Path, data: Path) -> object:
    """As the next step does."""
    if name == "low-resource":
        return [find_texts(out / size) for size in ("5", "10", "monolingual")]
    if name == "binarize":
        from data_prep.formats.sentences import load_pair

        Preparation.load(out)
        return load_pair(out, "train", ("de", "en"))
    if name in ("align", "bunsetsu", "phrases", "structures"):
        places = {
            "align": [(out, name), (data, "align.fast_align")],
            "bunsetsu": [(out, "bunsetsu.ja")],
            "phrases": [(out, "phrases.en")],
            "structures": [(data, name)],
        }
        records = [read_settings(*place) for place in places[name]]
        if None in records:
            raise InputError("not begun")
        return records
    return find_bitexts(out)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_killed_and_run_again_gives_the_files_of_an_undisturbed_run(name, corpus, tmp_path, monkeypatch):
    for module in HEAVY.get(name, ()):
        importlib.import_module(module)  # once here, not in every child
    monkeypatch.setattr("data_prep.parsing.step.LINES_PER_SHARD", 10)
    work, out, data = tmp_path / "work", tmp_path / "work/out", tmp_path / "work/data"
    opus_archive(tmp_path / "archive", corpus) if name == "download" else None
    analyses_of(tmp_path / "parses", corpus) if name == "phrases" else None
    japanese(tmp_path, monkeypatch) if name == "bunsetsu" else None
    command = f"{name} {CASES[name]}".replace("{out.parent}", str(tmp_path))
    command = command.format(corpus=corpus, out=out, data=data)

    def reset() -> None:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        if "{data}" in CASES[name]:
            shutil.copytree(corpus / "data", data)

    sweep(functools.partial(step, command), [work], reset, lambda: read_output(name, out, data), InputError)
