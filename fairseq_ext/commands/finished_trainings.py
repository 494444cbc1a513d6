"""Print the trainings of a folder that have come to their end, a line each.

Recipes with `--finished-only` ask before they evaluate.
"""

from dataclasses import dataclass
from pathlib import Path

from command_line.option_classes import positional
from fairseq_ext.training_record import have_ended


@dataclass(frozen=True)
class Trainings:
    """Which trainings."""

    folder: Path = positional("the folder whose folders are trainings", metavar="MODELS")


def main(trainings: Trainings) -> None:
    for folder in have_ended(trainings.folder):
        print(folder.name)
