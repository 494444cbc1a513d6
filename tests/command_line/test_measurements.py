"""Rows of measurements in a file: what is written is read, and what is no such table is one clear line."""

import pytest

from command_line.errors import InputError
from command_line.measurements import COLUMNS, read_columns, read_rows, write_rows

ROW = {"run": 0, "dataset": "toy", "system": "A", "measure": "bleu", "value": 0.1}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores.csv"


def test_rows_are_read_as_they_were_written(path):
    rows = [ROW, ROW | {"seed": 2, "direction": "de-en\nfr", "value": -1e-300}]
    sha256 = write_rows(path, rows)
    assert read_rows(path, sha256) == [dict.fromkeys(COLUMNS) | row for row in rows]
    assert read_columns(path)["seed"] == [None, 2]


def test_a_table_that_a_spreadsheet_has_saved(path):
    """With a byte order mark, line ends of Windows, and an empty line at the end."""
    path.write_bytes(b"\xef\xbb\xbfrun,dataset,system,measure,value\r\n0,toy,A,bleu,0.1\r\n\r\n")
    assert read_rows(path) == [dict.fromkeys(COLUMNS) | ROW]


def test_a_table_without_rows(path):
    write_rows(path, [])
    assert read_rows(path) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,toy,A,1,bleu", "another number of fields than line 1 has"),
        ("0,toy,A,1,bleu,many", "value is 'many', expected a number"),
        ("0,toy,A,1,bleu,", "value is '', expected a number"),
        ("0,toy,A,1,bleu,nan", "value is 'nan', expected a number"),
        ("0,toy,A,1,bleu,1e999", "value is '1e999', expected a number"),
        ("0,toy,A,1.5,bleu,2", "seed is '1.5', expected a number"),
        ("0,toy,,1,bleu,2", "system is '', expected a name"),
        ("0,toy,A,,bleu,2", "this number stands in line 2, too; remove one of them"),
        ("0,toy,A\xa0,1,bleu,2", "byte 0xa0 is not UTF-8; convert the file, for instance with iconv"),
        ('0,toy,"A"B,1,bleu,2', "not CSV: ',' expected after '\"'; expected rows such as those of"
         " recipes/zero_shot/reference.csv"),
    ],
)  # fmt: skip
def test_a_damaged_row_is_named(path, line, message):
    path.write_text(f"run,dataset,system,seed,measure,value\n0,toy,A,,bleu,1\n{line}\n", encoding="latin-1")
    with pytest.raises(InputError) as error:
        read_rows(path)
    assert str(error.value) == f"{path}:3: {message}"


@pytest.mark.parametrize(
    "header", ["", "run,dataset,system,measure", "run,dataset,system,measure,value,value"]
)
def test_another_header_is_refused(path, header):
    path.write_text(header, encoding="utf-8")
    with pytest.raises(InputError, match=r":1: found the columns .*; expected run, dataset"):
        read_rows(path)


def test_another_file_than_was_written_is_refused(path):
    sha256 = write_rows(path, [ROW])
    path.write_text(path.read_text(encoding="utf-8").replace("0.1", "0.2"), encoding="utf-8")
    with pytest.raises(InputError, match=r"is not the file that scores\.json beside it was written with"):
        read_rows(path, sha256)


def test_a_table_that_was_not_measured_is_not_measured_again(path):
    """Published numbers, say."""
    with pytest.raises(InputError, match=r"expected rows such as those of recipes/zero_shot/reference\.csv"):
        read_rows(path)
    with pytest.raises(InputError, match=r"measure again \(--force\)"):
        read_rows(path, "ab" * 32)
