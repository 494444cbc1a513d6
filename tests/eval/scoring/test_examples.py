"""`eval examples`: translations of systems side by side."""

import pytest


@pytest.fixture
def systems(translated, texts):
    """Two systems of the same four lines: the second one is better in the first and worse in the last."""
    german, right = texts["de"], texts["en"]
    first = ["nothing & all", *right[1:]]
    second = [*right[:3], "nothing"]
    assert len(german) == 4
    return [translated("A", {"de-en": first}), translated("B", {"de-en": second})]


def test_lines_of_the_largest_differences_are_chosen(systems, command, tmp_path, texts):
    result = command(
        "examples", *systems, "--direction", "de-en", "--lines", "2", "--output", tmp_path / "out"
    )
    assert result.status == 0, result.err
    page = (tmp_path / "out/examples.md").read_text()
    assert [line for line in page.splitlines() if line.startswith("| line")] == [
        "| line 1 | |",
        "| line 4 | |",
    ]
    assert f"| source | {texts['de'][0]} |\n| reference | {texts['en'][0]} |\n| A | nothing & all |" in page
    latex = (tmp_path / "out/examples.tex").read_text()
    assert r"A & nothing \& all \\" in latex and latex.count(r"\midrule") == 1


def test_lines_that_are_named(systems, command, tmp_path):
    options = ["--direction", "de-en", "--numbers", "3", "--output", tmp_path / "out"]
    assert command("examples", *systems, *options).status == 0
    assert (tmp_path / "out/examples.md").read_text().startswith("| line 3 | |")
    options[3] = "5"
    assert "--numbers: found 5, the test set has 4 lines" in command("examples", *systems, *options).err


def test_two_systems_of_one_name_are_refused(systems, command, tmp_path):
    result = command("examples", systems[0], systems[0], "--direction", "de-en", "--output", tmp_path / "out")
    assert result.status == 2 and "a second system" in result.err
    result = command("examples", systems[0], "--direction", "en-de", "--output", tmp_path / "out")
    assert "no direction en-de, expected one of: de-en" in result.err
