"""Choosing the best checkpoint of a training by sentence retrieval on line-parallel text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from command_line import options as types
from command_line.option_classes import option
from data_prep.formats.texts import LANGUAGE
from embeddings.encoders.sentence_encoder import SentenceEncoder
from embeddings.search.retrieval import COSINE, Neighbourhoods, precision
from embeddings.test_sets import ParallelFiles, all_pairs, by_language, read_sides

SCORE = "p_at_1"


def _texts(**argument) -> Any:
    """The option `--valid-parallel`."""
    return option(
        "line-parallel files, one per language, which ends their names, by whose retrieval the best"
        " checkpoint is chosen; again for texts that are parallel in another set of lines (the paper: seven"
        " test sets of WMT20); never what is tested later",
        action="append",
        nargs="+",
        type=types.path,
        metavar="FILE",
        **argument,
    )


@dataclass(frozen=True)
class ParallelValidation:
    """The texts that are retrieved."""

    valid_parallel: list[list[Path]] | None = _texts()
    pivot: str | None = option(
        "of --valid-parallel: only pairs with this language", type=LANGUAGE, metavar="LANG"
    )

    def pairs(self) -> list[ParallelFiles]:
        """The pairs of languages of all sets.

        Raises:
            InputError: a set has no two languages, or not the pivot.
        """
        sets = self.valid_parallel or []
        return [pair for files in sets for pair in all_pairs(by_language(files), self.pivot)]


@dataclass(frozen=True)
class RequiredParallelValidation(ParallelValidation):
    """The texts that are retrieved, where there is no other validation."""

    valid_parallel: list[list[Path]] = _texts(required=True)


def texts_of(pairs: list[ParallelFiles]) -> list[Path]:
    """Their files, each once."""
    return sorted({path for pair in pairs for path in pair.paths})


def retrieval(encoder: SentenceEncoder, pairs: list[ParallelFiles]) -> dict:
    """P@1 of both directions by cosine, and its mean over all pairs."""
    results = []
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
        results.append({"files": [str(path) for path in pair.paths], SCORE: hits})
    return {SCORE: float(np.mean([each[SCORE] for each in results])), "pairs": results}
