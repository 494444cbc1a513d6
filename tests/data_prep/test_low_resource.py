"""`low-resource`: nested random samples, and text without its pairing."""

import pytest

LINES = 50


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    for split, count in (("train", LINES), ("valid", 3), ("test", 2)):
        for language in ("en", "ja"):
            text = "".join(f"{language} {split} {number}\n" for number in range(count))
            (folder / f"{split}.en-ja.{language}").write_text(text)
    return folder


@pytest.fixture
def low_resource(step, corpus, tmp_path):
    def run(*options):
        return step("low-resource", "--input", corpus, "--output", tmp_path / "out", *options)

    return run


def lines(path) -> list[str]:
    return path.read_text().splitlines()


def numbers(path) -> list[int]:
    return [int(line.split()[-1]) for line in lines(path)]


def test_samples_are_nested_and_the_rest_is_monolingual(low_resource, tmp_path):
    assert low_resource("--sizes", "10,20")[0] == 0
    out = tmp_path / "out"
    found = {}
    for size in (10, 20):
        english, japanese = (numbers(out / f"{size}/train.en-ja.{code}") for code in ("en", "ja"))
        assert english == japanese == sorted(english)
        assert len(set(english)) == size
        found[size] = set(english)
        assert lines(out / f"{size}/test.en-ja.ja") == ["ja test 0", "ja test 1"]
        assert len(lines(out / f"{size}/valid.en-ja.en")) == 3
    assert found[10] < found[20] != set(range(20))
    sides = [numbers(out / f"monolingual/train.{code}") for code in ("en", "ja")]
    for side in sides:
        assert sorted(side) == sorted(set(range(LINES)) - found[20])
        assert side != sorted(side)
    assert sum(a == b for a, b in zip(*sides, strict=True)) < 10  # the pairing is gone
    assert lines(out / "monolingual/train.ja")[0].startswith("ja train")
    found = {path.name for path in (out / "monolingual").iterdir() if path.suffix != ".json"}
    assert found == {"train.en", "train.ja", "valid.en", "valid.ja"}
    assert lines(out / "monolingual/valid.ja") == lines(out / "10/valid.en-ja.ja")


def test_the_seed_decides_and_what_is_done_is_skipped(low_resource, tmp_path):
    sample = tmp_path / "out/10/train.en-ja.en"
    assert low_resource("--sizes", "10")[0] == 0
    first, written = sample.read_text(), sample.stat().st_mtime_ns
    assert low_resource("--sizes", "10")[0] == 0
    assert sample.stat().st_mtime_ns == written
    assert low_resource("--sizes", "10", "--force")[0] == 0
    assert sample.read_text() == first
    assert low_resource("--sizes", "10", "--seed", "2")[0] == 0
    assert sample.read_text() != first


def test_sets_of_earlier_runs_stay_out_of_pretraining(low_resource, tmp_path):
    """They are complete, and somebody may fine-tune on them."""
    out = tmp_path / "out"
    assert low_resource("--sizes", "10,20")[0] == 0
    assert low_resource("--sizes", "10")[0] == 0
    left_out = set(numbers(out / "20/train.en-ja.en"))
    assert set(numbers(out / "monolingual/train.en")) == set(range(LINES)) - left_out
    status, err = low_resource("--sizes", "10", "--seed", "2")
    assert status == 2 and f"{out / '20'}: was drawn with another --first or --seed; remove it, or" in err


def test_sets_of_earlier_text_are_no_part_of_what_is_left(low_resource, corpus, tmp_path):
    assert low_resource("--sizes", "20")[0] == 0
    for code in ("en", "ja"):
        with open(corpus / f"train.en-ja.{code}", "a") as stream:
            stream.write(f"{code} train {LINES}\n")
    status, err = low_resource("--sizes", "10")
    assert status == 2 and f"{tmp_path / 'out/20'}: was drawn from another train.en-ja.en, or an" in err
    assert low_resource("--sizes", "10,20")[0] == 0  # drawn anew
    with open(corpus / "test.en-ja.en", "a") as stream:
        stream.write("no pair of training\n")
    with open(corpus / "test.en-ja.ja", "a") as stream:
        stream.write("no pair of training\n")
    assert low_resource("--sizes", "10")[0] == 0


def test_a_set_of_all_pairs_of_an_earlier_run(low_resource, tmp_path):
    (tmp_path / "mono").mkdir()
    for code in ("en", "ja"):
        (tmp_path / f"mono/train.{code}").write_text("crawled\n")
    assert low_resource("--sizes", "all", "--monolingual", tmp_path / "mono")[0] == 0
    status, err = low_resource("--sizes", "10")
    assert status == 2 and "out: has a set of all pairs, which leaves none for pre-training" in err
    assert not (tmp_path / "out/10").exists()


def test_only_the_first_lines(low_resource, tmp_path):
    assert low_resource("--sizes", "4", "--first", "8")[0] == 0
    assert max(numbers(tmp_path / "out/4/train.en-ja.en")) < 8
    assert len(lines(tmp_path / "out/monolingual/train.en")) == 4


def test_text_of_its_own_for_pretraining(low_resource, tmp_path):
    (tmp_path / "mono").mkdir()
    (tmp_path / "mono/train.en").write_text("".join(f"crawled {i}\n" for i in range(7)))
    (tmp_path / "mono/train.ja").write_text("".join(f"集めた {i}\n" for i in range(5)))
    assert low_resource("--sizes", "10,all", "--monolingual", tmp_path / "mono")[0] == 0
    out = tmp_path / "out"
    assert lines(out / "monolingual/train.en") == [f"crawled {i}" for i in range(7)]
    assert len(lines(out / "monolingual/train.ja")) == 5
    assert numbers(out / "all/train.en-ja.ja") == list(range(LINES))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "ten"], "--sizes: found 'ten', expected a number of pairs above 0, or all"),
        (["--sizes", "5,5"], "--sizes: found '5,5': 5 occurs twice"),
        (["--sizes", "51"], "--sizes 51: found 50 training pairs, expected at least as many"),
        (["--sizes", "all"], "--sizes all: leaves no pairs for pre-training; give --monolingual DIR"),
    ],
)
def test_wrong_sizes(low_resource, options, message):
    status, err = low_resource(*options)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1


def test_monolingual_text_must_be_there(low_resource, tmp_path):
    status, err = low_resource("--sizes", "5", "--monolingual", tmp_path)
    assert status == 2
    assert f"--monolingual {tmp_path}: no train.en in it" in err
    (tmp_path / "train.en").touch()
    assert "train.en: is empty" in low_resource("--sizes", "5", "--monolingual", tmp_path)[1]


def test_its_own_output_is_no_monolingual_text(low_resource, tmp_path):
    assert low_resource("--sizes", "10")[0] == 0
    own = tmp_path / "out/monolingual"
    before = {path.name: path.read_bytes() for path in own.iterdir()}
    status, err = low_resource("--sizes", "20", "--monolingual", own)
    assert (status, err.count("\n")) == (2, 1)
    assert f"--output {own}: is the input folder, expected another one" in err
    assert {path.name: path.read_bytes() for path in own.iterdir()} == before
    assert not (tmp_path / "out/20").exists()


def test_validation_sets_of_other_pairs_are_not_those_of_pretraining(low_resource, corpus, tmp_path):
    for language in ("ja", "zh"):
        (corpus / f"valid.ja-zh.{language}").write_text("other 0\n")
    assert low_resource("--sizes", "10")[0] == 0
    folder = tmp_path / "out/monolingual"
    assert lines(folder / "valid.ja") == ["ja valid 0", "ja valid 1", "ja valid 2"]
    assert not (folder / "valid.zh").exists()


def test_one_pair_of_languages_only(low_resource, corpus):
    for language in ("de", "en"):
        (corpus / f"train.de-en.{language}").write_text("x\n")
    status, err = low_resource("--sizes", "5")
    assert status == 2
    assert "training pairs: de-en, en-ja; expected exactly one language pair" in err
