"""The commands of a recipe's dry run."""

import pytest

from command_line.errors import InputError
from command_line.recipe_commands import commands, jobs
from llm import tune
from llm.tuning.options import Tuning

TUNE = "-m llm tune --model m --instructions i --curriculum mt --output"


def test_jobs_are_found_however_they_are_started():
    lines = [
        f"python {TUNE} a",
        f"torchrun --nproc-per-node 2 {TUNE} b",
        "python -m llm plan",
        "python -m llm",
    ]
    found = list(jobs(lines, "llm", {"tune": (tune, Tuning)}))
    assert [(launch[0], job.output.name) for launch, job in found] == [("python", "a"), ("torchrun", "b")]


def test_notes_are_printed(capsys):
    assert list(commands(["# stage train", "make 'a b'"])) == [["make", "a b"]]
    assert capsys.readouterr().err == "== stage train\n"


def test_what_is_no_command_is_one_line():
    with pytest.raises(InputError, match="standard input:2: No closing quotation"):
        list(commands(["make a", "make 'a"]))
