"""The commands of `python -m eval` in the guides are commands, and every probe is shown in one of them."""

import shlex
from pathlib import Path

import pytest

from eval.probes import COMMANDS as PROBES
from tests.our_commands import parse_command

GUIDES = sorted((Path(__file__).parents[3] / "docs").glob("*.md"))
TEXTS = [path.read_text(encoding="utf-8").replace("\\\n", " ") for path in GUIDES]
LINES = [line.strip() for text in TEXTS for line in text.splitlines()]
SHOWN = [shlex.split(line)[3:] for line in LINES if line.startswith("python -m eval ") and "…" not in line]


def test_every_probe_is_shown():
    shown = {words[1] for words in SHOWN if words[0] == "probe"}
    assert shown | {"data-size"} == set(PROBES)  # that one has a paragraph, with files that a recipe makes


@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
def test_options_exist(words):
    parse_command(["python", "-m", "eval", *words])
