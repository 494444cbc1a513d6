"""`human-sheet` and `human-scores`: a blind sheet, and what raters said."""

import csv

import pytest

SYSTEMS = {"A": "one & two", "B": "three"}


@pytest.fixture
def sheet(translated, command, tmp_path):
    """The folder with the sheet of two systems and three lines."""
    folders = [
        translated(name, {"de-en": [f"{text} {n}" for n in range(4)]}) for name, text in SYSTEMS.items()
    ]
    options = ["--direction", "de-en", "--lines", "3", "--output", tmp_path / "sheet"]
    result = command("human-sheet", *folders, *options)
    assert result.status == 0, result.err
    return tmp_path / "sheet"


def key_of(sheet) -> list[dict]:
    with open(sheet / "key.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rate(sheet, name: str, adequacy: dict, fluency: int = 3):
    rows = [f"{row['item']},{adequacy[row['system']]},{fluency}" for row in key_of(sheet)]
    path = sheet / name
    path.write_text("item,adequacy,fluency\n" + "\n".join(rows) + "\n")
    return path


def test_the_sheet_is_blind_and_has_the_same_lines_of_every_system(sheet):
    page = (sheet / "sheet.html").read_text()
    key = key_of(sheet)
    lines = {name: sorted(row["line"] for row in key if row["system"] == name) for name in SYSTEMS}
    assert lines["A"] == lines["B"] and len(set(lines["A"])) == 3
    assert [row["system"] for row in key] != ["A", "B"] * 3
    assert "one &amp; two" in page and "one & two" not in page
    assert ">A<" not in page and page.count('type="radio"') == 6 * 2 * 5
    for row in key:  # an item is what the key says
        item = page.split(f"<b>{row['item']}</b>")[1].split("</p>")[0]
        assert (f"three {int(row['line']) - 1}" in item) == (row["system"] == "B")


def test_means_by_system_and_agreement(sheet, command, tmp_path):
    first = rate(sheet, "first.csv", {"A": 2, "B": 5})
    second = rate(sheet, "second.csv", {"A": 4, "B": 5})
    result = command("human-scores", first, second, "--key", sheet / "key.csv", "--output", tmp_path / "out")
    assert result.status == 0, result.err
    table = (tmp_path / "out/human.csv").read_text().splitlines()
    assert table == ["system,adequacy,fluency", "A,3.00,3.00", "B,5.00,3.00"]
    assert "alpha of fluency: -" in result.out  # all scores are the same
    same = rate(sheet, "same.csv", {"A": 2, "B": 5})
    same.write_text(same.read_text() + "\n")  # as editors may end it
    result = command("human-scores", first, same, "--key", sheet / "key.csv", "--output", tmp_path / "out")
    assert "alpha of adequacy: 1.000" in result.out


def test_alpha_is_that_of_a_hand_calculation():
    """Two raters, two values: with 2 x 2 values alpha is 1 - (n - 1) D_o / (n_0 n_1), n pairable values."""
    import numpy as np

    from eval.scoring.human_scores import alpha

    scores = np.array([[1.0, 1, 2, 2, 1], [1.0, 2, 2, 2, np.nan]])
    disagreements, ones, twos, pairable = 2, 3, 5, 8  # one item of four disagrees, in both orders
    assert alpha(scores) == f"{1 - (pairable - 1) * disagreements / 2 / (ones * twos):.3f}"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,6,3", "first.csv:2: adequacy '6'; expected 1 to 5"),
        ("9,5,3", "first.csv:2: item '9'; expected 1 to 6, each once"),
        ("²,5,3", "first.csv:2: item '²'; expected 1 to 6, each once"),
        ("1,5,3", "first.csv: 1 items, expected all 6 of the sheet"),
        ("1,5", "first.csv:2: 2 fields, expected item,adequacy,fluency"),
    ],
)
def test_a_wrong_score_is_one_line(sheet, command, tmp_path, row, message):
    path = tmp_path / "first.csv"
    path.write_text(f"item,adequacy,fluency\n{row}\n", encoding="utf-8")
    result = command("human-scores", path, "--key", sheet / "key.csv", "--output", tmp_path / "out")
    assert result.status == 2 and message in result.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"item,adequacy,fluency\n1,5,\xe9\n", "first.csv:2: "),
        (b"", "first.csv:1: found '', expected item,adequacy,fluency"),
    ],
)
def test_a_file_that_is_no_ratings_is_one_line(sheet, command, tmp_path, content, message):
    path = tmp_path / "first.csv"
    path.write_bytes(content)
    result = command("human-scores", path, "--key", sheet / "key.csv", "--output", tmp_path / "out")
    assert result.status == 2 and message in result.err
    assert not (tmp_path / "out").exists()


def test_names_with_commas_stay_in_one_field(translated, command, tmp_path):
    folder = translated("A, T-ENC", {"de-en": [f"one {n}" for n in range(4)]})
    out = tmp_path / "sheet"
    options = ["--direction", "de-en", "--lines", "1"]
    assert command("human-sheet", folder, *options, "--output", out).status == 0
    (out / "first.csv").write_text("item,adequacy,fluency\n1,4,5\n")
    scores = ["human-scores", out / "first.csv", "--key", out / "key.csv", "--output", tmp_path / "out"]
    assert command(*scores).status == 0
    with open(tmp_path / "out/human.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1] == ["A, T-ENC", "4.00", "5.00"]
