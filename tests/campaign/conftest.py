"""One world for all cases, and a way to see what a wrong command says and leaves behind."""

import gc
import io
import json
import os
import sys
from collections import namedtuple

import pytest

from tests.campaign.world import make_world
from tests.eval.figures import draw_nothing
from tests.made_once import made_once
from tests.our_commands import run_command

Refusal = namedtuple("Refusal", "status line")


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """The world, which no case may change."""
    yield made_once(tmp_path_factory, "world", make_world)
    gc.unfreeze()


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; at most one line of error, which is never a traceback."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(os, "execvp", lambda program, words: None)
    draw_nothing(monkeypatch)

    def call(words) -> Refusal:
        capsys.readouterr()
        status = run_command([str(word) for word in words])
        gc.collect()  # files left open would complain on standard error
        gc.freeze()  # what stays (torch and its like) is not looked through again after every case
        lines = [one for one in capsys.readouterr().err.splitlines() if not _is_progress(one)]
        assert status in (0, 2)
        errors = [one for one in lines if not one.startswith("warning: ")]
        if status == 2:
            assert len(errors) == 1 and errors[0].startswith("error: "), errors
        return Refusal(status, errors[-1].removeprefix("error: ") if status == 2 else "")

    return call


def _is_progress(line: str) -> bool:
    notes = ("skipped (--force redoes it)", "compare: no two of")
    return line.endswith("/s") or any(note in line for note in notes)


def change_json(path, change) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(value)), encoding="utf-8")
