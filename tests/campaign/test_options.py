"""Every option of every command, with every kind of wrong value: one line that names the option."""

import argparse

import pytest

from command_line import options
from command_line.dispatch import in_one_line
from command_line.errors import InputError
from tests.campaign.world import WORDS
from tests.our_commands import BENCHMARKS, parsers

NOT_NUMBERS = ("", "x", "nan", "inf", "-inf", "1e999", "9" * 400, "--")
NOT_NAMES = ("", "a\nb", "a\x00b", "a\udcffb")
COMMANDS = [
    *(f"python -m {command}" for command in WORDS),
    *(f"python -m benchmarks.{path.stem}" for path in sorted(BENCHMARKS.glob("[a-z]*.py"))),
]


@pytest.fixture(scope="module")
def built() -> dict:
    """The parser of every command."""
    return parsers()


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
    return (*NOT_NAMES, "x" * (5000 if kind_of(action) == "name" else 50_000))


def options_of(parser) -> list:
    """Options and arguments that take a value."""
    return [
        action
        for action in parser._actions
        if action.nargs != 0 and not isinstance(action, argparse._HelpAction)
    ]


def refusal(parser, words: list[str]) -> str:
    """What the command prints after `error: `."""
    with pytest.raises(InputError) as refused:
        parser.parse_args(words)
    line = in_one_line(refused.value)
    assert line.splitlines() == [line]
    return line


def arguments_before(parser, action) -> list[str]:
    """A right value for every argument that the command takes before this one, so that this one is wrong."""
    positional = [one for one in parser._actions if not one.option_strings]
    return ["some"] * next(place for place, one in enumerate(positional) if one is action)


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_values(built, command):
    parser = built[command]
    for action in options_of(parser):
        option = action.option_strings[-1] if action.option_strings else ""
        name = option or action.metavar or action.dest
        for value in wrong_values(action):
            # "=" gives the value to the option, whatever it looks like
            words = [f"{option}={value}"] if option else ["--", *arguments_before(parser, action), value]
            if value == "--" and not option:
                continue
            line = refusal(parser, words)
            assert line.startswith((name, f"argument {name}")), line
            assert len(line) < 600


@pytest.mark.parametrize("command", COMMANDS)
def test_command_lines_that_are_incomplete_or_not_understood(built, command):
    line = refusal(built[command], ["--no-such-option=1"])
    assert "--no-such-option" in line or "are required" in line
    if any(action.required for action in built[command]._actions):
        assert "the following arguments are required" in refusal(built[command], [])


def test_every_kind_of_option_is_there(built):
    assert set(built) == set(COMMANDS)
    actions = [action for parser in built.values() for action in options_of(parser)]
    assert {kind_of(action) for action in actions} == {"number", "path", "name", "choice"}
    assert len(actions) > 200
    assert isinstance(options.positive, options.OptionType)
