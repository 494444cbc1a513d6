"""Adequacy without references: cosine of the sentence embeddings of source and hypothesis (thesis 4.5.2).

Reads folders of `python -m eval translate` and the raw test set beside the data. The mean over the lines of a
direction, times 100, is what Table 4.7 shows; the same of source and reference is its row "Reference". The
thesis takes LASER; any encoder of `embeddings` is possible, but only numbers of the same encoder can be
compared.
"""

from dataclasses import dataclass

from command_line.errors import InputError
from command_line.option_classes import add_options, from_arguments
from command_line.progress import progress
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder
from eval.reporting.exhibits import Cell, Section, Table, cells, mean_cell, number_cell, slug, tidy
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import split_direction
from eval.results.result_set import ResultSet
from eval.results.scores import Translation
from eval.results.systems import ENCODED_WITH, UNKNOWN, System, by_dataset
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, add_folder_arguments, paths_of

KIND = "adequacy"
COUNTED = ("lines", "cosine", "reference_cosine")


@dataclass(frozen=True)
class Options:
    """Options of the command.

    Attributes:
        encoder: of sentences.
    """

    folders: TranslatedFolders
    encoder: EncoderOptions


def add_arguments(parser) -> None:
    add_folder_arguments(parser)
    add_options(parser, EncoderOptions)
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    translated = options.folders.files()
    inputs = [*paths_of(translated), *options.encoder.files(args.output)]
    publish(KIND, options, inputs, lambda: measure(options, translated), args)


def measure(options: Options, translated: list[tuple[Translation, list[DirectionFiles]]]) -> dict:
    """One run per folder."""
    encoder = options.encoder.load()
    references: dict[tuple, float] = {}  # systems share them
    runs = [run(*one, encoder, references) for one in translated]
    return {**described_encoder(encoder), "runs": runs}


def run(
    translation: Translation, files: list[DirectionFiles], encoder: SentenceEncoder, references: dict
) -> dict:
    """The run of one folder.

    Args:
        references: (source, reference) -> mean cosine, of files seen before; is added to.
    """
    directions = {}
    for one in progress(files, len(files), "embed", "direction"):
        source, target = split_direction(one.direction)
        hypotheses, sources, gold = one.read()
        embedded = encoder.encode(sources, source)
        key = (one.source, one.reference)
        if key not in references:
            references[key] = float(cosines(embedded, encoder.encode(gold, target)).mean())
        found = cosines(embedded, encoder.encode(hypotheses, target))
        directions[one.direction] = {
            "kind": translation.directions[one.direction]["kind"],
            "lines": len(found),
            "cosine": float(found.mean()),
            "reference_cosine": references[key],
        }
    return translation.described() | {"directions": directions}


def cosines(first, second):
    """B cosines of two B x C arrays; a vector of zeros has cosine 0 with all."""
    import numpy

    first, second = (numpy.asarray(one, dtype=numpy.float64) for one in (first, second))
    norms = numpy.linalg.norm(first, axis=1) * numpy.linalg.norm(second, axis=1)
    products = (first * second).sum(axis=1)
    return numpy.divide(products, norms, out=numpy.zeros_like(products), where=norms > 0)


# --- the section of the report


def section(results: ResultSet) -> Section:
    notes = [
        "Cosine of the sentence embeddings of source and translation, mean over lines, x 100 (thesis 4.5.2),"
        f" by {encoder_of(results)}."
    ]
    systems = by_dataset(results.probed(KIND))
    return Section("Adequacy", [table(found, dataset) for dataset, found in systems.items()], notes)


def encoder_of(results: ResultSet) -> str:
    """The encoder that all files are of.

    Raises:
        InputError: they are of several; names two files.
    """
    files = results.of_kind(KIND)
    for path, record in files[1:]:
        if not is_one_encoder(files[0][1]["encoder"], record["encoder"]):
            raise InputError(
                f"{files[0][0]} and {path}: adequacy by {named(files[0][1])} and by {named(record)}, which"
                " cannot be compared; report them apart"
            )
    return named(files[0][1]) if files else UNKNOWN


def named(record: dict) -> str:
    return f"{record['encoder']['name']} ({record['encoder']['model']})"


def is_one_encoder(first: dict, other: dict) -> bool:
    """Whether two records are of one encoder, wherever its weights lie, that makes vectors in one way."""
    weights = [one.get("weights") for one in (first, other)]
    identified_by = "model" if None in weights else "weights"
    names = ("name", *ENCODED_WITH, identified_by)
    return all(first.get(name) == other.get(name) for name in names)


def table(systems: list[System], dataset: str) -> Table:
    """Systems by directions, the references first."""
    directions = sorted({direction for one in systems for run in one.runs for direction in run.directions})
    rows = [[*cells("Reference", ""), *(reference_cell(systems, direction) for direction in directions)]]
    data = []
    for system in systems:
        means = [system.mean("directions", direction, "cosine", scale=100) for direction in directions]
        rows.append([*cells(system.name, len(system.runs)), *(mean_cell(mean, digits=2) for mean in means)])
        data += [
            [dataset, system.name, seed, direction, *map(entry.get, COUNTED)]
            for seed, run in system.labelled()
            for direction, entry in run["directions"].items()
        ]
    caption = f"Adequacy on {dataset}, as in Table 4.7; mean ± deviation over seeds."
    titles = ["dataset", "system", "seed", "direction", *COUNTED]
    header = [cells("System", "Seeds", *directions)]
    return Table(slug("adequacy", dataset), caption, header, rows, frozenset({1}), data=tidy(titles, data))


def reference_cell(systems: list[System], direction: str) -> Cell:
    """The references are the same for all runs that have the direction."""
    found = (value for one in systems for value in one.values("directions", direction, "reference_cosine"))
    return number_cell(next((100 * value for value in found if value is not None), None), ".2f")
