"""Choosing the best checkpoint of a training by sentence retrieval on line-parallel text."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from data_prep.formats.texts import LANGUAGE
from embeddings.encoders.sentence_encoder import SentenceEncoder
from embeddings.search.retrieval import COSINE, Neighbourhoods, precision
from embeddings.test_sets import ParallelFiles, all_pairs, by_language, read_sides

SCORE = "p_at_1"


@dataclass(frozen=True)
class ParallelValidation:
    """The texts that are retrieved.

    Attributes:
        valid_parallel: sets of line-parallel files, one file per language; None for none.
        pivot: the language that is in every pair of a set; None for all pairs.
    """

    valid_parallel: list[list[Path]] | None
    pivot: str | None

    def pairs(self) -> list[ParallelFiles]:
        """The pairs of languages of all sets.

        Raises:
            InputError: a set has no two languages, or not the pivot.
        """
        sets = self.valid_parallel or []
        return [pair for files in sets for pair in all_pairs(by_language(files), self.pivot)]


def texts_of(pairs: list[ParallelFiles]) -> list[Path]:
    """Their files, each once."""
    return sorted({path for pair in pairs for path in pair.paths})


def add_parallel_validation_arguments(parser, required: bool) -> None:
    """The options of `ParallelValidation`."""
    parser.add_argument(
        "--valid-parallel",
        required=required,
        action="append",
        nargs="+",
        type=types.path,
        metavar="FILE",
        help="line-parallel files, one per language, which ends their names, by whose retrieval the best"
        " checkpoint is chosen; again for texts that are parallel in another set of lines (the paper: seven"
        " test sets of WMT20); never what is tested later",
    )
    parser.add_argument(
        "--pivot", type=LANGUAGE, metavar="LANG", help="of --valid-parallel: only pairs with this language"
    )


def retrieval(encoder: SentenceEncoder, pairs: list[ParallelFiles]) -> dict:
    """P@1 of both directions by cosine, and its mean over all pairs."""
    found = []
    for pair in pairs:
        texts = read_sides(pair)
        vectors = [
            encoder.encode(list(side), language) for side, language in zip(texts, pair.languages, strict=True)
        ]
        near = Neighbourhoods.of(*vectors, k=1)
        hits = [
            precision(each.retrieve(COSINE), side).by_number
            for each, side in ((near, texts[1]), (near.reversed(), texts[0]))
        ]
        found.append({"files": [str(path) for path in pair.paths], SCORE: hits})
    return {SCORE: float(np.mean([each[SCORE] for each in found])), "pairs": found}
