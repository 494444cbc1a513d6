"""SVCCA and linear CKA, layer by layer, between the encoder's states of a-b and b-a (thesis E.1, Figure E.1).

Sentence i of direction en-de and sentence i of direction de-en say the same; each is the mean of its states
in one encoder layer. The scores say how far the two languages share a subspace, up to a linear map: SVCCA
(Raghu et al., 2017) as in the thesis, linear CKA (Kornblith et al., 2019) as a relative that costs no
decomposition.

Caveat (E.1): SVCCA does not rank systems by their zero-shot quality. PreNorm without its final encoder
normalization has an extremely high score on top of the encoder and yet translates much worse than PostNorm.
Compare layers of one system with it; to compare systems, use `probe llr`.
"""

import functools
import sys
from dataclasses import dataclass

import numpy as np

from command_line import options as types
from command_line.option_classes import from_arguments
from eval.probes.layer_curves import curves
from eval.probes.parallel import StoreOptions, add_store_arguments, index_files, layerwise
from eval.probes.svcca_and_cka import PERMUTATIONS, VARIANCE, Sentences, compare
from eval.reporting.exhibits import Section
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.result_set import ResultSet
from eval.results.systems import by_dataset

KIND = "similarity"
NOTES = [
    "Similarity of the mean-pooled states of parallel sentences in two languages. It compares layers of one"
    " system; as E.1 of the thesis shows with PreNorm w/o Enc-Last, a high score on top of the encoder does"
    " not mean good zero-shot translation. By chance (dashed): the same with the sentences of one side in"
    " other orders; where that is high too, there are too few sentences for the number of directions."
]
MEASURES = {
    "svcca": ("SVCCA", "SVCCA (mean canonical correlation) per encoder layer."),
    "cka": ("linear CKA", "Linear CKA per encoder layer."),
}


@dataclass(frozen=True)
class Options(StoreOptions):
    """Options of the probe; those of the states are inherited.

    Attributes:
        variance: share of the variance that SVCCA keeps.
        permutations: orders of sentences that chance is measured with.
    """

    variance: float = VARIANCE
    permutations: int = PERMUTATIONS


def add_arguments(parser) -> None:
    add_store_arguments(parser)
    parser.add_argument(
        "--variance",
        type=types.number(0, 1, above=True),
        default=VARIANCE,
        help="share of the variance that SVCCA keeps",
    )
    parser.add_argument(
        "--permutations",
        type=types.positive,
        default=PERMUTATIONS,
        help="orders of sentences that chance is measured with",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    inputs = index_files(options.states)
    publish(KIND, options, inputs, lambda: measure(options), section, args.output, args.force)


def measure(options: Options) -> dict:
    """One run per store."""
    return {"runs": [run(folder, options) for folder in options.states]}


def run(folder, options: Options) -> dict:
    """The run of one store; a warning where sentences in any order would be about as similar."""
    found = layerwise(
        folder,
        options,
        functools.partial(Sentences.of, variance=options.variance),
        functools.partial(compare, permutations=options.permutations),
        KIND,
    ) | {"variance": options.variance}
    for entry in found["averages"].values():
        chance, value = float(np.mean(entry["svcca_by_chance"][-1])), entry["svcca"][-1]
        if chance > value / 2:
            lines = min(pair["lines"] for pair in found["pairs"].values())
            print(
                f"warning: {folder}: SVCCA of {value:.2f} on top of the encoder, but {chance:.2f} for the"
                f" sentences in another order: {lines} are few for {entry['svcca_directions'][-1]:.0f}"
                " directions; use more sentences or a lower --variance",
                file=sys.stderr,
            )
            break
    return found


# --- the section of the report


def section(results: ResultSet) -> Section:
    exhibits = []
    for dataset, systems in by_dataset(results.probed(KIND)).items():
        exhibits += [
            curves(KIND, systems, dataset, measure, *titles, chance=f"{measure}_by_chance")
            for measure, titles in MEASURES.items()
        ]
    return Section("Similarity of languages in the encoder", exhibits, NOTES)
