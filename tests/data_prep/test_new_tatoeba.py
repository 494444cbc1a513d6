"""`new-tatoeba`: of the Tatoeba Challenge, so many sentences of every pair of languages that has them."""

import gzip
import json
import shutil

import pytest

from embeddings.test_sets import read_sides, tatoeba
from tests.data_prep.conftest import read

COUNTS = {"deu-eng": (30, 40), "fra-deu": (None, 55), "eng-isl": (25, 24), "hbs-eng": (50, None)}  # dev, test


@pytest.fixture
def challenge(tmp_path):
    for pair, counts in COUNTS.items():
        folder = tmp_path / "data" / pair
        folder.mkdir(parents=True)
        for name, count in zip(("dev", "test"), counts, strict=True):
            for side, language in zip(("src", "trg"), pair.split("-"), strict=True):
                if count is not None:
                    text = "".join(f"{language} {name} {line}\n" for line in range(count))
                    (folder / f"{name}.{side}").write_text(text)
        (folder / "test.id").write_text("")
    train = tmp_path / "data/deu-eng/train.src.gz"
    train.write_bytes(gzip.compress(b"x\n"))
    return tmp_path / "data"


def test_pairs_with_enough_sentences_are_sampled(step, challenge, tmp_path):
    out = tmp_path / "out"
    assert step("new-tatoeba", challenge, "--output", out, "--sample", "50")[0] == 0
    assert {path.name for path in (out / "english").glob("tatoeba.*")} == {
        f"tatoeba.{pair}.{language}" for pair in ("deu-eng", "hbs-eng") for language in pair.split("-")
    }
    indices = {name: json.loads((out / name / "indices.json").read_text()) for name in ("english", "others")}
    assert indices["english"]["pairs"].keys() == {"deu-eng", "hbs-eng"}  # eng-isl has 49
    assert indices["others"]["pairs"].keys() == {"fra-deu"}
    for name, found in indices.items():
        assert (found["sample"], found["seed"]) == (50, 1)
        for pair, lines in found["pairs"].items():
            assert len(set(lines)) == 50 and lines == sorted(lines)
            first, second = pair.split("-")
            dev = COUNTS[pair][0] or 0
            expected = [f"dev {line}" if line < dev else f"test {line - dev}" for line in lines]
            assert read(out / name / f"tatoeba.{pair}.{first}") == [f"{first} {text}" for text in expected]
            assert read(out / name / f"tatoeba.{pair}.{second}") == [f"{second} {text}" for text in expected]
    lines = indices["english"]["pairs"]["deu-eng"]
    assert lines[0] < 30 <= lines[-1] and lines != list(range(50))


def test_two_forms_of_one_language_are_no_pair(step, challenge, tmp_path):
    """Both sides would be tatoeba.nor-nor.nor, one over the other."""
    shutil.copytree(challenge / "deu-eng", challenge / "nor-nor")
    assert step("new-tatoeba", challenge, "--output", tmp_path / "out", "--sample", "50")[0] == 0
    assert not list(tmp_path.glob("out/*/*nor*"))
    assert "nor-nor" not in json.loads((tmp_path / "out/others/indices.json").read_text())["pairs"]


def test_they_are_test_sets_of_retrieval(step, challenge, tmp_path):
    assert step("new-tatoeba", challenge, "--output", tmp_path / "out", "--sample", "50")[0] == 0
    (pair,) = tatoeba(tmp_path / "out/others")
    assert pair.languages == ("fra", "deu")
    assert [len(side) for side in read_sides(pair)] == [50, 50]


def test_the_seed_decides_and_what_is_done_is_skipped(step, challenge, tmp_path):
    words = ("new-tatoeba", challenge, "--sample", "50", "--output")
    found = []
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        assert step(*words, tmp_path / name, "--seed", seed)[0] == 0
        found.append((tmp_path / name / "english/tatoeba.deu-eng.deu").read_text())
    assert found[0] == found[1] != found[2]
    assert "skipped" in step(*words, tmp_path / "one")[1]
    (challenge / "deu-eng/dev.src").write_text("".join(f"deu new {line}\n" for line in range(30)))
    assert step(*words, tmp_path / "one")[0] == 0
    assert "deu new" in (tmp_path / "one/english/tatoeba.deu-eng.deu").read_text()


def test_what_is_no_such_folder(step, challenge, tmp_path):
    words = ("new-tatoeba", challenge, "--output", tmp_path / "out", "--sample", "50")
    (challenge / "deu-eng/dev.trg").unlink()
    status, error = step(*words)
    assert status == 2 and "deu-eng/dev.trg: no such file, but its other side is there" in error
    (challenge / "deu-eng/dev.trg").write_text("one\n")
    status, error = step(*words)
    assert status == 2 and "dev.trg: ends after 1 lines but" in error
    status, error = step("new-tatoeba", tmp_path / "out", "--output", tmp_path / "other")
    assert status == 2 and "no files PAIR/test.src; expected the folder of the Tatoeba Challenge" in error


def test_what_an_earlier_folder_gave_is_not_taken_for_this_ones(step, challenge, tmp_path):
    words = ["--output", tmp_path / "out", "--sample", "50"]
    assert step("new-tatoeba", challenge, *words)[0] == 0
    shutil.rmtree(challenge / "fra-deu")
    status, message = step("new-tatoeba", challenge, *words)
    assert status == 2 and "others: is of another folder, and" in message
