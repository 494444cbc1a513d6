"""The commands of the page on losses are understood, and its table names every option."""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

from fairseq_ext.losses.registry import LOSSES
from tests.our_commands import parse_command
from tests.test_readme import parse_fairseq

PAGE = (Path(__file__).parents[2] / "docs/losses.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```bash\n(.*?)^```", PAGE, flags=re.M | re.S)
    for line in block.splitlines()
]


def test_there_are_commands():
    assert len(COMMANDS) > 2


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_understood(command):
    words = shlex.split(command)
    if words[0] == "python":
        parse_command(words)
    else:
        parse_fairseq(words[0], words[1:])


@pytest.mark.parametrize(
    "name", ["word_contrastive", "sentence_contrastive", "attention_alignment", "adversarial_language"]
)
def test_the_table_has_the_options_and_their_defaults(name):
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}`")]
    shown = dict(re.findall(rf"`(?:--{name.replace('_', '-')})?-([a-z-]+)(?: ([\w.]+))?`", row))
    options = {
        field.name.replace("_", "-"): field.default for field in dataclasses.fields(LOSSES[name].Options)
    }
    assert shown.keys() == options.keys()
    for option, default in shown.items():
        if isinstance(options[option], str):
            assert default == options[option]
        else:
            assert float(default or 0) == float(options[option] or 0)
