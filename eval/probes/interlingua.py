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
from command_line.option_classes import option
from eval.reporting.result_file import Written, publish
from eval.translation.evaluated_model import EvaluatedModel
from eval.translation.search_options import DecodingOptions, LengthOptions

KIND = "interlingua"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    model: EvaluatedModel
    split: str = option("set to translate into the centric language of the model", "test", type=types.split)
    max_lines: int | None = option("only the first lines of every set (default: all)")
    samples: int = option("of the significance test (thesis 7.4)", 9999)
    decoding: DecodingOptions
    lengths: LengthOptions
    written: Written


def main(options: Options) -> None:
    model, split = options.model, options.split
    texts = sorted((model.data / "text").glob(f"{split}.*"))  # the references of BLEU
    inputs = [*model.checkpoints, *model.data_files([split]), *texts]
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    """The run of one checkpoint. Lengths have the source language as `part`, similarities are of pairs."""
    from eval.probes.interlingua_numbers import predictions, similarities
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
