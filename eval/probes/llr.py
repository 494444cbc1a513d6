"""Layer-wise language recognition (LLR, thesis 8.2.3): from which layer can the language be read?

For every layer and both questions, "which source language?" and "which target language?", a linear classifier
of tokens is trained on the validation set of the supervised directions and tested on supervised and zero-shot
directions apart. STATES are folders of `eval probe states`; those of one system with several seeds become
one curve. Writes llr.json, the figure (Figures 8.2 and E.4) and its numbers as CSV.
"""

from command_line.errors import InputError
from eval.probes.findings import add_output_arguments, publish
from eval.probes.parallel import index_files
from eval.translate import require_positive

QUESTIONS = ("source", "target")
TOKENS = ("all", "no-tags", "words")


def add_arguments(parser) -> None:
    parser.add_argument("states", nargs="+", metavar="STATES", help="folder of `eval probe states`")
    add_output_arguments(parser, "llr")
    parser.add_argument("--train-split", default="valid", help="set of supervised directions to train on")
    parser.add_argument("--test-split", default="test", help="set to test on")
    parser.add_argument(
        "--tokens", choices=TOKENS, default="all", help="all, without language tags, or also without </s>"
    )
    parser.add_argument("--questions", default=",".join(QUESTIONS), help="languages to recognize")
    parser.add_argument("--seeds", default="1,2,3", help="of the classifiers' initialization")
    parser.add_argument("--epochs", type=int, default=3, help="passes over the training set (8.2.3)")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate of Adam (8.2.3)")
    parser.add_argument("--batch-size", type=int, default=64, help="sentences per batch (8.2.3)")


def main(args) -> None:
    from eval.report_sections import llr

    require_positive(args, "epochs", "batch_size")
    if args.lr <= 0:
        raise InputError(f"--lr: found {args.lr}, expected a number above 0")
    seeds = _seeds(args.seeds)
    questions = list(dict.fromkeys(args.questions.split(",")))
    if not set(questions) <= set(QUESTIONS):
        raise InputError(f"--questions: found {args.questions!r}, expected source, target or both")

    def measure() -> dict:
        from eval.probes.llr_record import recognize

        return {"runs": [recognize(folder, args, questions, seeds) for folder in args.states]}

    publish(args, "llr", index_files(args.states), llr.section, measure)


def _seeds(text: str) -> list[int]:
    try:
        seeds = [int(entry) for entry in text.split(",")]
    except ValueError:
        raise InputError(f"--seeds: found {text!r}, expected whole numbers such as 1,2,3") from None
    if len(set(seeds)) < len(seeds):
        raise InputError(f"--seeds: found {text!r}, expected every seed once")
    return seeds
