"""Queries of rows, and that the quick way of reading them reads what the careful one does."""

import pytest

from command_line.errors import InputError
from command_line.measurements import COLUMNS, read_columns, write_rows
from command_line.outputs import checksum
from eval.measurements import _quickly_read, as_table, in_groups, table_of

ROW = {"run": 0, "dataset": "toy", "system": "A", "measure": "bleu", "value": 0.1}
ROWS = [  # pandas may take names for nothing, and rounds numbers, unless it is told not to
    ROW | {"seed": 1, "direction": "nan", "part": 'a "b", c', "repeat": 3},
    ROW | {"run": 1, "seed": 2, "system": "NA", "value": 117.91870367106105},
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores.csv"


def test_both_ways_of_reading_are_one(path):
    sha256 = write_rows(path, ROWS)
    quickly = _quickly_read(path, sha256)
    carefully = as_table(read_columns(path, sha256))
    for column in COLUMNS:
        values = [None if value != value else value for value in quickly[column]]
        assert values == list(carefully[column].astype(object).where(carefully[column].notna(), None)), column
    assert (quickly.system.tolist(), quickly.direction.tolist()) == (["A", "NA"], ["nan", ""])
    assert str(quickly.seed.dtype) == "int64"  # "1" in tables, not "1.0"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,toy,A,,bleu,two", "value is 'two', expected a number"),
        ("1,toy,A,,bleu,inf", "value is 'inf', expected a number"),
        ("1.5,toy,A,,bleu,2", "run is '1.5', expected a number"),
        ("1,toy,A,1.5,bleu,2", "seed is '1.5', expected a number"),
        ("1,toy,,1,bleu,2", "system is '', expected a name"),
        ("1,toy,A,1,bleu,2,3", "another number of fields than line 1 has"),
        ("1,toy,A,1,bleu", "another number of fields than line 1 has"),
        ("0,toy,A,,bleu,2", "this number stands in line 2, too; remove one of them"),
    ],
)
def test_a_damaged_line_is_named(path, line, message):
    path.write_text(f"run,dataset,system,seed,measure,value\n0,toy,A,,bleu,1\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        table_of(path, checksum(path))
    assert str(error.value) == f"{path}:3: {message}"


def test_a_direction_counts_in_every_average_that_it_belongs_to():
    places = {"en-de": "supervised", "de-en": "supervised", "de-fr": "zero-shot"}
    rows = [ROW | {"direction": name, "kind": kind} for name, kind in places.items()]
    rows.append(rows[0] | {"measure": "identified", "part": "de"})  # has a part of its own: no score
    grouped = in_groups(as_table(rows))
    assert {name: list(of.direction) for name, of in grouped.groupby("part")} == {
        "supervised": ["en-de", "de-en"], "zero-shot": ["de-fr"], "from-en": ["en-de"], "to-en": ["de-en"],
        "all": ["en-de", "de-en", "de-fr"],
    }  # fmt: skip
