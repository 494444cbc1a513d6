"""Dictionaries from word alignments."""

import random
from collections import Counter

import pytest

from command_line.errors import InputError
from data_prep.alignment import pair_counts
from data_prep.alignment.pair_counts import PairCounts
from data_prep.lexicon import LexiconJob, main, read_dictionaries, read_dictionary
from tests.our_commands import parse_command

GERMAN = ["das haus ist klein", "das haus brennt", "ein kleines haus", "das ende"]
ENGLISH = ["the house is small", "the home burns", "a small house", "the end"]
LINKS = ["0-0 1-1 2-2 3-3", "0-0 1-1 2-2", "0:2-0:2 2-2", "0-0 1-1"]


@pytest.fixture
def folders(tmp_path):
    words, linked = tmp_path / "tok", tmp_path / "linked"
    for folder in (words, linked):
        folder.mkdir()
    for name, lines in (("train.de-en.de", GERMAN), ("train.de-en.en", ENGLISH)):
        (words / name).write_text("".join(f"{line}\n" for line in lines))
    (words / "valid.de-en.de").write_text("hund\n")
    (words / "valid.de-en.en").write_text("dog\n")
    (linked / "train.de-en.align").write_text("".join(f"{line}\n" for line in LINKS))
    return words, linked, tmp_path / "lexicon"


def run(folders, *options):
    words, linked, output = folders
    command = [
        "python",
        "-m",
        "data_prep",
        "lexicon",
        "--input",
        words,
        "--alignments",
        linked,
        "--output",
        output,
        "--workers",
        1,
    ]
    args = parse_command([str(word) for word in [*command, *options]])
    main(args)
    return {path.name: path.read_text().splitlines() for path in output.glob("*.txt")}


def test_frequent_translations_of_the_training_lines_in_both_directions(folders):
    """Counted by hand: das-the 3, haus-house 2 (once alone, once behind a phrase), all others once."""
    assert run(folders) == {"de-en.txt": ["das the", "haus house"], "en-de.txt": ["house haus", "the das"]}
    found = run(folders, "--min-count", "1", "--force")
    assert found["de-en.txt"] == [
        "brennt burns", "das the", "ende end", "haus house", "haus home", "ist is", "klein small",
    ]  # fmt: skip
    assert (
        run(folders, "--min-count", "1", "--translations", "1", "--force")["de-en.txt"].count("haus home")
        == 0
    )


def test_a_pair_without_entries_has_no_dictionary(folders, tmp_path):
    """Readers refuse an empty one as damaged."""
    words, linked, lexicon = folders
    for language, line in (("de", "ja"), ("fr", "oui")):
        (words / f"train.de-fr.{language}").write_text(f"{line}\n")
    (linked / "train.de-fr.align").write_text("0-0\n")
    assert run(folders).keys() == {"de-en.txt", "en-de.txt"}
    assert read_dictionaries(lexicon, ["de", "en", "fr"])["de"]["haus"] == ["house"]


def test_what_is_written_is_read(folders):
    run(folders, "--min-count", "1")
    found = read_dictionaries(folders[2], ["de", "en", "fr"])
    assert found["de"]["haus"] == ["house", "home"]
    assert found["en"]["small"] == ["klein"]
    assert "fr" not in found


def test_languages_are_joined_and_muse_files_read(tmp_path):
    (tmp_path / "en-de.txt").write_text("house\thaus\nhouse heim\nend ende\n")
    (tmp_path / "en-fr.txt").write_text("house maison\ntaxi taxi\nhouse maison\n")
    (tmp_path / "fr-xx.txt").write_text("maison dom\n")
    assert read_dictionaries(tmp_path, ["fr", "en", "de"]) == {
        "en": {"house": ["haus", "heim", "maison"], "end": ["ende"], "taxi": []}
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("one eins\nno\n", "d.txt:2: 'no', expected a word and its translation"),
        ("a b c\n", "d.txt:1: 'a b c', expected a word and its translation"),
        ("", "d.txt: no entries, expected a word and its translation per line"),
    ],
)
def test_broken_dictionaries(tmp_path, content, message):
    (tmp_path / "d.txt").write_text(content)
    with pytest.raises(InputError) as caught:
        read_dictionary(tmp_path / "d.txt")
    assert str(caught.value).endswith(message)


def test_bad_input(folders, tmp_path):
    words, linked, _ = folders
    with pytest.raises(InputError, match=r"lexicon: no dictionary of de, en; expected files A-B\.txt"):
        read_dictionaries(tmp_path / "lexicon", ["de", "en"])
    (linked / "train.de-en.align").write_text("0-0\n0-9\n\n\n")
    with pytest.raises(InputError, match=r"train\.de-en\.align.* found a link to word 0 of A and 9 of B"):
        run(folders)
    (linked / "train.de-en.align").write_text("0-0\n")
    with pytest.raises(InputError, match=r"train\.de-en\.align: ends after 1 lines but .*de-en\.de goes on"):
        run(folders)
    (linked / "train.de-en.align").unlink()
    with pytest.raises(InputError, match=r"train\.de-en\.align: no such file; expected the output of `p"):
        run(folders)
    for language in ("de", "en"):
        (words / f"train.de-en.{language}").unlink()
    with pytest.raises(InputError, match=r"tok: no training files, expected train\.A-B\.LANG"):
        run(folders)


def test_options_are_those_of_the_job():
    assert {"translations", "min_count"} <= set(LexiconJob.__dataclass_fields__)


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_counts_are_those_of_a_counter(monkeypatch, at_once):
    monkeypatch.setattr(pair_counts, "AT_ONCE", at_once)
    numbers = random.Random(1)
    pairs = [(f"w{numbers.randrange(6)}", f"t{numbers.randrange(9)}") for _ in range(200)]
    counts = Counter(pairs)
    for least in (1, 3, 5):
        expected = {pair: count for pair, count in counts.items() if count >= least}
        assert PairCounts((pair, 1) for pair in pairs).at_least(least) == expected
        twice = (item for some in (pairs[:80], pairs[80:]) for item in Counter(some).items())
        assert PairCounts(twice).at_least(least) == expected
    assert PairCounts([]).at_least(1) == {}


def test_dictionaries_that_were_not_finished_are_not_read(tmp_path):
    (tmp_path / "de-en.txt").write_text("hund dog\n")
    assert read_dictionaries(tmp_path, ["de", "en"]) == {"de": {"hund": ["dog"]}}
    (tmp_path / ".lexicon.unfinished").touch()
    with pytest.raises(InputError, match="lexicon"):
        read_dictionaries(tmp_path, ["de", "en"])
