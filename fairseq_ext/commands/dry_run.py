"""Print the commands of a recipe, in which every training is as it is started.

Reads them from standard input as a recipe writes them. A line that begins with # is a note, which is printed
to standard error.
"""

import shlex
import sys
from dataclasses import dataclass

from command_line.dispatch import step_parser
from command_line.option_classes import from_arguments
from command_line.recipe_commands import commands, note
from fairseq_ext.commands import run_training
from fairseq_ext.commands.run_training import TrainingRun

RUN_TRAINING = ("python", "-m", "fairseq_ext", "run-training")


@dataclass(frozen=True)
class NoOptions:
    """The commands are read from standard input."""


def main(_: NoOptions) -> None:
    for words in commands(sys.stdin):
        if run := training(words):
            if idle := run.launch.idle(run.words):
                note(f"{run.output}: {idle}")
            words = run.command
        print(shlex.join(words), flush=True)


def training(words: list[str]) -> TrainingRun | None:
    """The training that a command runs, if it runs one."""
    if tuple(words[: len(RUN_TRAINING)]) != RUN_TRAINING:
        return None
    parser = step_parser(" ".join(RUN_TRAINING), run_training)
    return from_arguments(TrainingRun, parser.parse_args(words[len(RUN_TRAINING) :]))
