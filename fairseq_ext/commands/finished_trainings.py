"""Print the trainings of a folder that have come to their end, a line each.

Recipes with `--finished-only` ask before they evaluate.
"""

from command_line import options
from fairseq_ext.training_record import have_ended


def add_arguments(parser) -> None:
    parser.add_argument(
        "folder", type=options.path, metavar="MODELS", help="the folder whose folders are trainings"
    )


def main(args) -> None:
    for folder in have_ended(args.folder):
        print(folder.name)
