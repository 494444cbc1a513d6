"""What trainings will take, as the commands `plan` show it: updates, words, operations and hours."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.option_classes import option

OPERATIONS = 6  # floating-point operations per parameter and word: two forward, four backward


@dataclass(frozen=True, kw_only=True)
class Assumed:
    """What is assumed of machine and text."""

    flops: float = option(
        "floating-point operations that the devices of a training do in a second",
        required=True,
        type=options.number(0, 1e21, above=True),
    )
    words_per_sentence: int = option("subwords of a sentence", 30)


@dataclass(frozen=True, kw_only=True)
class AssumedOfFiles(Assumed):
    """The same, and what is known of files and folders that need not be there."""

    sizes: list[tuple[str, float]] = option(
        "of a file: its examples; of a folder of instructions: their number; of a model: its parameters",
        (),
        nargs="+",
        type=options.assignment("models/mbert=8.6e7", options.number(0, 1e15, above=True)),
        metavar="PATH=NUMBER",
    )

    def size_of(self, path: Path | None) -> float | None:
        return dict(self.sizes).get(str(path))


@dataclass
class Estimate:
    """What the trainings of a system take.

    Attributes:
        parameters, updates: None if unknown.
        words: of an update.
        unknown: why a number is not known.
        operations: per parameter and word.
    """

    trainings: int
    parameters: float | None
    updates: int | None
    words: float
    stops_early: bool = False
    unknown: str = ""
    operations: int = OPERATIONS


class Estimates:
    """What the trainings of each system take; those of one system differ in their seeds."""

    def __init__(self):
        self.by_system: dict[str, Estimate] = {}

    def add(self, training: str, estimate: Callable[[], Estimate]) -> None:
        """Add a training, and estimate what it takes if it is the first of its system."""
        name = re.sub(r"-seed\d+", "", training)
        if name in self.by_system:
            self.by_system[name].trainings += 1
        else:
            self.by_system[name] = estimate()

    def show(self, flops: float) -> None:
        print("\n".join(table(self.by_system, flops)))


def table(estimates: dict[str, Estimate], flops: float) -> list[str]:
    """The lines: a system with all its seeds in each, then all."""
    width = max(map(len, ("in all", *estimates)))
    lines = [f"{'':<{width}}{'trainings':>11}{'updates':>12}{'words':>10}{'operations':>12}{'hours':>10}"]
    total = [0, 0, 0.0, 0.0, 0.0]
    for name, estimate in estimates.items():
        if estimate.updates is None:
            lines.append(f"{name:<{width}}{estimate.trainings:>11}  {estimate.unknown}")
            continue
        updates = estimate.trainings * estimate.updates
        words = updates * estimate.words
        if estimate.parameters is None:
            lines.append(
                f"{name:<{width}}{estimate.trainings:>11}{updates:>12,}{words:>10.2g}  {estimate.unknown}"
            )
            continue
        operations = estimate.operations * estimate.parameters * words
        row = [estimate.trainings, updates, words, operations, operations / flops / 3600]
        total = [sum(pair) for pair in zip(total, row, strict=True)]
        early = "  at most: it stops early" if estimate.stops_early else ""
        lines.append(f"{name:<{width}}" + _shown(row) + early)
    return [*lines, f"{'in all':<{width}}" + _shown(total)]


def _shown(row: list) -> str:
    trainings, updates, words, operations, hours = row
    return f"{trainings:>11}{updates:>12,}{words:>10.2g}{operations:>12.2g}{hours:>10,.3g}"
