"""The embedded corpus: right, deterministic, disjoint, without leaks."""

import hashlib
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from data_prep.phrasebook.rendering import PHRASES, SUPPORTED, Renderer, chinese_number
from data_prep.phrasebook.step import Phrasebook
from data_prep.phrasebook.structures import FRAMES, Draws, draw_structure

ROOT = Path(__file__).parents[2]


def folder_sum(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.*-*.*")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def test_lines_that_can_be_checked_by_eye():
    structure = (
        ("train", "date", "2027-05-07", "future", (16, "day")),
        ("visit", "countries-and", ("DE", "IT", "PE")),
    )
    expected = {
        "en": "The next train leaves on this day: Friday, May 7, 2027 (in 16 days). "
        "We want to visit these countries: Germany, Italy, and Peru.",
        "de": "Der nächste Zug fährt an diesem Tag: Freitag, 7. Mai 2027 (in 16 Tagen). "
        "Wir möchten diese Länder besuchen: Deutschland, Italien und Peru.",
        "fr": "Le prochain train part à cette date : vendredi 7 mai 2027 (dans 16 jours). "
        "Nous voulons visiter ces pays : Allemagne, Italie et Pérou.",
        "ja": "次の列車はこの日に出発します：2027年5月7日金曜日（16日後）。"
        "私たちはこれらの国を訪れたいです：ドイツ、イタリア、ペルー。",
        "ru": "Следующий поезд отправляется в этот день: пятница, 7 мая 2027 г. (через 16 дней). "
        "Мы хотим посетить эти страны: Германия, Италия и Перу.",
    }
    assert {language: Renderer(language).render(structure) for language in expected} == expected


@pytest.mark.parametrize("language", SUPPORTED)
def test_every_language_says_everything(language):
    assert set(PHRASES[language]) == set(FRAMES)
    assert len(set(PHRASES[language].values())) == len(FRAMES)
    renderer, draws = Renderer(language), Draws(5)
    structures = {draw_structure(draws) for _ in range(300)}
    lines = [renderer.render(structure) for structure in structures]
    assert len(set(lines)) == len(lines)  # different meanings, different lines
    for line in lines:
        assert line == " ".join(line.split()) and line.isprintable()
        assert not any(
            trace in line for trace in ("duration-", "length-", "mass-", "volume-", "{", "}", "None")
        )


def test_at_least_twenty_languages():
    assert len(SUPPORTED) >= 20


@pytest.mark.parametrize(
    ("number", "text"), [(2, "二"), (10, "十"), (12, "十二"), (40, "四十"), (99, "九十九")]
)
def test_chinese_numbers(number, text):
    assert chinese_number(number) == text


def test_draws_use_only_what_python_promises_to_keep():
    draws = Draws(1)  # from Random(1).random(): 0.134…, 0.847…, 0.763…, 0.255…, 0.495…
    assert [draws.below(10) for _ in range(3)] == [1, 8, 7]
    assert draws.some_of(("a", "b", "c", "d"), 2) == ("b", "c")


def test_splits_are_disjoint_multiway_and_exactly_as_long_as_asked(prepared, read):
    raw = prepared / "raw"
    languages = ("de", "en", "fr")
    for split, lines in (("valid", 20), ("test", 30)):
        for pair in combinations(languages, 2):
            assert [len(read(raw / f"{split}.{'-'.join(pair)}.{code}")) for code in pair] == [lines, lines]
        assert read(raw / f"{split}.de-en.de") == read(raw / f"{split}.de-fr.de")
        assert read(raw / f"{split}.de-en.en") == read(raw / f"{split}.en-fr.en")
    train = {path.name: read(path) for path in raw.glob("train.*")}
    assert sorted(train) == ["train.de-en.de", "train.de-en.en", "train.en-fr.en", "train.en-fr.fr"]
    for lines in train.values():
        assert len(lines) == len(set(lines)) == 300
    assert not set(train["train.de-en.en"]) & set(train["train.en-fr.en"])
    training_lines = set().union(*train.values())
    for path in (*raw.glob("valid.*"), *raw.glob("test.*")):
        assert not training_lines & set(read(path)), path
    assert not set(read(raw / "valid.de-en.en")) & set(read(raw / "test.de-en.en"))
    for path in raw.glob("*.*-*.*"):
        for line in read(path):
            words = [word for word in line.split() if any(c.isalnum() for c in word)]
            assert 4 <= len(words) <= 20


def test_same_corpus_in_another_process_and_with_another_hash_seed(prepared, tmp_path):
    command = "phrasebook --langs fr,en,de --train-lines 300 --valid-lines 20 --test-lines 30 --output"
    environment = os.environ | {"PYTHONHASHSEED": "77"}
    words = [sys.executable, "-m", "data_prep", *command.split(), str(tmp_path)]
    subprocess.run(words, cwd=ROOT, env=environment, check=True, capture_output=True)
    assert folder_sum(tmp_path) == folder_sum(prepared / "raw")


def test_another_seed_gives_another_corpus(step, tmp_path):
    sums = set()
    for seed in (1, 2):
        arguments = [
            "phrasebook",
            "--langs",
            "en,ja",
            "--train-lines",
            "20",
            "--valid-lines",
            "5",
            "--test-lines",
            "5",
            "--seed",
        ]
        assert step(*arguments, seed, "--output", tmp_path / str(seed))[0] == 0
        sums.add(folder_sum(tmp_path / str(seed)))
    assert len(sums) == 2


def test_variety_is_enough_for_large_corpora():
    draws = Draws(3)
    drawn = [structure for structure in (draw_structure(draws) for _ in range(50_000)) if len(structure) == 2]
    assert len(drawn) > 25_000
    # n draws from k equally likely lines repeat about n * n / 2k times: k is several ten million
    assert len(drawn) - len(set(drawn)) < 100


def test_exhaustion_is_an_error_and_not_an_endless_loop(monkeypatch):
    from command_line.errors import InputError
    from data_prep.phrasebook import step as module

    monkeypatch.setattr(module, "draw_structure", lambda draws: (("room", "number", 5),))
    book = Phrasebook(["en"], "en", 1)
    book.multiway()
    with pytest.raises(InputError, match="no new line"):
        book.multiway()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--langs en,xx", "no language 'xx'"),
        ("--langs en", "expected at least two"),
        ("--langs en,de,en", "found 'en,de,en': en occurs twice"),
        ("--langs de,fr", "--centric: 'en'"),
        ("--langs en,de --train-lines 0", "--train-lines: found '0'"),
        ("--langs en,../de", "expected a language code"),
    ],
)
def test_bad_arguments(step, tmp_path, arguments, message):
    status, error = step("phrasebook", "--output", tmp_path / "out", *arguments.split())
    assert status == 2
    assert message in error and error.count("\n") == 1
