"""Whether a training has something to do: prints "finished" or "train", and notes what is trained.

Recipes ask before fairseq-train. A training is finished if FOLDER/training.json says so, with the same
options, the same binarized data and a best checkpoint that is still there; it goes on if it did not come to
its end; anything else is an error that says what differs.
"""

from command_line import options
from command_line.options import OptionType, is_one_line, require

LONGEST_WORD = 4000  # characters; a list of directions is one word


def _word(text: str) -> str:
    require(0 < len(text) <= LONGEST_WORD and is_one_line(text))
    return text


def add_arguments(parser) -> None:
    parser.add_argument(
        "--output",
        required=True,
        type=options.output_folder,
        metavar="FOLDER",
        help="folder of the training",
    )
    parser.add_argument("--data", required=True, type=options.path, help="binarized folder that it reads")
    parser.add_argument("--force", action="store_true", help="remove what is there and train anew")
    add_words(parser, "OPTION", "of fairseq-train, after --")


def add_words(parser, name: str, explanation: str) -> None:
    """What follows `--`: a command line of another program."""
    kind = OptionType(f"a word of 1 to {LONGEST_WORD} characters on one line", _word)
    parser.add_argument("words", nargs="*", type=kind, metavar=name, help=explanation)


def main(args) -> None:
    from fairseq_ext.training_record import TrainingRecord, forget

    record = TrainingRecord(args.output, args.data, args.words)
    if args.force:
        forget(args.output)
    print("train" if record.begin() else "finished")
