"""The world of the campaign is right: what a case refuses is what the case made wrong."""

import pytest

from tests.campaign.test_files import copy_of
from tests.campaign.world import WORDS, words_of
from tests.our_commands import parsers

NOT_HERE = (  # the world lacks GiNZA (slow to load) and BLEU above zero
    "data_prep bunsetsu",
    "eval probe correlate",
)
IN_PLACE = {"data_prep structures": "data", "eval score": "out"}  # where a command writes into what it reads


def test_every_command_is_there():
    assert {f"python -m {command}" for command in WORDS} == {
        prog for prog in parsers() if not prog.startswith("python -m benchmarks.")
    }


@pytest.mark.parametrize("command", [command for command in WORDS if command not in NOT_HERE])
def test_a_right_command(pristine, tmp_path, run, command):
    world = copy_of(pristine, tmp_path, IN_PLACE.get(command, "nothing"))
    assert run([*command.split(), *words_of(command, world, tmp_path / "output")]).status == 0
