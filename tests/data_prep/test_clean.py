"""Cleaning: exact counts, alignment, bounded-memory duplicate search against a plain oracle."""

import json
import random
import unicodedata

import numpy as np
import pytest

from data_prep import duplicates
from data_prep.duplicates import duplicate_flags, key
from data_prep.line_filters import Limits, reason_to_remove
from data_prep.normalization import normalize, words, words_of_unspaced


def corpus(write_corpus, folder, train, valid=(("bewerten", "evaluate"),), test=(("prüfen", "test it"),)):
    files = {}
    for split, rows in (("train", train), ("valid", valid), ("test", test)):
        for side, code in enumerate(("de", "en")):
            files[f"{split}.de-en.{code}"] = [row[side] for row in rows]
    return write_corpus(folder, files)


def pairs(read, folder, split="train"):
    return list(zip(read(folder / f"{split}.de-en.de"), read(folder / f"{split}.de-en.en"), strict=True))


@pytest.fixture
def clean(step, tmp_path):
    """Clean a folder into `out`; returns what the step says."""

    def run(folder, *words, workers: int = 1, status: int = 0) -> str:
        output = ("--output", tmp_path / "out", "--workers", workers)
        found, said = step("clean", "--input", folder, *output, *words)
        assert found == status, said
        return said

    return run


def test_every_reason_is_counted_once_and_pairs_stay_aligned(clean, tmp_path, write_corpus, read):
    train = [
        ("Guten Tag", "Good day"),
        ("", "no source"),
        ("kein Ziel", " \u00a0 "),
        ("Guten  Tag ", "Good day"),  # a duplicate once spaces are normal
        ("bewerten", "rate"),  # source side of a valid line
        ("mach das", "test it"),  # target side of a test line
        ("test it", "prüfen"),  # evaluation lines of the other language do not count
        ("wort " * 257, "word " * 257),
        ("x" * 6000, "y"),
        ("eins", "one two three four five six seven eight nine ten"),
        ("eins", "one two three four five six seven eight nine"),
        ("Guten Tag", "Good morning"),  # only the pair counts as a duplicate
        ("Ma\u0308rz\x07", "March\ufeff"),
    ]
    folder = corpus(write_corpus, tmp_path / "in", train)
    clean(folder)
    assert pairs(read, tmp_path / "out") == [
        ("Guten Tag", "Good day"),
        ("test it", "prüfen"),
        ("eins", "one two three four five six seven eight nine"),
        ("Guten Tag", "Good morning"),
        ("März", "March"),
    ]
    report = json.loads((tmp_path / "out/clean-report.json").read_text())["corpora"]["train.de-en"]
    assert report == {
        "read": 13,
        "written": 5,
        "changed": 2,  # of the pairs that passed the filters, the duplicate included
        "removed": {"empty": 2, "too-long": 2, "ratio": 1, "in-evaluation": 2, "duplicate": 1},
    }
    assert "train.de-en | 13 | 5 | 2 | 2 | 1 | 2 | 1" in (tmp_path / "out/clean.md").read_text()


def naive_clean(train, evaluation):
    """The rules once more, line by line, with everything in memory."""

    def tidy(line):
        kept = "".join(
            c for c in line if c in "\t\x1c\x85\u2028" or unicodedata.category(c) not in ("Cc", "Cf")
        )
        return " ".join(unicodedata.normalize("NFC", kept).split())

    evaluation = [{tidy(row[side]) for row in evaluation} for side in (0, 1)]
    seen, result = set(), []
    for row in train:
        pair = tuple(map(tidy, row))
        sizes = [len(line.split()) for line in pair]
        if not all(sizes) or max(sizes) > 256 or max(sizes) > 9 * min(sizes):
            continue
        if pair[0] in evaluation[0] or pair[1] in evaluation[1] or pair in seen:
            continue
        seen.add(pair)
        result.append(pair)
    return result


@pytest.mark.parametrize("workers", [1, 2])
def test_equals_a_plain_implementation_on_dirty_text(
    clean, tmp_path, write_corpus, read, monkeypatch, workers
):
    monkeypatch.setattr(duplicates, "KEYS_PER_SORT", 700)  # several partitions
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 300)
    draws = random.Random(9)
    pieces = [*"ab ßé字", "e\u0301", "  ", *"\u00a0\x07\ufeff\u2028\x85", "", ""]

    def line():
        return "".join(draws.choice(pieces) for _ in range(draws.randint(0, 7)))

    train = [(line(), line()) for _ in range(4000)]
    evaluation = [(line() or "a", line() or "b") for _ in range(60)]
    folder = corpus(write_corpus, tmp_path / "in", train, valid=evaluation[:30], test=evaluation[30:])
    clean(folder, workers=workers)
    assert pairs(read, tmp_path / "out") == naive_clean(train, evaluation)
    assert not list((tmp_path / "out").glob(".partial*"))


def test_evaluation_sets_are_normalized_but_never_filtered(clean, tmp_path, write_corpus, read):
    test = [("", "nothing"), ("gleich", "same"), ("gleich", "same"), ("e\u0301", "x " * 300)]
    folder = corpus(write_corpus, tmp_path / "in", [("a", "b")], test=test)
    clean(folder)
    assert pairs(read, tmp_path / "out", "test") == [
        ("", "nothing"),
        ("gleich", "same"),
        ("gleich", "same"),
        ("é", ("x " * 300).strip()),
    ]


def test_lines_of_other_pairs_and_other_folders_are_kept_out_of_training(clean, tmp_path, write_corpus, read):
    rows = {"train.de-en.de": ["eins", "zwei", "drei"], "train.de-en.en": ["one", "two", "three"]}
    rows |= {"test.de-fr.de": ["eins"], "test.de-fr.fr": ["un"]}
    write_corpus(tmp_path / "in", rows)
    write_corpus(tmp_path / "other", {"valid.en-it.en": ["two"], "valid.en-it.it": ["due"]})
    clean(tmp_path / "in", "--also-exclude", tmp_path / "other")
    assert pairs(read, tmp_path / "out") == [("drei", "three")]
    assert not list((tmp_path / "out").glob("valid*"))


def test_evaluation_sets_of_any_name_are_kept_out_of_training(clean, tmp_path, write_corpus, read):
    """Lines count as they are after normalization, in their language only."""
    folder = corpus(write_corpus, tmp_path / "in", [("eins", "one"), ("zwei", "two"), ("one", "drei")])
    (tmp_path / "tatoeba.deu-eng.eng").write_text("one \nthree\n", encoding="utf-8")
    (tmp_path / "dev.deu_Latn").write_text("  zwei\n\n", encoding="utf-8")
    texts = [f"en={tmp_path}/tatoeba.deu-eng.eng", f"de={tmp_path}/dev.deu_Latn"]
    clean(folder, "--exclude-text", *texts)
    assert pairs(read, tmp_path / "out") == [("one", "drei")]
    (tmp_path / "dev.deu_Latn").write_text("fünf\n", encoding="utf-8")  # another set: done again
    clean(folder, "--exclude-text", *texts)
    assert pairs(read, tmp_path / "out") == [("zwei", "two"), ("one", "drei")]
    clean(folder)
    assert len(pairs(read, tmp_path / "out")) == 3
    bucc = tmp_path / "de-en.training.en"  # sentences behind their numbers
    bucc.write_text("en-000000001\ttwo\nen-000000002\tthree\n", encoding="utf-8")
    clean(folder, "--exclude-text", f"en={bucc}")
    assert pairs(read, tmp_path / "out") == [("eins", "one"), ("one", "drei")]
    everywhere = tmp_path / "tatoeba.deu-eng.eng"  # of no language: "one" goes as English, and as German
    clean(folder, "--exclude-text", everywhere)
    assert pairs(read, tmp_path / "out") == [("zwei", "two")]


def test_a_path_may_have_an_equals_sign(clean, tmp_path, write_corpus, read):
    folder = corpus(write_corpus, tmp_path / "in", [("eins", "one"), ("zwei", "two"), ("one", "drei")])
    (tmp_path / "lang=de").mkdir()
    text = tmp_path / "lang=de" / "x=1.txt"
    text.write_text("one\n", encoding="utf-8")
    clean(folder, "--exclude-text", f"en={text}")
    assert pairs(read, tmp_path / "out") == [("zwei", "two"), ("one", "drei")]
    clean(folder, "--exclude-text", text)
    assert pairs(read, tmp_path / "out") == [("zwei", "two")]


def test_evaluation_lines_in_another_case_are_kept_out_on_request(clean, tmp_path, write_corpus, read):
    """Text that is lower-cased later: "Yes." is "yes." then, and "STRASSE" nobody's but "Straße"."""
    rows = {"train.de-en.de": ["Ja.", "Straße", "ja"], "train.de-en.en": ["Yes.", "street", "yes"]}
    write_corpus(tmp_path / "in", rows)
    write_corpus(tmp_path / "other", {"valid.de-en.de": ["STRASSE"], "valid.de-en.en": ["road"]})
    (tmp_path / "tatoeba").write_text("yes.\n", encoding="utf-8")
    others = ["--exclude-text", tmp_path / "tatoeba", "--also-exclude", tmp_path / "other"]
    clean(tmp_path / "in", *others)
    assert len(pairs(read, tmp_path / "out")) == 3
    clean(tmp_path / "in", *others, "--ignore-case")  # done again
    assert pairs(read, tmp_path / "out") == [("ja", "yes")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "fr={folder}/x",
            "--exclude-text fr={folder}/x: {folder}/in has no text in 'fr'; expected one of de, en",
        ),
        ("de={folder}/none", "{folder}/none: no such file"),
    ],
)
def test_texts_that_exclude_nothing_are_one_line(clean, tmp_path, write_corpus, text, message):
    folder = corpus(write_corpus, tmp_path / "in", [("eins", "one")])
    text, message = (each.format(folder=tmp_path) for each in (text, message))
    assert message in clean(folder, "--exclude-text", text, status=2)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["train.de-en.de", "train.de-en.en"], "has no valid or test set; --exclude-text takes"),
        (
            ["train.de-en.de", "train.de-en.en", "test.deu-fr.deu", "test.deu-fr.fr"],
            "its valid and test sets are in deu, fr; expected one of the languages of {folder}/in: de, en",
        ),
        (["test.de-fr.de", "test.de-fr.fr"], None),  # one language is enough
    ],
)
def test_folders_that_exclude_nothing_are_one_line(clean, tmp_path, write_corpus, files, message):
    folder = corpus(write_corpus, tmp_path / "in", [("eins", "one"), ("zwei", "two")])
    other = write_corpus(tmp_path / "other", {name: ["eins"] for name in files})
    error = clean(folder, "--also-exclude", other, status=2 if message else 0)
    assert f"error: --also-exclude {other}: {message}".format(folder=tmp_path) in error or not message


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("a b c d e", "a b", None),
        ("a b c d e f", "a b", "too-long"),
        ("x" * 20, "y", None),
        ("x" * 21, "y", "too-long"),
        ("a b c", "a", None),
        ("a b c d", "a", "ratio"),
        ("", "a", "empty"),
    ],
)
def test_limits_are_what_a_side_may_still_have(one, other, reason):
    """Either side, whatever the other one has."""
    limits = Limits(max_length=5, max_characters=20, max_ratio=3.0)
    for sides in ((one, other), (other, one)):
        assert reason_to_remove(sides, tuple(map(words, sides)), limits) == reason


def test_pairs_of_one_text_that_is_divided_elsewhere_are_no_duplicates(clean, tmp_path, write_corpus, read):
    rows = [("ab", "c"), ("a", "bc")]
    folder = corpus(write_corpus, tmp_path / "in", rows)
    clean(folder)
    assert pairs(read, tmp_path / "out") == rows


def test_keep_duplicates(clean, tmp_path, write_corpus, read):
    folder = corpus(write_corpus, tmp_path / "in", [("a", "b")] * 3)
    clean(folder, "--keep-duplicates")
    assert pairs(read, tmp_path / "out") == [("a", "b")] * 3


@pytest.mark.parametrize("keys_per_sort", [3, 50, 10_000])
def test_duplicate_flags_against_a_set(tmp_path, monkeypatch, keys_per_sort):
    monkeypatch.setattr(duplicates, "KEYS_PER_SORT", keys_per_sort)
    draws = random.Random(keys_per_sort)
    lines = [str(draws.randint(0, 120)) for _ in range(400)]
    (tmp_path / "k").write_bytes(b"".join(map(key, lines)))
    flags = duplicate_flags(tmp_path / "k", len(lines), tmp_path)
    assert flags.tolist() == [line in lines[:place] for place, line in enumerate(lines)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flags", "k"]


def test_keys_with_equal_halves_are_not_equal(tmp_path):
    halves = [b"\1" * 8 + b"\2" * 8, b"\1" * 8 + b"\3" * 8, b"\1" * 8 + b"\2" * 8, b"\4" * 8 + b"\2" * 8]
    (tmp_path / "k").write_bytes(b"".join(halves))
    assert duplicate_flags(tmp_path / "k", 4, tmp_path).tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("plain", "plain"),
        (" two  spaces ", "two spaces"),
        ("no\u00a0break\u2009thin", "no break thin"),
        ("tab\tand\x1cseparator\u2028line", "tab and separator line"),
        ("Ma\u0308rz \u212b", "März Å"),
        ("\ufeffmark\u200e\u202a\u200b\x00\x9f", "mark"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # the zero-width non-joiner is spelling
        ("\x07", ""),
    ],
)
def test_normalize(line, expected):
    assert normalize(line) == expected
    assert normalize(expected) == expected


def test_lengths():
    assert [words("a bb ccc"), words("")] == [3, 0]
    assert words_of_unspaced("八文字の日本語だ") == 8 / 1.6
    assert words_of_unspaced("八文字の 日本語だ") == 8 / 1.6  # a space is no character of a word


@pytest.mark.parametrize("option", ["--max-length", "--max-ratio", "--max-characters"])
def test_limits_below_one(clean, tmp_path, write_corpus, option):
    folder = corpus(write_corpus, tmp_path / "in", [("a", "b")])
    assert option in clean(folder, option, "0", status=2)


def test_nothing_left_is_an_error(clean, tmp_path, write_corpus):
    folder = corpus(write_corpus, tmp_path / "in", [("", "b"), ("test", "test it")])
    assert "train.de-en.de: no pair is left of 2: 1 empty, 1 in-evaluation" in clean(folder, status=2)


def test_monolingual_text_is_filtered_line_by_line(clean, tmp_path, write_corpus, read):
    files = {
        "train.de": ["a  b", "", "a b", "in valid", "in a bitext", "x " * 257, "y" * 6000, "eins"],
        "valid.de": ["in  valid", ""],
        "train.de-en.de": ["w", "zwei", "in valid"],
        "train.de-en.en": [" ".join("abcdefghij"), "two", "three"],
        "test.de-en.de": ["in a bitext"],
        "test.de-en.en": ["x"],
    }
    raw = write_corpus(tmp_path / "raw", files)
    clean(raw)
    assert read(tmp_path / "out/train.de") == ["a b", "eins"]
    assert read(tmp_path / "out/valid.de") == ["in valid", ""]
    assert read(tmp_path / "out/train.de-en.de") == ["zwei"]
    counts = json.loads((tmp_path / "out/clean-report.json").read_text())["corpora"]["train.de"]
    removed = {"empty": 1, "too-long": 2, "ratio": 0, "in-evaluation": 2, "duplicate": 1}
    assert (counts["read"], counts["written"], counts["removed"]) == (8, 2, removed)


GERMAN = [
    "Das Wetter ist heute sehr schön.",
    "Wir fahren morgen mit dem Zug nach Hause.",
    "Er liest ein altes Buch.",
]
ENGLISH = ["The weather is very nice today.", "We go home by train tomorrow.", "He is reading an old book."]


@pytest.mark.parametrize("workers", [1, 2])
def test_lines_in_another_language_go_and_scores_are_kept(step, clean, tmp_path, write_corpus, read, workers):
    train = [
        *zip(GERMAN, ENGLISH, strict=True),
        (ENGLISH[0], ENGLISH[0]),
        (GERMAN[1], "Nous rentrons demain en train à la maison."),
        (GERMAN[0], ENGLISH[0]),
        ("12", "12"),
    ]
    folder = corpus(write_corpus, tmp_path / "in", train)
    clean(folder, "--min-language", 0.5, workers=workers)
    assert pairs(read, tmp_path / "out") == [*train[:3], train[-1]]
    report = json.loads((tmp_path / "out/clean-report.json").read_text())
    removed = report["corpora"]["train.de-en"]["removed"]
    assert (removed["language"], removed["duplicate"]) == (2, 1) and "similarity" not in removed
    header, *scores = read(tmp_path / "out/scores.train.de-en.tsv")
    assert header == "language.de\tlanguage.en" and len(scores) == 4
    assert scores[-1] == "1.0000\t1.0000"
    assert all(0.5 <= float(score) <= 1 for line in scores for score in line.split("\t"))
    assert step("tokenize", "--input", tmp_path / "out", "--output", tmp_path / "tok", "--workers", 1)[0] == 0


def test_a_language_that_the_identifier_does_not_know_stays(clean, tmp_path, write_corpus, read):
    files = {"train.en-xa.en": [ENGLISH[0], GERMAN[0]], "train.en-xa.xa": ["x y z"] * 2}
    folder = write_corpus(tmp_path / "in", files)
    error = clean(folder, "--min-language", 0.5)
    assert "the identifier does not know xa; their lines stay" in error
    assert read(tmp_path / "out/train.en-xa.en") == [ENGLISH[0]]
    (score,) = read(tmp_path / "out/scores.train.en-xa.tsv")[1:]
    assert score.endswith("\t") and float(score) > 0.5


@pytest.fixture
def with_vectors(tmp_path, write_corpus):
    """A corpus of 40 pairs, and vectors whose cosines are -1, -0.95, …, 0.95."""
    train = [(f"Satz {number}.", f"sentence {number}.") for number in range(40)]
    folder = corpus(write_corpus, tmp_path / "in", train)
    cosines = np.arange(-20, 20) / 20
    (tmp_path / "vectors").mkdir()
    np.save(tmp_path / "vectors/train.de-en.de.npy", np.tile(np.float32([2, 0]), (40, 1)))
    second = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1) * 3
    np.save(tmp_path / "vectors/train.de-en.en.npy", second.astype(np.float32))
    return folder, train, cosines


@pytest.mark.parametrize("least", [None, 0.33])
def test_pairs_that_are_not_similar_go(clean, tmp_path, read, monkeypatch, with_vectors, least):
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 7)
    folder, train, cosines = with_vectors
    words = [] if least is None else ["--min-similarity", least]
    clean(folder, "--vectors", tmp_path / "vectors", *words)
    stay = [number for number in range(40) if least is None or cosines[number] >= least]
    assert pairs(read, tmp_path / "out") == [train[number] for number in stay]
    header, *scores = read(tmp_path / "out/scores.train.de-en.tsv")
    assert header == "similarity"
    assert [float(score) for score in scores] == pytest.approx(cosines[stay], abs=1e-4)


def test_vectors_of_another_text(clean, tmp_path, with_vectors):
    folder, _, _ = with_vectors
    assert "--min-similarity: needs --vectors" in clean(folder, "--min-similarity", 0.5, status=2)
    path = tmp_path / "vectors/train.de-en.en.npy"
    np.save(path, np.load(path)[1:])
    error = clean(folder, "--vectors", path.parent, status=2)
    assert "train.de-en.en.npy: 39 vectors, expected 40, one per line" in error
    path.unlink()
    assert "train.de-en.en.npy: no such file" in clean(folder, "--vectors", path.parent, status=2)
