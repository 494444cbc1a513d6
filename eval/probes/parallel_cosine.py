"""Cosine between parallel sentences in every encoder layer, and its change between systems (thesis 6.4.5).

A sentence is the mean of its states in a layer, as in Figure 6.3. With several systems, differences of the
first one to every other are given too: how the second training, loss or normalization moved the languages
together or apart. The thesis does this for a decoder-only model, whose layers all see the source; here it is
the encoder.
"""

import numpy as np

from command_line.errors import InputError
from eval.probes.precision import normalized, parallel_cosine
from eval.results.runs import Runs, datasets_of, grouped, on

KIND = "cosine"


def add_arguments(parser) -> None:
    from eval.probes.findings import add_output_arguments
    from eval.probes.parallel import add_store_arguments

    add_store_arguments(parser)
    add_output_arguments(parser, KIND)


def main(args) -> None:
    from eval.probes.findings import publish
    from eval.probes.parallel import index_files
    from eval.reporting.sections import cosine

    publish(args, KIND, index_files(args.states), cosine.section, lambda: measure(args))


def measure(args) -> dict:
    """The runs, and the differences between their systems.

    Raises:
        InputError: systems on the same dataset have other pairs, numbers of sentences, or layers.
    """
    from eval.probes.parallel import layerwise

    runs = [layerwise(folder, args, normalized, compare, KIND) for folder in args.states]
    groups = grouped(zip(args.states, runs, strict=True))
    for dataset in datasets_of(groups):
        first, *others = (run for runs in on(groups, dataset).values() for run in runs)
        for run in others:
            if mismatch := mismatch_of(first, run):
                raise InputError(mismatch)
    return {"runs": runs, "differences": differences(groups)}


def compare(pair, first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    return {"cosine": parallel_cosine(first, second)}


def differences(groups: Runs) -> list[dict]:
    """Means over the seeds of every further system minus those of the first one on the same dataset, where
    they have the same layers and sentences.
    """
    from eval.probes.parallel import averages

    found = []
    for dataset in datasets_of(groups):
        (baseline, first), *others = on(groups, dataset).items()
        for name, runs in others:
            if any(mismatch_of(first[0], run) for run in (*first, *runs)):
                continue
            changes = {
                pair: {
                    "kind": entry["kind"],
                    "lines": entry["lines"],
                    "cosine": (mean(runs, pair) - mean(first, pair)).tolist(),
                }
                for pair, entry in first[0]["pairs"].items()
            }
            found.append(
                {
                    "dataset": dataset,
                    "baseline": baseline,
                    "system": name,
                    "layers": first[0]["layers"],
                    "pairs": changes,
                    "averages": averages(changes),
                }
            )
    return found


def mean(runs: list[dict], pair: str) -> np.ndarray:
    """Cosine per layer, mean over seeds."""
    return np.mean([run["pairs"][pair]["cosine"] for run in runs], axis=0)


def mismatch_of(first: dict, other: dict) -> str | None:
    """How two runs differ in layers, or in the sentences of pairs of languages; None if they do not."""
    lines = [{pair: entry["lines"] for pair, entry in run["pairs"].items()} for run in (first, other)]
    for what, found, expected in (
        ("layers", other["layers"], first["layers"]),
        ("pairs of languages", sorted(lines[1]), sorted(lines[0])),
        ("numbers of sentences", list(lines[1].values()), list(lines[0].values())),
    ):
        if found != expected:
            return (
                f"{other['states']}: {what} {', '.join(map(str, found))}, but {', '.join(map(str, expected))}"
                f" in {first['states']}; differences need the same"
            )
    return None
