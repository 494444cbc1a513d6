"""Cosine between parallel sentences in every encoder layer, and its change between systems (thesis 6.4.5).

A sentence is the mean of its states in a layer, as in Figure 6.3. With several systems, differences of the
first one to every other are given too, and of every other one to the next: how the second training, loss or
normalization moved the languages together or apart, and what a third one changed then. The thesis does this
for a decoder-only model, whose layers all see the source; of translation models it is the encoder.
"""

from dataclasses import dataclass

import numpy as np

from command_line.measurements import Measured, numbers
from data_prep.formats.vectors import normalized
from eval.probes.parallel import StoreOptions, index_files, layerwise
from eval.reporting.result_file import Written, publish

KIND = "cosine"


@dataclass(frozen=True, kw_only=True)
class Options(StoreOptions):
    """Options of the command."""

    written: Written


def main(options: Options) -> None:
    inputs = index_files(options.states, [options.split], options.written.allow_unlike)
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def measure(options: StoreOptions) -> Measured:
    """One run per store."""
    measured = Measured()
    for folder in options.states:
        measured.add(*layerwise(folder, options, normalized, compare, KIND))
    return measured


def compare(pair, first: np.ndarray, second: np.ndarray) -> list[dict]:
    """The mean cosine between rows i of both sides, of length 1 (thesis 6.4.5)."""
    return numbers({"cosine": np.einsum("ij,ij->i", first, second).mean()})
