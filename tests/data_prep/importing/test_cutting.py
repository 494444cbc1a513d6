"""Valid and test sets that are cut out: sizes, no leaks, the same for every order of the text."""

import random
from itertools import combinations

import pytest

from data_prep.normalization import normalize

LANGUAGES = ("de", "en", "fr")


@pytest.fixture
def imported(step, tmp_path, read):
    """Function from files (name -> text), and options, to the texts (name -> lines) and what was said."""

    def run(files: dict[str, str], *options, status: int = 0):
        folder = tmp_path / f"in{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        output = folder.with_suffix(".out")
        found, said = step("import", folder, "--output", output, *options)
        assert found == status, said
        texts = {path.name: read(path) for path in output.glob("*.*.*")} if output.exists() else {}
        return texts, said

    return run


def rows_of(texts: dict, split: str, pair: str) -> list[tuple]:
    return list(zip(*(texts[f"{split}.{pair}.{code}"] for code in pair.split("-")), strict=True))


def many_pairs(seed: int, count: int, other: str) -> list[tuple[str, str]]:
    """Pairs of `other` and English whose sides come again, as in subtitles, in several spellings."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        number = rng.choice([rng.randrange(40), rng.randrange(5_000)])
        english = rng.choice(["yes {}.", "yes  {}.", " yes {}."]).format(number)
        rows.append((f"{other} {number % 900} {rng.randrange(3)}", english))
    return rows


def tsv(rows) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def leaks(texts: dict) -> list:
    """Sentences, as `clean` leaves them, that two splits have in one language."""
    known: dict[tuple, set] = {}
    for name, lines in texts.items():
        split, _, language = name.split(".")
        known.setdefault((split, language), set()).update(map(normalize, lines))
    return [
        (one, other, sentence)
        for one, other in combinations(known, 2)
        if one[1] == other[1] and one[0] != other[0]
        for sentence in known[one] & known[other]
    ]


@pytest.mark.parametrize("seed", range(3))
def test_sets_have_their_size_and_nothing_leaks_whatever_the_order(imported, monkeypatch, seed):
    german, french = many_pairs(seed, 1_500, "de"), many_pairs(seed + 10, 1_500, "fr")
    results = []
    for order in range(2):
        rng = random.Random(order)
        # of a sentence that comes again the first row is taken: copies stay in their order
        files = {}
        for other, rows in (("de", german), ("fr", french)):
            groups: dict[str, list] = {}
            for row in rows:
                groups.setdefault(normalize(row[1]), []).append(row)
            keys = list(groups)
            rng.shuffle(keys)
            files[f"x.{other}-en.tsv"] = tsv(row for key in keys for row in groups[key])
        monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", [7, 5_000][order])
        texts, _ = imported(files, "--valid", 20, "--test", 30)
        assert not leaks(texts)
        for pair, rows in (("de-en", german), ("en-fr", [row[::-1] for row in french])):
            for split, size in (("test", 30), ("valid", 20)):
                found = rows_of(texts, split, pair)
                assert len(found) == size and set(found) <= set(rows)
            assert rows_of(texts, "train", pair) and set(rows_of(texts, "train", pair)) <= set(rows)
        sets = (f"{split}.{pair}" for split in ("valid", "test") for pair in ("de-en", "en-fr"))
        results.append({name: rows_of(texts, *name.split(".")) for name in sets})
    assert results[0] == results[1]


def test_what_training_text_loses_is_counted_and_is_all_that_leaks(imported):
    rows = [(f"de {n}", f"en {n}") for n in range(50)] + [("de 0", "an en"), ("ein de", "en 1"), ("x", "y")]
    texts, _ = imported({"a.de-en.tsv": tsv(rows)}, "--test", 10)
    test = set(rows_of(texts, "test", "de-en"))
    sentences = {side for row in test for side in row}
    expected = [row for row in rows if not sentences & set(row)]
    assert rows_of(texts, "train", "de-en") == expected and len(test) == 10


def test_documents_stay_whole(imported):
    rows = [(f"d{n // 7}", f"de {n}", f"en {n}") for n in range(140)]
    texts, _ = imported({"a.tsv": "document\tde\ten\n" + tsv(rows)}, "--valid", 15, "--test", 20)
    documents = {row[1:]: row[0] for row in rows}
    of_split = {
        split: [documents[row] for row in rows_of(texts, split, "de-en")]
        for split in ("train", "valid", "test")
    }
    assert (len(of_split["test"]), len(of_split["valid"])) == (21, 21)  # three documents each
    assert all(found.count(name) == 7 for found in of_split.values() for name in found)
    assert sum(map(len, of_split.values())) == 140
    assert not set(of_split["test"]) & set(of_split["valid"])


def test_documents_of_a_set_that_is_there_are_not_trained_on(imported):
    """Nor in the bitext of another pair."""
    rows = [(f"d{n // 7}", f"de {n}", f"en {n}") for n in range(140)]
    files = {
        "train.de-en.tsv": "document\tde\ten\n" + tsv(rows),
        "test.fr-en.tsv": "document\tfr\ten\n" + tsv([("d3", "fr", "an English line")]),
    }
    texts, _ = imported(files, "--valid", 15)
    valid = rows_of(texts, "valid", "de-en")
    assert len(valid) == 21
    expected = [row[1:] for row in rows if row[0] != "d3" and row[1:] not in valid]
    assert rows_of(texts, "train", "de-en") == expected and len(expected) == 112


def test_zero_shot_sets_of_what_bitexts_share(imported):
    """Half of the English lines are in both bitexts: sets are cut from these, and are multi-parallel."""
    german = [(f"de {n}", f"en {n}") for n in range(400)]
    french = [(f"fr {n}", f"en {n}") for n in range(200, 600)]
    files = {"a.de-en.tsv": tsv(german), "a.fr-en.tsv": tsv(french)}
    texts, _ = imported(files, "--valid", 10, "--test", 15, "--zero-shot")
    for split, size in (("valid", 10), ("test", 15)):
        found = rows_of(texts, split, "de-fr")
        assert len(found) == size
        assert all(de.split()[1] == fr.split()[1] for de, fr in found)
        english = [row[1] for row in rows_of(texts, split, "de-en")]
        assert [row[0] for row in rows_of(texts, split, "en-fr")] == english
        assert [f"en {de.split()[1]}" for de, _ in found] == english
    assert not leaks(texts)
    assert "train.de-fr.de" not in texts


def test_zero_shot_sets_of_sets_that_are_there(imported):
    files = {
        "test.de-en.de": "a\nb\nc\nb2\n", "test.de-en.en": "A\nB\nC\nB\n",
        "test.en-fr.en": "C\n B \nX\n", "test.en-fr.fr": "ç\nβ\nx\n",
        "test.en-ja.en": "Z\n", "test.en-ja.ja": "ゼ\n",
        "train.de-en.de": "a\n", "train.de-en.en": "A\n",
    }  # fmt: skip
    texts, said = imported(files, "--zero-shot")
    assert rows_of(texts, "test", "de-fr") == [("b", "β"), ("c", "ç")]
    assert "test.de-ja: no set, as no line is in both sets" in said
    assert not {"test.de-ja.de", "test.fr-ja.fr"} & set(texts)
    assert rows_of(texts, "train", "de-en") == [("a", "A")]  # what is given is not cut


def test_multi_parallel_text_has_evaluation_sets_of_all_pairs(imported):
    lines = {"de": "a\nb\na\n", "en": "A\nA\nC\n", "fr": "x\ny\n\n"}
    files = {f"{name}.{code}": text for name in ("train", "dev") for code, text in lines.items()}
    texts, _ = imported(files, "--zero-shot")
    assert rows_of(texts, "valid", "de-fr") == [("a", "x"), ("b", "y"), ("a", "")]
    assert {name.split(".")[1] for name in texts if name.startswith("train")} == {"de-en", "en-fr"}


def test_sets_that_are_there_are_not_cut_again_and_are_kept_out_of_those_that_are(imported):
    rows = [(f"de {n}", f"en {n}") for n in range(100)]
    files = {"train.de-en.tsv": tsv(rows), "dev.de-en.tsv": tsv(rows[:60])}
    texts, _ = imported(files, "--valid", 10, "--test", 10)
    assert rows_of(texts, "valid", "de-en") == rows[:60]
    assert len(rows_of(texts, "test", "de-en")) == 10 and not leaks(texts)
    assert len(rows_of(texts, "train", "de-en")) == 30


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("a", "b")], ["--test", 2], "--test 2: de-en has 1 sentences that may be taken; expected more"),
        ([("a", "b"), ("", "c")], ["--test", 1, "--valid", 1], "--valid 1: de-en has 0 sentences"),
        ([("a", "b"), ("c", "d")], ["--test", 2], "train.de-en: no line is left: all 2 are, or have"),
    ],
)
def test_too_little_text(imported, rows, options, message):
    _, said = imported({"x.de-en.tsv": tsv(rows)}, *options, status=2)
    assert message in said and said.count("error:") == 1


def test_import_then_clean(imported, step, tmp_path):
    rows = [(f"Der Zug {n} fährt.", f"Train {n} leaves.") for n in range(30)]
    imported({"x.de-en.tsv": tsv(rows)}, "--valid", 3, "--test", 3)
    (folder,) = tmp_path.glob("*.out")
    assert step("clean", "--input", folder, "--output", tmp_path / "clean", "--workers", 1)[0] == 0
    for name in ("train.de-en.de", "test.de-en.en"):
        assert (tmp_path / "clean" / name).read_bytes() == (folder / name).read_bytes()
    assert (
        "complete, skipped"
        in step("import", folder.with_suffix(""), "--output", folder, "--valid", 3, "--test", 3)[1]
    )
