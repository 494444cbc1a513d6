"""The interlingua of a checkpoint: how well its length is predicted, and how alike it is across languages.

Lengths (thesis 7.4.3, Table 7.5): for every language paired with the centric one, how often the predicted
length of the interlingua is that of the translation, how far it is off, and BLEU into the centric language
with predicted and with right lengths. Models with a fixed length have none.

Similarity: the mean cosine between the interlinguas of parallel sentences, position by position (1 - L_IA of
equation 7.6), for every pair of languages; and for sentences that do not belong together.
"""

from pathlib import Path

from command_line import options
from command_line.errors import InputError

KIND = "interlingua"


def add_arguments(parser) -> None:
    from eval.probes.findings import add_output_arguments
    from eval.translation.translate import add_length_arguments, add_search_arguments

    parser.add_argument(
        "--checkpoint", required=True, type=options.path, help="of --arch interlingua_transformer"
    )
    parser.add_argument("--data", required=True, type=options.path, help="binarized folder with the test set")
    parser.add_argument("--split", type=options.split, default="test", help="which set")
    parser.add_argument(
        "--max-lines", type=options.positive, help="only the first lines of every set (default: all)"
    )
    parser.add_argument(
        "--samples", type=options.positive, default=9999, help="of the significance test (7.4)"
    )
    add_search_arguments(parser)
    add_length_arguments(parser)
    parser.add_argument(
        "--name", type=options.text, help="name of the system in tables (default: made from its options)"
    )
    parser.add_argument(
        "--dataset", type=options.text, help="name of the data in tables (default: the name of DATA)"
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    from eval.probes.findings import publish
    from eval.reporting.sections import interlingua

    inputs = [Path(args.checkpoint), Path(args.data) / "preparation.json"]
    for path in inputs:
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected a checkpoint and a binarized folder")
    publish(args, KIND, inputs, interlingua.section, lambda: {"runs": [run(args)]})


def run(args) -> dict:
    """The findings of one checkpoint."""
    from eval.probes.interlingua_lengths import predictions
    from eval.probes.interlingua_similarity import similarities
    from eval.results.system_record import describe_system
    from eval.translation.decoding import build_decoder
    from fairseq_ext.checkpoints.loading import load_for_inference
    from fairseq_ext.checkpoints.provenance import describe_origin

    loaded = load_for_inference(args.checkpoint, args.data)
    encoder = loaded.model.encoder
    if not hasattr(encoder, "interlingua"):
        raise InputError(f"{args.checkpoint}: has no interlingua, expected --arch interlingua_transformer")
    decoder = build_decoder(loaded, args)
    system = describe_system(loaded.state["cfg"], loaded.task)
    return {
        "system": system | ({"name": args.name} if args.name else {}),
        **describe_origin(args.checkpoint, args.data, loaded),
        "dataset": args.dataset or Path(args.data).resolve().name,
        "split": args.split,
        "length_candidates": args.length_candidates,
        "lengths": {} if encoder.centric is None else predictions(decoder, loaded, args),
        "similarity": similarities(decoder, args),
    }
