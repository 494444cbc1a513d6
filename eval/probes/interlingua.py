"""The interlingua of a checkpoint: how well its length is predicted, and how alike it is across languages.

Lengths (thesis 7.4.3, Table 7.5): for every language paired with the centric one, how often the predicted
length of the interlingua is that of the translation, how far it is off, and BLEU into the centric language
with predicted and with right lengths. Models with a fixed length have none.

Similarity: the mean cosine between the interlinguas of parallel sentences, position by position (1 - L_IA of
equation 7.6), for every pair of languages; and for sentences that do not belong together.
"""

from dataclasses import asdict, dataclass

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured
from command_line.option_classes import from_arguments
from eval.reporting.result_file import Written, add_output_arguments, publish
from eval.translation.evaluated_model import EvaluatedModel, add_model_arguments, add_name_arguments
from eval.translation.search_options import (
    DecodingOptions,
    LengthOptions,
    add_decoding_arguments,
    add_length_arguments,
)

KIND = "interlingua"


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        split: that is translated into the centric language of the model.
        max_lines: only the first lines of every set; None for all.
        samples: of the significance test.
    """

    model: EvaluatedModel
    split: str
    max_lines: int | None
    samples: int
    decoding: DecodingOptions
    lengths: LengthOptions


def add_arguments(parser) -> None:
    add_model_arguments(parser)
    parser.add_argument("--split", type=types.split, default="test", help="which set")
    parser.add_argument(
        "--max-lines", type=types.positive, help="only the first lines of every set (default: all)"
    )
    parser.add_argument(
        "--samples", type=types.positive, default=9999, help="of the significance test (thesis 7.4)"
    )
    add_decoding_arguments(parser)
    add_length_arguments(parser)
    add_name_arguments(parser)
    add_output_arguments(parser)


def main(args) -> None:
    options = from_arguments(Options, args)
    model, split = options.model, options.split
    texts = sorted((model.data / "text").glob(f"{split}.*"))  # the references of BLEU
    inputs = [*model.checkpoints, *model.data_files([split]), *texts]
    publish(KIND, options, inputs, lambda: measure(options), from_arguments(Written, args))


def measure(options: Options) -> Measured:
    """The run of one checkpoint. Lengths have the source language as `part`, similarities are of pairs."""
    from eval.probes.interlingua_lengths import predictions
    from eval.probes.interlingua_similarity import similarities
    from eval.translation.decoding import build_decoder

    model = options.model
    loaded = model.load()
    encoder = loaded.model.encoder
    if not hasattr(encoder, "interlingua"):
        raise InputError(f"{model.checkpoint}: has no interlingua, expected --arch interlingua_transformer")
    decoder = build_decoder(loaded, options.decoding, options.lengths)
    rows = [] if encoder.centric is None else predictions(decoder, loaded, options)
    run = {
        **model.provenance(loaded),
        "split": options.split,
        "search": asdict(options.decoding.search),
        "length_candidates": options.lengths.length_candidates,
    }
    measured = Measured()
    measured.add(run, [*rows, *similarities(decoder, options)])
    return measured
