"""Cosine between parallel sentences in every encoder layer, and its change between systems (thesis 6.4.5).

A sentence is the mean of its states in a layer, as in Figure 6.3. With several systems, differences of the
first one to every other are given too, and of every other one to the next: how the second training, loss or
normalization moved the languages together or apart, and what a third one changed then. The thesis does this
for a decoder-only model, whose layers all see the source; of translation models it is the encoder.
"""

import numpy as np

from command_line.measurements import Measured, numbers
from command_line.option_classes import from_arguments
from data_prep.formats.vectors import normalized
from eval.probes.parallel import StoreOptions, add_store_arguments, index_files, layerwise
from eval.reporting.result_file import Written, add_output_arguments, publish

KIND = "cosine"


def add_arguments(parser) -> None:
    add_store_arguments(parser)
    add_output_arguments(parser)


def main(args) -> None:
    options = from_arguments(StoreOptions, args)
    publish(
        KIND, options, index_files(options.states), lambda: measure(options), from_arguments(Written, args)
    )


def measure(options: StoreOptions) -> Measured:
    """One run per store."""
    measured = Measured()
    for folder in options.states:
        measured.add(*layerwise(folder, options, normalized, compare, KIND))
    return measured


def compare(pair, first: np.ndarray, second: np.ndarray) -> list[dict]:
    return numbers({"cosine": parallel_cosine(first, second)})


def parallel_cosine(first: np.ndarray, second: np.ndarray) -> float:
    """Mean cosine between rows i of both sides (thesis 6.4.5), from -1 to 1."""
    return float(np.einsum("ij,ij->i", normalized(first), normalized(second)).mean())
