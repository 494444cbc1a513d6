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
from command_line.option_classes import from_arguments
from eval.reporting.exhibits import Figure, Section, Table, cell, cells, slug, tidy
from eval.reporting.plots import dots
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import result_file
from eval.results.measures import MEASURES
from eval.results.result_set import ResultSet
from eval.results.scores import SCORES, Scores, group_scores
from eval.results.system_pairs import Pair, called, checked
from eval.results.systems import MeanStd, System, by_dataset
from eval.scoring.estimates import difference, paired_difference

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
TITLES = {
    "first": "first alone",
    "second": "second alone",
    "sum": "sum of both gains",
    "both": "both together",
    "interaction": "interaction",
}
NOTES = [
    "Gains from the base of the row, in points: of each change alone, the sum of these, and of both changes"
    " together. Interaction: both together less the sum; gains add up as far as its interval is around 0."
    " Brackets and bars: 95% interval over seeds."
]


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        scores: scored folders.
        combine: base, first, second and both, each the name of a system or a folder.
        paired: whether trainings of a seed share their start.
    """

    scores: list[Path]
    combine: list[tuple[str, ...]]
    paired: bool = False


def _four(text: str) -> tuple[str, ...]:
    names = tuple(text.split(":"))
    types.require(len(names) == 4 and all(names))
    return tuple(map(types.text, names))


four_systems = types.OptionType("BASE:FIRST:SECOND:BOTH, four systems", _four)


def add_arguments(parser) -> None:
    parser.add_argument("scores", nargs="+", type=types.path, metavar="OUT", help="scored folders")
    parser.add_argument(
        "--combine",
        nargs="+",
        type=four_systems,
        required=True,
        metavar="BASE:FIRST:SECOND:BOTH",
        help="names of systems, or folders of theirs: without, with each, and with both changes",
    )
    parser.add_argument(
        "--paired",
        action="store_true",
        help="trainings of one seed share their start: compare the seeds that all have, one by one",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    inputs = [result_file(path, SCORES) for path in options.scores]
    publish(KIND, options, inputs, lambda: measure(options), args)


def measure(options: Options) -> dict:
    """The effects of every combination."""
    systems = group_scores(Scores.load(result_file(path, SCORES)) for path in options.scores)
    return {
        "combinations": [
            combination(names, four, options.paired)
            for names in options.combine
            for four in on_datasets(names, systems)
        ]
    }


def on_datasets(names: Sequence[str], systems: list[System]) -> list[list[System]]:
    """The systems of a combination, on every dataset that has all of them.

    Raises:
        InputError: no dataset has, or one system is named twice.
    """
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--combine {':'.join(names)}: {twice} occurs twice; expected four systems")
    found = [[called(name, members) for name in names] for members in by_dataset(systems).values()]
    complete = [four for four in found if None not in four]
    if not complete:
        known = ", ".join(repr(one.name) for one in systems)
        missing = next(
            (name for place, name in enumerate(names) if all(four[place] is None for four in found)), None
        )
        what = f"no system {missing!r}" if missing else "no dataset has all of these systems"
        raise InputError(
            f"--combine {':'.join(names)}: {what}; expected folders that are given, or names among {known}"
        )
    return complete


def combination(names: Sequence[str], four: list[System], paired: bool) -> dict:
    """One combination on one dataset.

    Raises:
        InputError: the systems were measured differently, or, paired, have no seed in common.
    """
    checked([Pair(four[0], one) for one in four[1:]])
    if other := next((one for one in four if set(one.directions()) != set(four[0].directions())), None):
        raise InputError(
            f"{other.runs[0].path} and {four[0].runs[0].path}: other directions; expected averages over the"
            " same ones"
        )
    if paired:
        four = _of_common_seeds(names, four)
    estimate = paired_difference if paired else difference
    return {
        "dataset": four[0].dataset,
        "systems": [one.name for one in four],
        "seeds": [len(one.runs) for one in four],
        "paired": paired,
        "effects": {
            f"{kind} {name}": effects
            for kind, name in MEASURED
            if (effects := _effects([one.values("averages", kind, name) for one in four], estimate))
        },
    }


def _of_common_seeds(names: Sequence[str], four: list[System]) -> list[System]:
    common = set.intersection(*(set(one.seeds) for one in four)) - {None}
    if not common:
        raise InputError(
            f"--combine {':'.join(names)}: --paired needs a seed that all four have; found"
            f" {'; '.join(f'{one.name}: {one.seeds}' for one in four)}"
        )
    return [one.only(lambda run: run.seed in common) for one in four]


def _effects(values: list[list], estimate: Callable) -> dict[str, dict] | None:
    """Effect -> "effect", "low", "high"; an interval is null for one seed. None where a number is missing."""
    if any(None in one for one in values):
        return None
    arrays = [np.array(one, dtype=float) for one in values]
    found = {}
    for name, coefficients in EFFECTS.items():
        terms = [(c, one) for c, one in zip(coefficients, arrays, strict=True) if c]
        low = high = None
        if min(len(one) for _, one in terms) > 1:
            low, high = estimate(terms).interval(LEVEL)
        found[name] = {"effect": float(sum(c * one.mean() for c, one in terms)), "low": low, "high": high}
    return found


# --- the section of the report


def section(results: ResultSet) -> Section:
    groups: dict[tuple, list[dict]] = {}
    for _, record in results.of_kind(KIND):
        for one in record["combinations"]:
            for measured in one["effects"]:
                groups.setdefault((one["dataset"], measured), []).append(one)
    return Section("Combinations", [figure(*key, group) for key, group in groups.items()], NOTES)


def figure(dataset: str, measured: str, combinations: list[dict]) -> Figure:
    """One line per combination."""
    kind, name = measured.split(" ")
    title = f"{kind} {MEASURES[name].title}"
    scale = MEASURES[name].scale
    effects = [one["effects"][measured] for one in combinations]
    labels = [" and ".join(_changes(*one["systems"][:3])) for one in combinations]
    series = {TITLES[effect]: [_bar(one[effect], scale) for one in effects] for effect in EFFECTS}
    rows = [
        [
            *cells(*one["systems"], "/".join(map(str, one["seeds"]))),
            *(_effect_cell(found[effect], scale) for effect in EFFECTS),
        ]
        for one, found in zip(combinations, effects, strict=True)
    ]
    data = [
        [
            dataset,
            measured,
            *one["systems"],
            effect,
            *(found[effect][key] for key in ("effect", "low", "high")),
        ]
        for one, found in zip(combinations, effects, strict=True)
        for effect in EFFECTS
    ]
    titles = ("Base", "First", "Second", "Both", "Seeds", *(text.capitalize() for text in TITLES.values()))
    columns = ["dataset", "measure", "base", "first", "second", "both", "gain", "effect", "low", "high"]
    slugged = slug("combination", kind, name, dataset)
    caption = f"Do gains add up? Changes of {title} on {dataset}, in points."
    table = Table(slugged, caption, [cells(*titles)], rows, data=tidy(columns, data))
    return Figure(slugged, caption, dots(labels, series, f"change of {title}, in points", []), table)


def _changes(base: str, *systems: str) -> list[str]:
    """What systems have that their base has not, where their names begin with its name."""
    return [re.sub(rf"^{re.escape(base)},? ", "", one) for one in systems]


def _bar(effect: dict, scale: float) -> MeanStd:
    """Drawn with half of the interval to either side."""
    half = None if effect["low"] is None else scale * (effect["high"] - effect["low"]) / 2
    return MeanStd(scale * effect["effect"], half)


def _effect_cell(effect: dict, scale: float):
    shown = f"{scale * effect['effect']:+.1f}"
    if effect["low"] is not None:
        shown += f" [{scale * effect['low']:+.1f}, {scale * effect['high']:+.1f}]"
    return cell(shown, value=scale * effect["effect"])
