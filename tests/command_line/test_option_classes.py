from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from command_line import options as types
from command_line.dispatch import CommandParser, run_step
from command_line.errors import InputError
from command_line.option_classes import (
    Alternatives,
    add_options,
    by_name,
    force_switch,
    from_arguments,
    option,
    output_folder,
    positional,
    switch,
)

SIDES = Alternatives("sides", required=True)


@dataclass(frozen=True)
class Search:
    beam: int = option("hypotheses", 5)
    cpu: bool = switch("do not use a GPU", compare=False)


@dataclass(frozen=True, kw_only=True)
class Job:
    texts: list[Path] = positional("texts", nargs="+", type=types.path)
    search: Search
    split: str | None = option("of the data")
    max_ratio: float = option("of lengths", 9.0, type=types.number(1, 10))
    layers: list[int] = option("some of them", [1, 2], type=types.items(types.natural))
    folders: list[Path] = option("of data", [])
    directions: str = option("A-B", "all", choices=("all", "some"), flags=("--directions", "--direction"))
    source: Path | None = option("one side", among=SIDES)
    target: Path | None = option("the other side", among=SIDES)
    output: Path = output_folder("results")
    force: bool = force_switch()


def parsed(words: str, kind: type = Job):
    parser = CommandParser()
    add_options(parser, kind)
    return from_arguments(kind, parser.parse_args(words.split()))


def test_options_that_are_not_given_have_the_defaults_of_their_fields():
    given = Job(texts=[Path("a")], search=Search(), output=Path("out"), source=Path("de"))
    assert parsed("a --output out --source de") == given
    assert vars(parsed("a --output out --source de")) == vars(given)
    assert vars(given.search) == {"beam": 5, "cpu": False}


def test_annotations_say_what_values_are():
    job = parsed(
        "a b --output out --target en --beam 7 --cpu --split test --folders x y --layers 0,3 --force"
    )
    assert job.texts == [Path("a"), Path("b")] and job.folders == [Path("x"), Path("y")]
    assert job.search == Search(7) and job.search.cpu is True
    assert (job.split, job.layers, job.target, job.force) == ("test", [0, 3], Path("en"), True)


@pytest.mark.parametrize(
    "words, message",
    [
        ("--beam 0", "--beam: found '0', expected a whole number from 1 to"),
        ("--max-ratio 0.5", "--max-ratio: found '0.5', expected a number from 1 to 10"),
        ("--directions none", "--directions/--direction: invalid choice: 'none'"),
        ("--target en", "--target: not allowed with argument --source"),
    ],
)
def test_wrong_values_are_refused(words, message):
    with pytest.raises(InputError, match=f"^{message}"):
        parsed(f"a --output out --source de {words}")


@pytest.mark.parametrize(
    "words, missing",
    [
        ("a --source de", "required: --output"),
        ("a --output out", "--source --target is required"),
        ("--output out --source de", "required: texts"),
    ],
)
def test_what_is_required_must_be_given(words, missing):
    with pytest.raises(InputError, match=missing):
        parsed(words)


def test_another_name_of_an_option():
    assert parsed("a --output out --source de --direction some").directions == "some"


def test_lists_are_not_shared():
    first, second = (parsed("a --output out --source de") for _ in range(2))
    first.layers.append(3)
    assert second.layers == [1, 2] == parsed("a --output out --source de").layers


def test_settings_say_what_is_done_and_not_how():
    @dataclass(frozen=True, kw_only=True)
    class Translation:
        search: Search
        split: str | None = option("of the data")
        output: Path = output_folder("translations")

    job = parsed("--split test --cpu --output out", Translation)
    assert job.search.cpu
    assert by_name(job) == {"beam": 5, "split": "test"}
    assert job == parsed("--split test --output elsewhere", Translation)


def test_a_step_is_given_its_options():
    given = []

    def main(search: Search) -> None:
        given.append(search)

    step = SimpleNamespace(__doc__="Search.", main=main)
    assert run_step("search", step, ["--beam", "3", "--cpu"]) == 0
    assert given == [Search(3)] and given[0].cpu


def test_a_step_with_wrong_options_is_one_line(capsys):
    def main(search: Search) -> None:
        pytest.fail("was called")

    assert run_step("search", SimpleNamespace(__doc__="Search.", main=main), ["--beam", "x"]) == 2
    assert capsys.readouterr().err.startswith("error: --beam: found 'x', expected a whole number from 1")
