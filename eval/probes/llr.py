"""Layer-wise language recognition (LLR, thesis 8.2.3): from which layer can the language be read?

For every layer and both questions, "which source language?" and "which target language?", a linear classifier
of tokens is trained on the validation set of the supervised directions and tested on supervised and zero-shot
directions apart. STATES are folders of `eval probe states`; those of one system with several seeds become
one curve. Writes llr.json, the figure (Figures 8.2 and E.4) and its numbers as CSV.
"""

import functools

from command_line import options
from eval.probes.findings import add_output_arguments, publish
from eval.probes.parallel import index_files
from eval.probes.protocol import PROTOCOLS, Protocol, default_of

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
        "--protocol",
        choices=PROTOCOLS,
        default="converged",
        help="converged: standardized states, each classifier until its held-out loss stops falling;"
        " paper: 3 epochs, states as they are (8.2.3)",
    )
    add = functools.partial(_add_setting, parser)
    add("epochs", options.positive, "passes over the training set; of converged, at most")
    add("patience", options.positive, "passes without a lower held-out loss")
    add("lr", options.number(0, 100, above=True), "learning rate of Adam")
    add("batch-size", options.positive, "sentences per batch")
    add("seeds", options.items(options.seed), "of the initialization, on which converged does not depend")


def _add_setting(parser, name: str, kind, text: str) -> None:
    """An option that some protocols have; its default is theirs."""
    default = default_of(name.replace("-", "_"))
    parser.add_argument(f"--{name}", type=kind, help=f"{text} ({default})")


def main(args) -> None:
    from eval.reporting.sections import llr

    protocol = Protocol.of(
        args.protocol, epochs=args.epochs, patience=args.patience, lr=args.lr, batch_size=args.batch_size,
        seeds=args.seeds and tuple(args.seeds),
    )  # fmt: skip

    def measure() -> dict:
        from eval.probes.llr_record import recognize

        return {"runs": [recognize(folder, args, protocol, args.questions) for folder in args.states]}

    publish(args, "llr", index_files(args.states), llr.section, measure)
