"""Adequacy without references: cosine of the sentence embeddings of source and hypothesis (thesis 4.5.2).

Reads folders of `python -m eval translate` and the raw test set beside the data. The mean over the lines of a
direction, times 100, is what Table 4.7 shows; the same of source and reference is its row "Reference". The
thesis takes LASER; any encoder of `embeddings` is possible, but only numbers of the same encoder can be
compared.
"""

from dataclasses import dataclass

from command_line.measurements import Measured, numbers
from command_line.progress import progress
from data_prep.formats.vectors import normalized
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder
from eval.reporting.result_file import Written, publish
from eval.result_files import split_direction
from eval.scored import Translation
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, paths_of
from eval.systems import ENCODED_WITH

KIND = "adequacy"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    folders: TranslatedFolders
    encoder: EncoderOptions
    written: Written


def main(options: Options) -> None:
    translated = options.folders.files()
    inputs = [*paths_of(translated), *options.encoder.files(options.written.output)]
    publish(KIND, options, inputs, lambda: measure(options, translated), options.written)


def measure(options: Options, translated: list[tuple[Translation, list[DirectionFiles]]]) -> Measured:
    """One run per folder. In rows `part` is the encoder."""
    encoder = options.encoder.load()
    references: dict[tuple, float] = {}  # systems share them
    measured = Measured()
    for translation, files in translated:
        rows = [
            row | {"part": encoder.name, "kind": translation.directions[test_set.direction]["kind"]}
            for test_set in progress(files, len(files), "embed", "direction")
            for row in of_direction(test_set, encoder, references)
        ]
        measured.add(translation.described() | {"encoder": identity(encoder.record())}, rows)
    measured.about = described_encoder(encoder)
    return measured


def identity(encoder: dict) -> dict:
    """What tells an encoder, and how it makes vectors, from others, wherever its weights lie."""
    identified_by = "weights" if encoder.get("weights") else "model"
    return {name: encoder.get(name) for name in ("name", *ENCODED_WITH, identified_by)}


def of_direction(files: DirectionFiles, encoder: SentenceEncoder, references: dict) -> list[dict]:
    """The numbers of one direction.

    Args:
        references: (source, reference) -> mean cosine, of files seen before; is added to.
    """
    source, target = split_direction(files.direction)
    hypotheses, sources, gold = files.read()
    embedded = encoder.encode(sources, source)
    key = (files.source, files.reference)
    if key not in references:
        references[key] = float(cosines(embedded, encoder.encode(gold, target)).mean())
    adequacies = cosines(embedded, encoder.encode(hypotheses, target))
    values = {"lines": len(adequacies), "adequacy": adequacies.mean(), "reference_adequacy": references[key]}
    return numbers(values, direction=files.direction)


def cosines(first, second):
    """B cosines of two B x C arrays; a vector of zeros has cosine 0 with all."""
    return (normalized(first) * normalized(second)).sum(axis=1)
