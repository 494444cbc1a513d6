"""`xnli-manual`: three parts of the same lines of all languages."""

import pytest

HEADER = "language\tgold_label\tsentence1"
LABELS = ("neutral", "entailment", "contradiction")
LANGUAGES = ("ar", "de", "en")


def write(path, lines: range, languages=LANGUAGES) -> None:
    rows = [
        f"{language}\t{LABELS[number % 3]}\t{language} {number}" for language in languages for number in lines
    ]
    path.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "dev.tsv", range(20))
    write(tmp_path / "test.tsv", range(20, 50))
    return "--dev", tmp_path / "dev.tsv", "--test", tmp_path / "test.tsv"


@pytest.fixture
def cut(step, files, tmp_path):
    return lambda *options: step("xnli-manual", *files, "--output", tmp_path / "out", *options)


def parts_of(folder) -> dict[str, dict[str, list[int]]]:
    """Part -> language -> the numbers of its lines."""
    parts: dict[str, dict[str, list[int]]] = {}
    for name in ("train", "valid", "test"):
        header, *lines = (folder / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        assert header == HEADER
        for line in lines:
            language, label, sentence = line.split("\t")
            number = int(sentence.split()[1])
            assert (label, sentence) == (LABELS[number % 3], f"{language} {number}")
            parts.setdefault(name, {}).setdefault(language, []).append(number)
    return parts


def test_parts_of_8_1_1_have_the_same_lines_of_all_languages(cut, tmp_path):
    status, *_, error = cut()
    assert status == 0, error
    parts = parts_of(tmp_path / "out")
    for languages in parts.values():
        assert list(languages) == list(LANGUAGES)
        assert len({tuple(numbers) for numbers in languages.values()}) == 1
    lines = [parts[name]["de"] for name in ("train", "valid", "test")]
    assert list(map(len, lines)) == [40, 5, 5]
    assert sorted(number for part in lines for number in part) == list(range(50))


def test_the_draw_is_that_of_the_seed(cut, tmp_path):
    drawn = []
    for options in ((), ("--force",), ("--seed", "2", "--force")):
        assert cut(*options)[0] == 0
        drawn.append(parts_of(tmp_path / "out")["test"]["en"])
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_draw_is_the_same_in_any_order_of_languages(cut, tmp_path):
    assert cut()[0] == 0
    drawn = parts_of(tmp_path / "out")["test"]["en"]
    for name, lines in (("dev", range(20)), ("test", range(20, 50))):
        write(tmp_path / f"{name}.tsv", lines, LANGUAGES[::-1])
    assert cut("--force")[0] == 0
    assert parts_of(tmp_path / "out")["test"]["en"] == drawn


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("language\tgold_label", "label\tlanguage", "test.tsv:1: other columns than language, gold_label"),
        (
            "de\tcontradiction\tde 20",
            "de\tneutral\tde 20",
            "label neutral, but of line 21 of ar contradiction",
        ),
        ("en\tentailment\ten 49\n", "", "found 49 lines of en, but 50 of ar"),
    ],
)
def test_files_that_do_not_belong_together(cut, tmp_path, old, new, error):
    path = tmp_path / "test.tsv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    result = cut()
    assert result[0] == 2 and error in result[-1]
    assert not (tmp_path / "out/train.tsv").exists()


def test_a_file_that_is_missing(cut, tmp_path):
    (tmp_path / "dev.tsv").unlink()
    result = cut()
    assert result[0] == 2 and "dev.tsv: no such file; expected one of XNLI-1.0" in result[-1]
