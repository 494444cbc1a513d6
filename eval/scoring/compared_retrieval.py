"""Comparisons of sentence encoders by P@1 of retrieval, which `python -m embeddings retrieve` measures.

Tested are averages, over all directions and over groups of languages, as tables show them. A single direction
has no test: of a hundred languages there are thousands, and a correction for all of them finds nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.measurements import read_arrays
from embeddings.averages import in_direction, pair_of, pivot_of
from embeddings.search.margin import MARGINS
from embeddings.search.sentence_scores import BERT_SCORE, MEASURES, NORMALIZED
from eval.checks import check_equal
from eval.result_files import read_result
from eval.result_set import RETRIEVAL as KIND
from eval.scoring.comparison import Compared, common_directions, named_once
from eval.scoring.line_statistics import segments
from eval.scoring.system_pairs import Pair
from eval.systems import Run

ALL = "all"


class EncoderRun(Run):
    """What was measured of one encoder in one test set."""

    compared_alike = ("texts_sha256",)

    @property
    def directions(self) -> dict[str, dict]:
        return {name: {"texts_sha256": texts} for name, texts in self.record["texts"].items()}


def load(path: Path) -> list[Run]:
    """The runs of a result file."""
    record = read_result(path)
    return [EncoderRun(path, run, record, number) for number, run in enumerate(record["runs"])]


def hits_of(run: Run, similarity: str) -> dict[str, np.ndarray]:
    """Direction -> whether each query found its own line; an `InputError` if that was not measured."""
    path = run.path.with_suffix(".npz")
    names = {direction: f"{similarity}/{direction}" for direction in run.record["texts"]}
    lines = read_arrays(path, names.values(), run.file["arrays_sha256"])
    if lacking := next((direction for direction, name in names.items() if name not in lines), None):
        plain = similarity.removesuffix(NORMALIZED)
        raise InputError(
            f"{run.path}: {lacking} was not measured by {similarity}; run python -m embeddings retrieve"
            f" again, with --similarity {plain}{' --normalize ALPHA' if plain != similarity else ''}"
        )
    return {direction: lines[name] for direction, name in names.items()}


def statistics(run: Run, similarity: str) -> dict[str, np.ndarray]:
    """Direction -> hits, and 1 for every line, N x 2."""
    return {direction: segments(hits) for direction, hits in hits_of(run, similarity).items()}


def groups_to_test(pair: Pair, direction: str | None = None) -> dict[str, dict[str, list[str]]]:
    """All directions, and those of the groups of languages.

    Args:
        direction: "from" or "to" the language that all pairs have in common: only these; None for both, as of
            a set without such a language.
    """
    common, suffix = common_directions(pair), ""
    pivot = pivot_of(common)
    if direction and pivot:
        common = [name for name in common if in_direction(name, direction, pivot)]
        suffix = f" {direction} {pivot}"
    groups = {ALL + suffix: common}
    for group, of_group in pair.baseline.runs[0].record["groups"].items():
        groups[group + suffix] = [name for name in common if pair_of(name) in of_group["pairs"]]
    return {"overall": named_once(groups), "directions": {}}


def check_measure(pairs: Sequence[Pair], similarity: str) -> None:
    """Refuse runs that were not measured by it, or as another one: by a margin with more neighbours, say."""
    for run in {run for pair in pairs for system in pair[:2] for run in system.runs}:
        hits_of(run, similarity)
    for pair in pairs:
        first, *others = (run for system in pair[:2] for run in system.runs)
        for run, name in product(others, depends_on(similarity)):
            check_equal(name, first, run, first.file.get(name), run.file.get(name))


def depends_on(similarity: str) -> list[str]:
    """The fields of a result file without which the name of a measure does not say what it is."""
    plain = similarity.removesuffix(NORMALIZED)
    return [
        *(["neighbours"] if plain in MARGINS else []),
        *(["normalization"] if plain != similarity else []),
        *(["without_specials"] if plain == BERT_SCORE else []),
    ]


RETRIEVAL = Compared(
    kind=KIND,
    measures=MEASURES,
    load=load,
    groups=groups_to_test,
    statistics=statistics,
    check=check_measure,
    agreement=lambda measure, pair, difference: None,
    neither_translates=lambda pair, directions: False,
    of_one_unit=MEASURES,  # shares of hits
)


def retrieval_in(direction: str) -> Compared:
    """The same of one direction, where all pairs have a language in common."""
    return replace(RETRIEVAL, groups=partial(groups_to_test, direction=direction))
