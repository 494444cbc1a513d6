"""Commands are shown as they are typed where this process was started."""

import sys

import pytest

from command_line import invocation
from command_line.invocation import as_typed, words_before

TEXT = "run `python -m eval report` and python -m evaluate, then python -m llm --help"
BY_MNMT = "run `mnmt eval report` and python -m evaluate, then mnmt llm --help"


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        (["python3", "/env/bin/mnmt", "eval", "report"], ["mnmt", "eval"]),
        (["python3", "-m", "eval", "report"], ["python", "-m", "eval"]),
        (["python3", "run.py", "mnmt"], ["python", "-m", "eval"]),
        (["python3"], ["python", "-m", "eval"]),
    ],
)
def test_a_command_is_what_was_typed(monkeypatch, started, expected):
    monkeypatch.setattr(sys, "orig_argv", started)
    assert words_before("eval") == expected
    assert as_typed(TEXT) == (BY_MNMT if expected[0] == "mnmt" else TEXT)


def test_an_installation_has_no_other_commands(monkeypatch):
    monkeypatch.setattr(invocation, "IS_INSTALLED", True)
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-c", "…"])
    assert (words_before("eval"), as_typed(TEXT)) == (["mnmt", "eval"], BY_MNMT)
