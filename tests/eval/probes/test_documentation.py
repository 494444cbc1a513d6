"""The commands of the guide are commands."""

import importlib
import shlex
from pathlib import Path

import pytest

from command_line.dispatch import step_parser
from eval.__main__ import COMMANDS as STEPS
from eval.probes import COMMANDS as PROBES

GUIDE = Path(__file__).parents[3] / "docs/probes.md"
LINES = [line.strip() for line in GUIDE.read_text(encoding="utf-8").splitlines()]
COMMANDS = [shlex.split(line)[3:] for line in LINES if line.startswith("python -m eval ")]


def test_every_probe_is_shown():
    assert {words[1] for words in COMMANDS if words[0] == "probe"} == set(PROBES)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_options_exist(words):
    steps, (name, *rest) = (PROBES, words[1:]) if words[0] == "probe" else (STEPS, words)
    step_parser("eval", name, importlib.import_module(steps[name][0])).parse_args(rest)
