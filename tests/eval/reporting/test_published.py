"""Published numbers in the report: a table for each of the paper, of every recipe."""

from pathlib import Path

import pytest

from command_line.errors import InputError
from command_line.measurements import read_columns, read_rows
from eval.measurements import as_table
from eval.reporting.sections.published import section
from eval.result_set import ResultSet

RECIPES = Path(__file__).parents[3] / "recipes"
REFERENCES = sorted(RECIPES.glob("*/reference.csv"))


def shown(reference: Path) -> list:
    return section(ResultSet({}, reference=reference)).tables


def test_a_table_of_the_thesis():
    tables = {table.name: table for table in shown(RECIPES / "zero_shot/reference.csv")}
    table = tables["published_Table-8-2"]
    titles = table.columns()
    (row,) = [row for row in table.rows if row[0].text == "PostNorm S-ENC-T-DEC"]
    assert row[titles.index("OPUS, zero-shot, BLEU")].text == "16.8"
    assert row[titles.index("OPUS, zero-shot, off-target")].text == "8.6"
    detailed = tables["published_Table-E-3"]  # directions in lines, and the mean of three seeds
    assert detailed.caption == "Table E.3 of the paper: OPUS, zero-shot, BLEU."
    (row,) = [row for row in detailed.rows if row[0].text == "ar-de"]
    assert row[detailed.columns().index("PreNorm S-ENC-T-DEC")].text == "5.5 ± 0.4"


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda path: path.parent.name)
def test_every_number_is_in_a_table_once(reference):
    published = [row for row in read_rows(reference) if row["group"]]
    places = {
        tuple(row[name] for name in ("dataset", "system", "kind", "direction", "part", "group", "measure"))
        for row in published
    }
    cells = [cell for table in shown(reference) for row in table.rows for cell in row[1:]]
    assert len([cell for cell in cells if cell.value is not None]) == len(places)


def test_a_number_that_stands_twice_is_no_deviation(tmp_path):
    """The mean of both would look like that of two seeds."""
    path = tmp_path / "reference.csv"
    first, second, *_ = (RECIPES / "zero_shot/reference.csv").read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([first, second, second]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"reference\.csv:3: this number stands in line 2, too"):
        shown(path)


def test_means_are_those_of_the_rows_that_they_are_of():
    rows = as_table(read_columns(RECIPES / "zero_shot/reference.csv", None))
    means = rows[(rows.group == "Table 8.2") & (rows.measure == "bleu")]
    detailed = rows[rows.group.isin([f"Table E.{number}" for number in range(3, 9)])]
    key = ["dataset", "system", "kind"]
    expected = means.set_index(key).value
    detailed_means = detailed.groupby(key).value.mean()
    assert len(detailed_means) == 48
    differences = detailed_means - expected[detailed_means.index]
    assert differences.abs().max() < 0.07  # the thesis rounds means of rounded numbers
