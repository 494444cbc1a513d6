from argparse import ArgumentParser
from dataclasses import dataclass, field

from command_line.option_classes import by_name, from_arguments


@dataclass(frozen=True)
class Search:
    beam: int
    cpu: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Job:
    search: Search
    split: str


def parsed(*argv: str) -> Job:
    parser = ArgumentParser()
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--split")
    parser.add_argument("--force", action="store_true")
    return from_arguments(Job, parser.parse_args(argv))


def test_fields_are_the_options_of_their_names():
    assert parsed("--split", "test", "--force") == Job(Search(5), "test")


def test_settings_say_what_is_done_and_not_how():
    job = parsed("--split", "test", "--cpu")
    assert job.search.cpu
    assert by_name(job) == {"beam": 5, "split": "test"}
    assert job == parsed("--split", "test")
