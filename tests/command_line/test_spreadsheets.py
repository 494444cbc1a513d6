"""Cells of tables: numbers are numbers, and no text is a formula or an order to a terminal."""

import csv
import io

import pytest

from command_line.spreadsheets import csv_text


@pytest.mark.parametrize(
    "text", ['=cmd|" /C calc"!A0', "+1+cmd", "-2+3", "@SUM(A1)", "\tx", "=", "-", "- a name"]
)
def test_a_text_is_no_formula(text):
    ((cell, other),) = csv.reader(io.StringIO(csv_text([[text, f"x{text}"]]), newline=""))
    assert cell == f"'{text}"
    assert other == f"x{text}"


@pytest.mark.parametrize("number", [-1, -0.5, 3, "-1", "+0.5", "-1e-05", "nan", "-inf"])
def test_numbers_are_numbers(number):
    assert csv_text([[number]]) == f"{number}\n"


def test_nothing_is_an_empty_field_and_a_comma_is_text():
    assert csv_text([["a", None, "b,c"], ["–", "", 1]]) == 'a,,"b,c"\n–,,1\n'


def test_an_escape_sequence_is_shown():
    assert csv_text([["\x1b[2J\x9b\r"]]) == "\\x1b[2J\\x9b\\r\n"
