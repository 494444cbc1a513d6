"""Semantic textual similarity: correlation of the cosine of two sentences with what people said.

Spearman's and Pearson's correlation, in per cent, for every file: of one language, or of two, as those of STS
2017 (Cer et al. 2017), `STS.en-ar.tsv`, whose first sentences are in the first one. With --crossed also for
sentences of two languages from files of one each, which must be row-parallel, as STS benchmarks that were
translated are.
"""

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np

from command_line.errors import InputError, at
from command_line.lines import read_lines, uncompressed_name
from command_line.measurements import Measured, numbers
from command_line.option_classes import force_switch, option, output_folder, positional, switch
from command_line.outputs import checksum
from command_line.progress import progress
from command_line.provenance import versions
from command_line.result_file import write_result
from data_prep.formats.texts import LANGUAGE_CODE
from data_prep.formats.vectors import normalized
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions

KIND = "sts"
SCORES = "cosine-and-rating"  # before the direction: an array of them


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """What is compared."""

    files: list[Path] = positional(
        "CSV or TSV of sentence, sentence, rating; its language, or two, in the name: stsb-de-test.csv,"
        " STS.en-ar.tsv",
        metavar="FILE",
    )
    encoder: EncoderOptions
    crossed: bool = switch("also sentences of two languages (files are row-parallel)")
    dataset: str = option("name in tables", "STS")
    output: Path = output_folder(f"{KIND}.json")
    force: bool = force_switch()


@dataclass(frozen=True)
class RatedPairs:
    """Pairs of sentences, as people rated them.

    Attributes:
        ratings: any scale; more is more similar.
    """

    path: Path
    first: list[str]
    second: list[str]
    ratings: np.ndarray


def read_rated_pairs(path: Path) -> RatedPairs:
    """Read `sentence,sentence,rating`: CSV, or TSV where the name says .tsv or .txt; may be .gz or .xz.

    Raises:
        InputError: a row has other than three fields, or a rating that is no number; or fewer than two rows.
    """
    separator = "\t" if {".tsv", ".txt"} & set(path.suffixes) else ","
    first, second, ratings = [], [], []
    for number, row in _rows(path, separator):
        if len(row) != 3:
            raise InputError(f"{at(path, number)}: {len(row)} fields, expected sentence, sentence, rating")
        try:
            rating = float(row[2])
        except ValueError:
            rating = math.nan
        if not math.isfinite(rating):
            raise InputError(f"{at(path, number)}: rating {row[2]!r:.50}, expected a number")
        ratings.append(rating)
        first.append(row[0])
        second.append(row[1])
    if len(ratings) < 2 or len(set(ratings)) < 2:
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


def languages_of(path: Path) -> tuple[str, str]:
    """The languages of the first and of the second sentences, from the name without its first word.

    A part between dots that is two codes, `STS.en-ar.tsv`; else the first part that is one, of both:
    `stsb-de-test.csv.gz`.

    Raises:
        InputError: there is none.
    """
    name = uncompressed_name(path)
    for part in name.split(".")[1:]:
        codes = part.split("-")
        if len(codes) == 2 and all(map(_is_language, codes)):
            return codes[0], codes[1]
    for part in re.split(r"[.-]", name)[1:]:
        if _is_language(part):
            return part, part
    raise InputError(
        f"{path}: no language in its name; expected for example stsb-de-test.csv, or STS.en-ar.tsv for two"
    )


def _is_language(part: str) -> bool:
    return LANGUAGE_CODE.fullmatch(part) is not None and part not in ("csv", "tsv", "txt", "dev")


def main(job: Similarity) -> None:
    inputs = [*job.files, *job.encoder.files(job.output)]
    write_result("embeddings", KIND, job, inputs, lambda: measure(job), job.output, job.force)


def measure(job: Similarity) -> Measured:
    """Correlations per file, and per ordered pair of languages where they are crossed."""
    pairs: dict[tuple[str, str], RatedPairs] = {}
    for path in job.files:
        languages = languages_of(path)
        if languages in pairs:
            other = pairs[languages].path
            raise InputError(f"{path}: a second file of {_title(*languages)}, besides {other}; expected one")
        pairs[languages] = read_rated_pairs(path)
    alone = {first: each for (first, second), each in pairs.items() if first == second}
    if job.crossed:
        _check_crossed(pairs, alone)
        check_row_parallel(list(alone.values()))
    encoder = job.encoder.load()
    vectors = {
        languages: [
            normalized(encoder.encode(side, language))
            for side, language in zip((each.first, each.second), languages, strict=True)
        ]
        for languages, each in progress(pairs.items(), len(pairs), "encode", "file")
    }
    scores = {
        _title(*languages): np.stack([cosines(*vectors[languages]), each.ratings], axis=1)
        for languages, each in pairs.items()
    }
    texts = {_title(*languages): checksum(each.path) for languages, each in pairs.items()}
    for first, second in permutations(alone, 2) if job.crossed else ():
        crossed = cosines(vectors[first, first][0], vectors[second, second][1])
        scores[_title(first, second)] = np.stack([crossed, alone[first].ratings], axis=1)
        texts[_title(first, second)] = f"{texts[first]} {texts[second]}"
    measured = Measured(
        about=described_encoder(encoder) | {"versions": versions("torch", "numpy", "scipy")},
        arrays={f"{SCORES}/{direction}": of_pairs for direction, of_pairs in scores.items()},
    )
    measured.add(
        {"system": encoder.system, "dataset": job.dataset, "texts": texts},
        [
            row
            for direction, of_pairs in scores.items()
            for row in numbers(correlations(*of_pairs.T), direction=direction)
        ],
    )
    return measured


def _check_crossed(pairs: dict[tuple[str, str], RatedPairs], alone: dict[str, RatedPairs]) -> None:
    if len(alone) < 2:
        raise InputError("--crossed: pairs of files of one language each; expected at least two of them")
    for (first, second), each in pairs.items():
        if first != second and {first, second} <= set(alone):
            crossed = _title(first, second)
            raise InputError(
                f"{each.path}: --crossed makes {crossed} of the files of both, too; leave one out"
            )


def _title(first: str, second: str) -> str:
    return first if first == second else f"{first}-{second}"


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cosine of row i with row i; vectors have length 1."""
    return np.einsum("nc,nc->n", first, second)


def check_row_parallel(pairs: list[RatedPairs]) -> None:
    """Refuse files whose rows are not the same pairs in other languages."""
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


def correlations(cosines: np.ndarray, ratings: np.ndarray) -> dict[str, float]:
    """Number of pairs ("lines"), and correlations in per cent; 0 where all cosines are equal."""
    from scipy.stats import pearsonr, spearmanr

    if np.ptp(cosines) == 0:
        return {"lines": len(ratings), "spearman": 0.0, "pearson": 0.0}
    return {
        "lines": len(ratings),
        "spearman": 100 * float(spearmanr(cosines, ratings).statistic),
        "pearson": 100 * float(pearsonr(cosines, ratings).statistic),
    }
