"""Names of the files of a report."""

import math
from dataclasses import replace

import pytest

from eval.reporting.exhibits import (
    LONGEST,
    Cell,
    Section,
    Table,
    cells,
    exhibit_files,
    slug,
    with_names_of_their_own,
)


def test_names_become_file_names_that_can_be_read():
    assert slug("worst_lines", "toy", "PostNorm-T-ENC") == "worst_lines_toy_PostNorm-T-ENC"
    assert slug("llr", "テスト") == "llr_テスト"
    assert slug("confusion", "toy", "PreNorm w/o Res.") == "confusion_toy_PreNorm-w-o-Res-"
    assert slug("confusion", "../B") == "confusion_---B"
    assert len(slug("confusion", "x" * 255)) == LONGEST


def table(name: str) -> Table:
    return Table(name, "caption", [cells("a")], [cells("1")])


def test_tables_and_figures_of_equal_names_have_numbers_behind_them(tmp_path):
    """Also where only the case tells them apart, which some file systems do not see."""
    figure = replace(table("X"), images={"png": b"1", "pdf": b"2"})
    sections = [Section("first", [table("x"), table("y")]), Section("second", [figure, table("x-2")])]
    named = with_names_of_their_own(sections)
    assert [each.name for section in named for each in section.tables] == ["x", "y", "X-2", "x-2-2"]
    files = exhibit_files(named, tmp_path / "tables", tmp_path / "plots")
    names = {str(path.relative_to(tmp_path)) for path in files}
    tables = {f"tables/{name}.csv" for name in ("x", "y", "X-2", "x-2-2")}
    assert names == tables | {"plots/X-2.png", "plots/X-2.pdf"}


@pytest.mark.parametrize("names", [[], ["x"], ["x", "y"]])
def test_other_names_stay(names):
    sections = [Section("title", [table(name) for name in names])]
    assert with_names_of_their_own(sections) == sections


def test_numbers_for_people_have_four_digits():
    numbers = [12.345678, 0.000123456, -0.66666, 28594.0, 28594.4, 5, math.inf]
    row = [Cell(str(number), value=number) for number in numbers]
    shown = Table("x", "caption", [cells(*"abcdefg")], [row]).csv
    assert shown.splitlines()[1] == "12.35,0.0001235,-0.6667,28594.0,28594,5,inf"
