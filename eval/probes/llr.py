"""Layer-wise language recognition (LLR, thesis 8.2.3): from which layer can the language be read?

For every layer and both questions, "which source language?" and "which target language?", a linear classifier
of tokens is trained on the validation set of the supervised directions and tested on supervised and zero-shot
directions apart. STATES are folders of `eval probe states`; those of one system with several seeds become
one curve (Figures 8.2 and E.4).
"""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.measurements import Measured
from command_line.option_classes import from_arguments
from eval.probes.parallel import index_files
from eval.probes.protocol import ProtocolOptions, add_protocol_arguments
from eval.reporting.result_file import Written, add_output_arguments, publish

KIND = "llr"
TOKENS = {"all": "", "no-tags": ", without tags", "words": ", only words"}  # and how curves of them are named
QUESTIONS = ("source", "target")


@dataclass(frozen=True)
class Options(ProtocolOptions):
    """Options of the probe: the tokens to learn from and to test on; those of the training are inherited.

    Attributes:
        states: folders of `eval probe states`.
        train_split, test_split: sets of the store.
        tokens: "all", "no-tags" or "words".
        questions: "source", "target" or both.
    """

    states: list[Path]
    train_split: str
    test_split: str
    tokens: str
    questions: list[str]


def add_arguments(parser) -> None:
    parser.add_argument(
        "states", nargs="+", type=types.path, metavar="STATES", help="folder of `eval probe states`"
    )
    add_output_arguments(parser)
    parser.add_argument(
        "--train-split", type=types.split, default="valid", help="set of supervised directions to train on"
    )
    parser.add_argument("--test-split", type=types.split, default="test", help="set to test on")
    parser.add_argument(
        "--tokens", choices=TOKENS, default="all", help="all, without language tags, or also without </s>"
    )
    parser.add_argument(
        "--questions",
        type=types.items(types.one_of(QUESTIONS)),
        default=",".join(QUESTIONS),
        help="languages to recognize",
    )
    add_protocol_arguments(parser)


def main(args) -> None:
    options = from_arguments(Options, args)
    options.chosen()  # refuses settings that the protocol does not have before anything is read
    inputs = index_files(options.states)
    publish(KIND, options, inputs, lambda: measure(options), from_arguments(Written, args))


def measure(options: Options) -> Measured:
    """One run per store; other tokens, another protocol or forced references make another curve."""
    from eval.probes.recognition import recognize

    measured = Measured()
    for folder in options.states:
        run, rows = recognize(folder, options)
        references = ", references" if run["forced"] == "reference" else ""
        variant = TOKENS[options.tokens] + options.chosen().variant + references
        measured.add(run | {"variant": variant}, rows)
    return measured
