"""Corpora as their publishers lay them out, and files that are something else."""

import gzip
import json
from collections import Counter

import pytest

from command_line.errors import InputError
from embeddings.labelled_texts import read_reviews_json, read_reviews_xml
from tests.embeddings.labelled import write_marc, write_review_file
from tests.embeddings.test_retrieve import write
from tests.eval.rows import values_of


def test_reviews_of_version_1(tmp_path):
    path = tmp_path / "test.review"
    write_review_file(
        path, [(5.0, "Good & old", "Read <it>.\nTwice."), (2.0, "", "No, & again <no>!"), (4, "", "é")]
    )
    part = read_reviews_xml(path)
    assert part.labels == ["positive", "negative", "positive"]
    assert part.sentences == ["Good & old Read <it>. Twice.", "No, & again <no>!", "é"]
    assert part.lines == [3, 7, 10]


def test_reviews_of_version_2(tmp_path):
    stars = [1, 2, 3, 4, 5]
    path = write_marc(tmp_path / "dataset_de_dev.json", [(one, "Titel", f"Text {one}") for one in stars])
    part = read_reviews_json(path)
    assert part.labels == ["negative", "negative", "positive", "positive"]
    assert part.sentences == [f"Titel Text {one}" for one in (1, 2, 4, 5)] and part.lines == [1, 2, 4, 5]


def test_as_many_of_each_label_are_drawn_always_the_same(tmp_path):
    reviews = [(1 if number < 70 else 5, "", str(number)) for number in range(100)]
    part = read_reviews_json(write_marc(tmp_path / "dataset_de_train.json", reviews))
    some = part.some(10)
    assert Counter(some.labels) == {"negative": 10, "positive": 10}
    assert some == part.some(10) and some.lines == sorted(some.lines)
    assert [part.sentences[line - 1] for line in some.lines] == some.sentences
    with pytest.raises(InputError, match="30 reviews are positive, expected at least 31"):
        part.some(31)


LAUGHS = '<!DOCTYPE items [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{LAUGHS}\n<items><item><text>&b;</text></item></items>", ":1: a document type"),
        (
            '<?xml version="1.0"?>\n<!DOCTYPE items SYSTEM "file:///etc/passwd"><items/>',
            ":2: a document type",
        ),
        ("<items>\n<item><text>a</item></items>", ":2: not XML: mismatched tag; expected <item> elements"),
        ("<items>\n<item><text>&passwd;</text></item></items>", ":2: not XML: undefined entity"),
        (
            "<items>\n<item><rating>3.0</rating></item></items>",
            ":2: rating '3.0', expected a number above or below",
        ),
        ("<items>\n\n<item><rating>good</rating></item></items>", ":3: rating 'good'"),
        ("<items><item><text>a</text></item></items>", ":1: rating '', expected"),
        ("<items><item><rating>nan</rating></item></items>", "rating 'nan'"),
        ("<items></items>", "is empty, expected <item> elements"),
        (
            "<?xml version='1.0' encoding='foo'?><items/>",
            ":1: not XML: unknown encoding: foo; expected UTF-8",
        ),
        ("", "not XML: no element found"),
    ],
)
def test_hostile_and_broken_xml_is_one_line(tmp_path, text, message):
    path = tmp_path / "train.review"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_reviews_xml(path)
    assert f"{path}" in str(error.value) and message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":2: not JSON"),
        ("[1]", ":2"),
        ('{"stars": "1", "review_title": ""}', "field 'review_body' is missing"),
        ('{"stars": "six", "review_title": "", "review_body": ""}', ":2: stars is 'six', expected 1 to 5"),
    ],
)
def test_broken_json_is_one_line(tmp_path, line, message):
    first = json.dumps({"stars": 1, "review_title": "", "review_body": ""})
    path = write(tmp_path / "dataset_de_dev.json", [first, line])
    with pytest.raises(InputError) as error:
        read_reviews_json(path)
    assert str(path) in str(error.value) and message in str(error.value)


def run(command, one_space, output, *argv):
    options = ["--output", output, "--runs", "1", "--epochs", "40", "--languages", "de,en"]
    options += ["--learning-rate", "0.01"]
    return command("classify", *one_space, *options, *argv)


def polar(count):
    return [(1 if n % 2 else 5, "", "w1 w2 w1" if n % 2 else "w5 w6 w6") for n in range(count)]


def test_version_1_is_validated_on_the_test_part_of_its_language(command, one_space, tmp_path):
    for language in ("de", "en"):
        for part in ("train", "test"):
            write_review_file(tmp_path / f"cls/{language}/dvd/{part}.review", polar(20))
    argv = [tmp_path / "cls", "--layout", "cls", "--category", "dvd"]
    result = run(command, one_space, tmp_path / "out", *argv)
    assert result.status == 0, result.err
    record = json.loads((tmp_path / "out/classification.json").read_text())
    assert record["runs"][0]["dataset"] == "CLS dvd"
    assert values_of(tmp_path / "out/classification.csv", measure="accuracy") == [100] * 4


def test_version_2(command, one_space, tmp_path):
    for language in ("de", "en"):
        for part in ("train", "dev", "test"):
            write_marc(tmp_path / f"marc/dataset_{language}_{part}.json", polar(30))
    argv = [tmp_path / "marc", "--layout", "marc", "--train-size", "20"]
    result = run(command, one_space, tmp_path / "out", *argv)
    assert result.status == 0, result.err
    (measured,) = json.loads((tmp_path / "out/classification.json").read_text())["runs"]
    assert measured["dataset"] == "Amazon reviews"
    assert values_of(tmp_path / "out/classification.csv", measure="accuracy") == [100] * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layout", "cls"], "--category: found None with --layout cls, expected one, for example books"),
        (
            ["--layout", "mldoc", "--category", "books"],
            "--category: found books with --layout mldoc, expected none",
        ),
        (["--layout", "tsv", "--train-size", "10"], "--train-size: expected none with --layout tsv"),
        (["--layout", "marc", "--train-size", "7"], "--train-size 7: expected an even number"),
        (["--layout", "marc"], "dataset_de_train.json: no such file; expected the corpus in the layout"),
        (["--layout", "cls", "--category", "food"], "de/food/train.review: no such file"),
    ],
)
def test_options_of_other_layouts_are_one_line(command, one_space, tmp_path, options, message):
    result = run(command, one_space, tmp_path / "out", tmp_path, *options)
    assert result.status == 2 and message in result.err


def test_a_damaged_archive_of_reviews_is_one_line(tmp_path):
    whole = write_review_file(
        tmp_path / "all.review", [(5.0, "x", "y" * 50 + str(row)) for row in range(500)]
    )
    path = tmp_path / "train.review.gz"
    path.write_bytes(gzip.compress(whole.read_bytes())[:-200])
    with pytest.raises(InputError, match=f"{path}:.*damaged"):
        read_reviews_xml(path)
