"""Do gains add up? Two changes of a system alone and together, over seeds (thesis 9.2).

OUT are scored folders; each `--combine BASE:FIRST:SECOND:BOTH` names four systems, or folders of theirs: one
without either change, one with each, one with both. Gains are differences from the base; the interaction is
what both gain less the sum of what each gains alone, with its interval over seeds. All four have had the same
number of updates, which is the user's to see to. `--paired`: trainings of one seed share their start; seeds
that one of the four lacks are left out.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured, high, low, numbers
from command_line.option_classes import option, positional, switch
from eval.checks import group_runs
from eval.reporting.result_file import Written, publish
from eval.result_files import result_file
from eval.scored import SCORES, Scores
from eval.scoring.estimates import difference, paired_difference
from eval.scoring.system_pairs import Pair, called, checked
from eval.systems import System, by_dataset

KIND = "combination"
LEVEL = 0.05
MEASURED = (("zero-shot", "bleu"), ("zero-shot", "off_target"), ("supervised", "bleu"))
# Coefficients of base, first, second and both.
EFFECTS = {
    "first": (-1, 1, 0, 0),
    "second": (-1, 0, 1, 0),
    "sum": (-2, 1, 1, 0),
    "both": (-1, 0, 0, 1),
    "interaction": (1, -1, -1, 1),
}


def _four(text: str) -> tuple[str, ...]:
    names = tuple(text.split(":"))
    types.require(len(names) == 4 and all(names))
    return tuple(map(types.text, names))


four_systems = types.OptionType("BASE:FIRST:SECOND:BOTH, four systems", _four)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    scores: list[Path] = positional("scored folders", nargs="+", metavar="OUT")
    combine: list[tuple[str, ...]] = option(
        "names of systems, or folders of theirs: without, with each, and with both changes",
        nargs="+",
        type=four_systems,
        required=True,
        metavar="BASE:FIRST:SECOND:BOTH",
    )
    paired: bool = switch(
        "trainings of one seed share their start: compare the seeds that all have, one by one"
    )
    written: Written


def main(options: Options) -> None:
    inputs = [result_file(path, SCORES) for path in options.scores]
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    """The effects of every combination: a run each on every dataset."""
    systems = group_runs(Scores.load(result_file(path, SCORES)) for path in options.scores)
    measured = Measured()
    for names in options.combine:
        for four in on_datasets(names, systems):
            measured.add(*combination(names, four, options.paired))
    return measured


def on_datasets(names: Sequence[str], systems: list[System]) -> list[list[System]]:
    """The systems of a combination, on every dataset that has all of them.

    Raises:
        InputError: no dataset has, or one system is named twice.
    """
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--combine {':'.join(names)}: {twice} occurs twice; expected four systems")
    fours = [[called(name, members) for name in names] for members in by_dataset(systems).values()]
    complete = [four for four in fours if None not in four]
    if not complete:
        system_names = ", ".join(repr(system.name) for system in systems)
        missing = next(
            (name for place, name in enumerate(names) if all(four[place] is None for four in fours)), None
        )
        what = f"no system {missing!r}" if missing else "no dataset has all of these systems"
        raise InputError(
            f"--combine {':'.join(names)}: {what}; expected folders that are given, or names among"
            f" {system_names}"
        )
    return complete


def combination(names: Sequence[str], four: list[System], paired: bool) -> tuple[dict, list[dict]]:
    """One combination on one dataset: the run, and its rows.

    Raises:
        InputError: the systems were measured differently, or, paired, have no seed in common.
    """
    checked([Pair(four[0], system) for system in four[1:]])
    if other := next(
        (system for system in four if set(system.directions()) != set(four[0].directions())), None
    ):
        raise InputError(
            f"{other.runs[0].path} and {four[0].runs[0].path}: other directions; expected averages over the"
            " same ones"
        )
    if paired:
        four = _of_common_seeds(names, four)
    estimate = paired_difference if paired else difference
    systems = [system.name for system in four]
    run = {
        "system": {"name": f"{' and '.join(_changes(*systems[:3]))}: {systems[3]}"},
        "dataset": four[0].dataset,
        "systems": systems,
        "seeds": [system.seeds for system in four],
        "paired": paired,
    }
    from eval.measurements import Measurements  # with pandas: not before it is needed

    rows = []
    scored = Measurements.of(four, allow_unlike=True)
    for kind, name in MEASURED:
        of_systems = scored.of_runs(name, kind=kind)
        if all(system in of_systems for system in systems):
            values = [of_systems[system] for system in systems]
            seeds = {"seeds": min(map(len, values))}
            rows += numbers(seeds | _effects(values, estimate), kind=kind, part=name)
    return run, rows


def _changes(base: str, *systems: str) -> list[str]:
    """What systems have that their base has not, where their names begin with its name."""
    return [re.sub(rf"^{re.escape(base)},? ", "", name) for name in systems]


def _of_common_seeds(names: Sequence[str], four: list[System]) -> list[System]:
    common = set.intersection(*(set(system.seeds) for system in four)) - {None}
    if not common:
        raise InputError(
            f"--combine {':'.join(names)}: --paired needs a seed that all four have; found"
            f" {'; '.join(f'{system.name}: {system.seeds}' for system in four)}"
        )
    return [system.only(lambda run: run.seed in common) for system in four]


def _effects(values: list[list[float]], estimate: Callable) -> dict[str, float]:
    """Every effect, and where there are several seeds, the ends of its interval."""
    arrays = [np.array(of_seeds, dtype=float) for of_seeds in values]
    effects = {}
    for name, coefficients in EFFECTS.items():
        terms = [(c, of_seeds) for c, of_seeds in zip(coefficients, arrays, strict=True) if c]
        effects[name] = float(sum(c * of_seeds.mean() for c, of_seeds in terms))
        if min(len(of_seeds) for _, of_seeds in terms) > 1:
            effects[low(name)], effects[high(name)] = estimate(terms).interval(LEVEL)
    return effects
