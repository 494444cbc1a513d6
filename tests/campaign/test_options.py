"""Every option of every command, with every kind of wrong value: one line that names the option."""

import argparse

import pytest

from command_line import options
from command_line.dispatch import run_step
from tests.our_commands import parsers

NOT_NUMBERS = ("", "x", "nan", "inf", "-inf", "1e999", "9" * 400, "--")
NOT_NAMES = ("", "a\nb", "a\x00b", "a\udcffb")
PARSERS = parsers()


def kind_of(action) -> str:
    if action.choices is not None:
        return "choice"
    expected = action.type.expected
    for kind in ("number", "path"):
        if kind in expected.split(":")[-1]:
            return kind
    return "name"


def wrong_values(action) -> tuple:
    """Values that no option of this kind takes."""
    if kind_of(action) == "number":
        return NOT_NUMBERS
    if kind_of(action) == "choice":
        return ("", "nonsense", "a\nb")
    return (*NOT_NAMES, "x" * 5000) if kind_of(action) == "name" else NOT_NAMES


CASES = [
    (prog, action.option_strings[-1] if action.option_strings else "", action)
    for prog, parser in PARSERS.items()
    for action in parser._actions
    if action.nargs != 0 and not isinstance(action, argparse._HelpAction)
]


class Step:
    """A step whose options are those of a command, and which must not be reached."""

    __doc__ = ""

    def __init__(self, prog: str):
        self.prog = prog

    def add_arguments(self, parser) -> None:
        for action in PARSERS[self.prog]._actions:
            if "--help" not in action.option_strings and "--debug" not in action.option_strings:
                parser._add_action(action)

    def main(self, args) -> None:
        raise AssertionError(f"accepted: {args}")


def refusal(prog: str, words: list[str], capsys) -> str:
    assert run_step(prog, Step(prog), words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def arguments_before(prog: str, action) -> list[str]:
    """A right value for every argument that the command takes before this one, so that this one is wrong."""
    positional = [one for one in PARSERS[prog]._actions if not one.option_strings]
    return ["some"] * next(place for place, one in enumerate(positional) if one is action)


@pytest.mark.parametrize(("prog", "option", "action"), CASES, ids=lambda value: str(value)[:60])
def test_wrong_values(prog, option, action, capsys):
    for value in wrong_values(action):
        # "=" gives the value to the option, whatever it looks like
        words = [f"{option}={value}"] if option else ["--", *arguments_before(prog, action), value]
        if value == "--" and not option:
            continue
        line = refusal(prog, words, capsys)
        name = option or action.metavar or action.dest
        assert line.startswith(("error: " + name, f"error: argument {name}")), line
        assert len(line) < 600


@pytest.mark.parametrize("prog", PARSERS)
def test_command_lines_that_are_incomplete_or_not_understood(prog, capsys):
    line = refusal(prog, ["--no-such-option=1"], capsys)
    assert "--no-such-option" in line or "are required" in line
    if any(action.required for action in PARSERS[prog]._actions):
        assert "the following arguments are required" in refusal(prog, [], capsys)


def test_every_kind_of_option_is_there():
    kinds = {kind_of(action) for _, _, action in CASES}
    assert kinds == {"number", "path", "name", "choice"}
    assert len(CASES) > 200
    assert isinstance(options.positive, options.OptionType)
