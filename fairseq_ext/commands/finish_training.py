"""Note that a training has come to its end, with the checksum of its best checkpoint.

FOLDER/training.json, which `begin-training` wrote, is completed. A best checkpoint that is missing or not
whole is an error.
"""

from command_line import options


def add_arguments(parser) -> None:
    parser.add_argument(
        "--training", required=True, type=options.path, metavar="FOLDER", help="folder of the training"
    )


def main(args) -> None:
    from fairseq_ext.training_record import finish

    finish(args.training)
