import math
import os
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from command_line import options
from command_line.dispatch import CommandParser
from command_line.errors import InputError
from tests.our_commands import parsers


def refusal(kind, text: str) -> str:
    with pytest.raises(ArgumentTypeError) as error:
        kind(text)
    assert "\n" not in str(error.value)
    return str(error.value)


def actions_of_all_commands() -> list:
    """Every option and argument, with the command in front."""
    return [(command, action) for command, parser in parsers().items() for action in parser._actions]


def test_every_option_of_every_command_has_a_range():
    """A switch, a list of choices, or a type of command_line.options: never int, float, str or Path."""
    without = [
        f"{command}: {'/'.join(action.option_strings) or action.dest} is {action.type}"
        for command, action in actions_of_all_commands()
        if not (action.nargs == 0 or action.choices or isinstance(action.type, options.OptionType))
    ]
    assert without == []


def test_workers_and_threads_are_not_more_than_a_machine_takes():
    """torch ends with a segmentation fault when it is told to use a hundred million threads."""
    types = {
        command: action.type
        for command, action in actions_of_all_commands()
        if {"--workers", "--threads"} & {*action.option_strings}
    }
    assert len(types) > 10 and set(types.values()) == {options.worker_count}


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "x", "", "nan", "inf", "2147483648", "9" * 5000, "1e3"])
def test_whole_numbers_refuse(text):
    message = refusal(options.positive, text)
    assert message.startswith("found ") and message.endswith("expected a whole number from 1 to 2147483647")
    assert len(message) < 300


def test_whole_numbers():
    assert (options.positive("1"), options.natural("0"), options.positive("2147483647")) == (1, 0, 2**31 - 1)
    assert options.worker_count("1024") == 1024
    refusal(options.worker_count, "1025")


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "x", "", "0", "1.0001", "-1"])
def test_numbers_refuse(text):
    assert refusal(options.number(0, 1, above=True), text) == (
        f"found {text!r}, expected a number above 0 to 1"
    )


def test_numbers():
    share = options.number(0, 1, above=True)
    assert share("1") == 1.0 and share("1e-300") > 0
    assert options.number(0, 1)("0") == 0
    refusal(options.number(0, 1, below=True), "1")
    assert math.isclose(options.number(-10, 10)("-0.5"), -0.5)


@pytest.mark.parametrize("text", ["", " ", "a\nb", "a\x00", "a\udcffb", "x" * 201, "a\u2028b"])
def test_text_is_one_line_of_utf_8(text):
    refusal(options.text, text)


def test_text_may_hold_what_a_name_may_hold():
    for name in ('$x^2$ <b> & "q" | `c`', "日本\u3000語", "x" * 200):
        assert options.text(name) == name


@pytest.mark.parametrize("text", ["", "a/b", "..", "a.b", "a,b", "-a", "a\n", "x" * 101, " a"])
def test_a_split_is_part_of_a_file_name(text):
    refusal(options.split, text)


def test_lists_have_every_item_once():
    assert options.items(options.natural)("3, 1,2") == [3, 1, 2]
    assert "1 occurs twice" in refusal(options.items(options.natural), "1,2,01")
    for text in ("", "1,", ",", "1,x"):
        assert "expected a whole number" in refusal(options.items(options.natural), text)


def test_an_assignment_has_a_name_and_a_value():
    kind = options.assignment("a=b.txt", options.path)
    assert kind("MNMT=x/y=z.log") == ("MNMT", Path("x/y=z.log"))
    for text in ("a", "=b", "a=", "a\n=b"):
        refusal(kind, text)


@pytest.mark.parametrize("text", ["", "a\nb", "a\x00b", "a\udcff"])
def test_paths_can_be_written_into_a_result(text):
    refusal(options.path, text)
    refusal(options.output_folder, text)


def test_an_output_folder_can_be_made(tmp_path):
    assert options.output_folder(str(tmp_path / "new/folder")) == tmp_path / "new/folder"
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("")
    link.symlink_to(tmp_path / "nowhere")
    assert refusal(options.output_folder, str(file)) == f"{file} is a file, expected a folder"
    assert refusal(options.output_folder, str(file / "x")) == f"{file} is a file, expected a folder"
    assert "is a link to nothing" in refusal(options.output_folder, str(link))
    assert "is a folder, expected the name of a file" in refusal(options.output_file, str(tmp_path))
    assert options.output_file(str(tmp_path / "x/y.json")) == tmp_path / "x/y.json"


def test_an_output_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    assert "no permission to write" in refusal(options.output_folder, str(tmp_path))


def test_a_parser_refuses_with_one_line_that_names_the_option():
    parser = CommandParser(prog="python -m tool step")
    parser.add_argument("--beam", type=options.positive)
    parser.add_argument("--kind", choices=("a", "b"))
    parser.add_argument("input", type=options.path)
    for words, start in (
        (["--beam", "0", "x"], "--beam: found '0', expected a whole number from 1"),
        (["--kind", "c", "x"], "--kind: invalid choice: 'c'"),
        ([], "the following arguments are required: input"),
        (["x", "--bean", "1"], "unrecognized arguments: --bean 1"),
        (["x", "--beam"], "--beam: expected one argument"),
    ):
        with pytest.raises(InputError, match=f"^{start}") as error:
            parser.parse_args(words)
        assert str(error.value).endswith("(python -m tool step --help explains the options)")
