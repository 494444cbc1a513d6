"""Layer-wise language recognition (LLR, thesis 8.2.3): from which layer can the language be read?

For every layer and both questions, "which source language?" and "which target language?", a linear classifier
of tokens is trained on the validation set of the supervised directions and tested on supervised and zero-shot
directions apart. STATES are folders of `eval probe states`; those of one system with several seeds become
one curve. Writes llr.json, the figure (Figures 8.2 and E.4) and its numbers as CSV.
"""

from command_line import options
from eval.probes.findings import add_output_arguments, publish
from eval.probes.parallel import index_files

QUESTIONS = ("source", "target")
TOKENS = ("all", "no-tags", "words")


def add_arguments(parser) -> None:
    parser.add_argument(
        "states", nargs="+", type=options.path, metavar="STATES", help="folder of `eval probe states`"
    )
    add_output_arguments(parser, "llr")
    parser.add_argument(
        "--train-split", type=options.split, default="valid", help="set of supervised directions to train on"
    )
    parser.add_argument("--test-split", type=options.split, default="test", help="set to test on")
    parser.add_argument(
        "--tokens", choices=TOKENS, default="all", help="all, without language tags, or also without </s>"
    )
    parser.add_argument(
        "--questions",
        type=options.items(options.one_of(QUESTIONS)),
        default=",".join(QUESTIONS),
        help="languages to recognize",
    )
    parser.add_argument(
        "--seeds",
        type=options.items(options.seed),
        default="1,2,3",
        help="of the classifiers' initialization",
    )
    parser.add_argument(
        "--epochs", type=options.positive, default=3, help="passes over the training set (8.2.3)"
    )
    parser.add_argument(
        "--lr", type=options.number(0, 100, above=True), default=1e-3, help="learning rate of Adam (8.2.3)"
    )
    parser.add_argument("--batch-size", type=options.positive, default=64, help="sentences per batch (8.2.3)")


def main(args) -> None:
    from eval.report_sections import llr

    def measure() -> dict:
        from eval.probes.llr_record import recognize

        return {"runs": [recognize(folder, args, args.questions, args.seeds) for folder in args.states]}

    publish(args, "llr", index_files(args.states), llr.section, measure)
