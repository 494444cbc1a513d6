import argparse
import inspect
import re

import pytest

from command_line.help_text import HelpFormatter, fill
from tests.our_commands import parsers

DESCRIPTION = """\
Fetch a corpus and lay it out as SPLIT.SRC-TGT.LANG files, as the first step of the preparation.

  opus100   100 languages with English, a million pairs each; the published valid and test sets belong to
            it, and so do the zero-shot test sets
  enja      50,000 short pairs

    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|), a formula that is longer than the line may be

Languages default to those of the paper. What follows in the source on
another line belongs to the same paragraph.
"""
FILLED = """\
Fetch a corpus and lay it out as
SPLIT.SRC-TGT.LANG files, as the first step of
the preparation.

  opus100   100 languages with English, a
            million pairs each; the published
            valid and test sets belong to it,
            and so do the zero-shot test sets
  enja      50,000 short pairs

    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|), a formula that is longer than the line may be

Languages default to those of the paper. What
follows in the source on another line belongs to
the same paragraph."""


def test_paragraphs_are_filled_lists_keep_their_column_and_formulas_stay():
    assert fill(DESCRIPTION, 48) == FILLED


def test_a_text_that_fits_is_left_alone():
    assert fill(FILLED, 110).split() == FILLED.split()
    assert (
        fill("A list:\n\n  one    first\n  three  third", 80) == "A list:\n\n  one    first\n  three  third"
    )


def test_a_column_that_is_too_narrow_goes_under_its_term():
    text = "  a-very-long-term-indeed  what it is and what it does"
    assert fill(text, 40) == "  a-very-long-term-indeed\n    what it is and what it does"


def help_of(default, text="how many", **keywords) -> str:
    parser = argparse.ArgumentParser(formatter_class=HelpFormatter)
    parser.add_argument("--size", default=default, help=text, **keywords)
    return parser.format_help()


@pytest.mark.parametrize("default", [None, "", [], ()])
def test_a_default_that_says_nothing_is_not_shown(default):
    assert "default" not in help_of(default)


@pytest.mark.parametrize("default", [0, 3, "en", True, 0.0])
def test_every_other_default_is_shown(default):
    assert f"how many (default: {default})" in help_of(default)


def test_a_default_that_the_text_explains_is_shown_once():
    assert help_of(4, "how many (default: of the corpus)").count("default") == 1
    assert help_of(4, "how many (%(default)s if you ask nobody)").count("4") == 1


def test_a_switch_that_is_off_is_shown_only_where_it_can_be_switched_off():
    assert "(default: False)" in help_of(False, "switch", action=argparse.BooleanOptionalAction)
    assert "default" not in help_of(False, "switch", action="store_true")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_command_explains_itself_in_lines_that_the_terminal_breaks(width, monkeypatch):
    """Only usage lines, commands and formulas may be longer; a list's items begin lines of their own."""
    monkeypatch.setenv("COLUMNS", str(width))
    for name, parser in parsers().items():
        explained = parser.format_help()
        description = explained[explained.index("\n\n") : explained.index("\noptions:")]
        for line in description.splitlines():
            words = line.split()
            whole = len(words) < 2 or (line.startswith("    ") and not re.match(r" {6,}", line))
            assert len(line) <= min(width - 2, 110) or whole, f"{name}: {line}"
        source = inspect.cleandoc(parser.description)
        for term, first in re.findall(r"^ {2}(\S+)  +(\S+)", source, flags=re.M):
            assert re.search(rf"^ {{2}}{re.escape(term)}\s+{re.escape(first)}", explained, flags=re.M), name
        assert not re.search(r"default: None|default:[^)]*\)\s+\(default", explained), name
