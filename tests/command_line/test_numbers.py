"""Numbers that other programs would take for some, too."""

import pytest

from command_line.numbers import natural


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("12", 12), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_a_natural_number(text, number):
    assert natural(text) == number


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", " 1", "1\n", "1.0", "1_0", "²", "٣", "１", "x", "9" * 19, "9" * 5000]
)
def test_any_other_text_is_none(text):
    assert natural(text) is None
