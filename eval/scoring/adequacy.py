"""Adequacy without references: cosine of the sentence embeddings of source and hypothesis (thesis 4.5.2).

Reads folders of `python -m eval translate` and the raw test set beside the data. The mean over the lines of a
direction, times 100, is what Table 4.7 shows; the same of source and reference is its row "Reference". The
thesis takes LASER; any encoder of `eval/scoring/sentence_encoders.py` is possible, but only numbers of the
same encoder can be compared.
"""

from command_line import options
from command_line.errors import InputError
from eval.results.files import TRANSLATION, Translation, result_file, split_direction
from eval.scoring.sentence_encoders import ENCODERS, Encoder
from eval.scoring.test_sets import DirectionFiles, direction_files

KIND = "adequacy"


def add_arguments(parser) -> None:
    from eval.probes.findings import add_output_arguments

    parser.add_argument(
        "out",
        nargs="+",
        type=options.path,
        metavar="OUT",
        help="folder written by `python -m eval translate`",
    )
    parser.add_argument(
        "--data",
        type=options.path,
        help="binarized folder with text/, if it is not where translate.json says",
    )
    parser.add_argument(
        "--encoder", choices=sorted(ENCODERS), default="sentence-transformers", help="4.5.2 uses LASER"
    )
    parser.add_argument(
        "--model", required=True, type=options.path, metavar="DIR", help="the encoder's model, a local folder"
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    from eval.probes.findings import publish
    from eval.reporting.sections import adequacy

    translations = [Translation.load(result_file(out, TRANSLATION)) for out in args.out]
    todo = [(one, direction_files(one, args.data)) for one in translations]
    inputs = [one.path for one in translations]
    inputs += sorted({path for _, files in todo for one in files for path in one.paths})
    publish(args, KIND, inputs, adequacy.section, lambda: measure(args, todo))


def measure(args, todo: list[tuple[Translation, list[DirectionFiles]]]) -> dict:
    """The findings of all folders."""
    encoder = ENCODERS[args.encoder](args.model)
    references: dict[tuple, float] = {}  # systems share them
    runs = [run(*one, encoder, references) for one in todo]
    return {"encoder": {"name": args.encoder, "model": str(args.model)}, "runs": runs}


def run(translation: Translation, files: list[DirectionFiles], encoder: Encoder, references: dict) -> dict:
    """The findings of one folder.

    Args:
        references: (source, reference) -> mean cosine, of files seen before; is added to.
    """
    from command_line.progress import progress

    directions = {}
    for one in progress(files, len(files), "embed", "direction"):
        source, target = split_direction(one.direction)
        hypotheses, sources, gold = one.read()
        embedded = embed(encoder, sources, source)
        key = (one.source, one.reference)
        if key not in references:
            references[key] = float(cosines(embedded, embed(encoder, gold, target)).mean())
        found = cosines(embedded, embed(encoder, hypotheses, target))
        directions[one.direction] = {
            "kind": translation.directions[one.direction]["kind"],
            "lines": len(found),
            "cosine": float(found.mean()),
            "reference_cosine": references[key],
        }
    return {
        "system": translation.system | {"name": translation.name},
        "dataset": translation.dataset,
        "split": translation.record["split"],
        "directions": directions,
    }


def embed(encoder: Encoder, sentences: list[str], language: str):
    """B x C vectors, checked.

    Raises:
        InputError: the encoder returned something else.
    """
    import numpy

    vectors = numpy.asarray(encoder(sentences, language), dtype=numpy.float64)
    if vectors.ndim != 2 or len(vectors) != len(sentences) or not numpy.isfinite(vectors).all():
        raise InputError(
            f"--encoder: an array of shape {vectors.shape} for {len(sentences)} sentences of {language},"
            " expected one vector of finite numbers each"
        )
    return vectors


def cosines(first, second):
    """B cosines of two B x C arrays; a vector of zeros has cosine 0 with all."""
    import numpy

    norms = numpy.linalg.norm(first, axis=1) * numpy.linalg.norm(second, axis=1)
    products = (first * second).sum(axis=1)
    return numpy.divide(products, norms, out=numpy.zeros_like(products), where=norms > 0)
