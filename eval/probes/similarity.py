"""SVCCA and linear CKA, layer by layer, between the encoder's states of a-b and b-a (thesis E.1, Figure E.1).

Sentence i of direction en-de and sentence i of direction de-en say the same; each is the mean of its states
in one encoder layer. The scores say how far the two languages share a subspace, up to a linear map: SVCCA
(Raghu et al., 2017) as in the thesis, linear CKA (Kornblith et al., 2019) as a relative that costs no
decomposition.

Caveat (thesis E.1): SVCCA does not rank systems by their zero-shot quality. PreNorm without its final encoder
normalization has an extremely high score on top of the encoder and yet translates much worse than PostNorm.
Compare layers of one system with it; to compare systems, use `probe llr`.
"""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.measurements import Measured
from command_line.option_classes import option
from eval.probes.parallel import OUTPUT, StoreOptions, index_files, layerwise
from eval.probes.svcca_and_cka import PERMUTATIONS, VARIANCE, Sentences, compare
from eval.reporting.result_file import Written, publish

KIND = "similarity"


@dataclass(frozen=True, kw_only=True)
class Options(StoreOptions):
    """Options of the command."""

    variance: float = option(
        "share of the variance that SVCCA keeps", VARIANCE, type=types.number(0, 1, above=True)
    )
    permutations: int = option("orders of sentences that chance is measured with", PERMUTATIONS)
    written: Written


def main(options: Options) -> None:
    publish(KIND, options, index_files(options.states), lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    """One run per store; a warning where sentences in any order would be about as similar."""
    measured = Measured()
    for folder in options.states:
        compared = functools.partial(compare, permutations=options.permutations)
        prepared = functools.partial(Sentences.of, variance=options.variance)
        run, rows = layerwise(folder, options, prepared, compared, KIND)
        measured.add(run | {"variance": options.variance}, rows)
        warn_of_few_sentences(folder, rows)
    return measured


def warn_of_few_sentences(folder: Path, rows: list[dict]) -> None:
    """Where what is chance is more than half of what was measured on top of the encoder."""
    top = [row for row in rows if row.get("layer") == OUTPUT]
    for kind in ("supervised", "zero-shot"):
        value, chance, directions = (
            np.mean([row["value"] for row in top if (row["kind"], row["measure"]) == (kind, measure)] or [0])
            for measure in ("svcca", "svcca_by_chance", "svcca_directions")
        )
        if chance > value / 2:
            lines = min(row["value"] for row in rows if row["measure"] == "lines")
            print(
                f"warning: {folder}: SVCCA of {value:.2f} on top of the encoder, but {chance:.2f} for the"
                f" sentences in another order: {lines} are few for {directions:.0f}"
                " directions; use more sentences or a lower --variance",
                file=sys.stderr,
            )
            return
