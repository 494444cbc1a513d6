"""Semantic textual similarity: correlation of the cosine of two sentences with what people said.

Spearman's and Pearson's correlation, in per cent, for every language, and for sentences of two languages with
--crossed (files of several languages must be row-parallel, as STS benchmarks that were translated are).
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError, at
from command_line.lines import read_lines, uncompressed_name
from command_line.option_classes import from_arguments
from command_line.progress import progress
from command_line.provenance import versions
from command_line.result_file import add_output_arguments, write_result
from data_prep.formats.texts import LANGUAGE_CODE
from data_prep.formats.vectors import normalized
from embeddings.encoders.options import EncoderOptions, add_encoder_arguments

KIND = "sts"


@dataclass(frozen=True)
class Similarity:
    """What is compared.

    Attributes:
        files: of rated pairs of sentences, one per language.
        crossed: also the first sentence of one language with the second of another.
        dataset: name in tables.
    """

    encoder: EncoderOptions
    files: list[Path]
    crossed: bool
    dataset: str


@dataclass(frozen=True)
class RatedPairs:
    """Pairs of sentences of one language, as people rated them.

    Attributes:
        first, second: sentences.
        ratings: any scale; more is more similar.
    """

    path: Path
    first: list[str]
    second: list[str]
    ratings: np.ndarray


def read_rated_pairs(path: Path) -> RatedPairs:
    """Read `sentence,sentence,rating`: CSV, or TSV where the name says so; may be .gz or .xz.

    Raises:
        InputError: a row has other than three fields, or a rating that is no number; or fewer than two rows.
    """
    separator = "\t" if ".tsv" in path.name else ","
    first, second, ratings = [], [], []
    for number, row in _rows(path, separator):
        if len(row) != 3:
            raise InputError(f"{at(path, number)}: {len(row)} fields, expected sentence, sentence, rating")
        try:
            ratings.append(float(row[2]))
        except ValueError:
            raise InputError(f"{at(path, number)}: rating {row[2]!r:.50}, expected a number") from None
        first.append(row[0])
        second.append(row[1])
    if len(ratings) < 2 or len(set(ratings)) < 2 or not np.isfinite(ratings).all():
        raise InputError(f"{path}: {len(ratings)} rated pairs; expected at least two, with different ratings")
    return RatedPairs(path, first, second, np.array(ratings))


def _rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the last line of each row, from 1, and its fields."""
    quoting = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    reader = csv.reader((f"{line}\n" for line in read_lines(path)), delimiter=separator, quoting=quoting)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"{at(path, reader.line_num)}: {error}; expected rows of CSV") from None


def language_of(path: Path) -> str:
    """The first part of a name that is a language code and not its first word: `stsb-de-test.csv.gz`.

    Raises:
        InputError: there is none.
    """
    parts = re.split(r"[.-]", uncompressed_name(path))[1:]
    for part in parts:
        if LANGUAGE_CODE.fullmatch(part) and part not in ("csv", "tsv", "dev"):
            return part
    raise InputError(f"{path}: no language in its name; expected for example stsb-de-test.csv")


def add_arguments(parser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=types.path,
        metavar="FILE",
        help="CSV or TSV of sentence, sentence, rating; its language in the name: stsb-de-test.csv",
    )
    add_encoder_arguments(parser)
    parser.add_argument(
        "--crossed", action="store_true", help="also sentences of two languages (files are row-parallel)"
    )
    parser.add_argument("--dataset", type=types.text, default="STS", help="name in tables")
    add_output_arguments(parser, KIND)


def main(args) -> None:
    job = from_arguments(Similarity, args)
    inputs = [*job.files, *job.encoder.files()]
    write_result("embeddings", KIND, job, inputs, lambda: measure(job), args.output, args.force)


def measure(job: Similarity) -> dict:
    """Correlations per language, and per ordered pair of languages where they are crossed."""
    languages = [language_of(path) for path in job.files]
    for path, language in zip(job.files, languages, strict=True):
        if languages.count(language) > 1:
            raise InputError(f"{path}: a second file of {language}; expected one per language")
    pairs = dict(zip(languages, map(read_rated_pairs, job.files), strict=True))
    if job.crossed:
        check_row_parallel(list(pairs.values()))
    encoder = job.encoder.load()
    vectors = {
        language: tuple(normalized(encoder.encode(side, language)) for side in (each.first, each.second))
        for language, each in progress(pairs.items(), len(pairs), "encode", "language")
    }
    names = [(one, one) for one in pairs] + (list(permutations(pairs, 2)) if job.crossed else [])
    found = {}
    for one, other in names:
        cosines = np.einsum("nc,nc->n", vectors[one][0], vectors[other][1])
        found[one if one == other else f"{one}-{other}"] = correlations(cosines, pairs[one].ratings)
    return {
        "encoder": encoder.record(),
        "runs": [{"system": encoder.system, "dataset": job.dataset, "languages": found}],
        "versions": versions("torch", "numpy", "scipy"),
    }


def check_row_parallel(pairs: list[RatedPairs]) -> None:
    """Refuse files whose rows are not the same pairs in other languages.

    Raises:
        InputError: ratings differ, so that row i of the one is not row i of the other.
    """
    first = pairs[0]
    for other in pairs[1:]:
        if len(other.ratings) != len(first.ratings):
            raise InputError(
                f"{other.path}: {len(other.ratings)} rows, but {first.path} has {len(first.ratings)};"
                " --crossed needs row-parallel files"
            )
        if (different := np.flatnonzero(other.ratings != first.ratings)).size:
            row = int(different[0])
            raise InputError(
                f"{other.path}: row {row + 1} is rated {other.ratings[row]:g}, but {first.ratings[row]:g} in"
                f" {first.path}; --crossed needs row-parallel files"
            )


def correlations(cosines: np.ndarray, ratings: np.ndarray) -> dict:
    """In per cent; 0 where all cosines are equal."""
    from scipy.stats import pearsonr, spearmanr

    if np.ptp(cosines) == 0:
        return {"pairs": len(ratings), "spearman": 0.0, "pearson": 0.0}
    return {
        "pairs": len(ratings),
        "spearman": 100 * float(spearmanr(cosines, ratings).statistic),
        "pearson": 100 * float(pearsonr(cosines, ratings).statistic),
    }
