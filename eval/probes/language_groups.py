"""How well a model translates from one group of languages into another: seen and unseen ones (thesis, Table
6.6), families, scripts.

OUT are scored folders, GROUPS a file with a line such as `seen = ["ar", "fr", "zh"]` per group. A language
that is in no group, English there, is a group of its own. Every number is the unweighted mean over the
directions from one group into the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from embeddings.groups import groups_file, read_groups
from eval.reporting.exhibits import Section, Table, cells, measure_cell, slug, tidy
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import result_file, split_direction
from eval.results.measures import MEASURES, means
from eval.results.result_set import ResultSet
from eval.results.scores import SCORES, Scores
from eval.results.systems import System, by_dataset

KIND = "language-groups"
SHOWN = ("bleu", "chrf", "comet", "off_target")
NOTES = ["Unweighted means over the directions from one group of languages into another."]


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        scores: scored folders.
        groups: file of groups, or the name of one of the project's.
    """

    scores: list[Path]
    groups: Path


def add_arguments(parser) -> None:
    parser.add_argument("scores", nargs="+", type=types.path, metavar="OUT", help="scored folders")
    parser.add_argument(
        "--groups",
        required=True,
        type=types.path,
        metavar="FILE",
        help='groups of languages, in TOML: seen = ["ar", "fr", "zh"]',
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    inputs = [*(result_file(path, SCORES) for path in options.scores), groups_file(options.groups)]
    publish(KIND, options, inputs, lambda: measure(options), args)


def measure(options: Options) -> dict:
    """One run per folder: the means of every group of directions.

    Raises:
        InputError: a language is in two groups.
    """
    groups = group_of_languages(read_groups(groups_file(options.groups)), options.groups)
    runs = []
    for path in options.scores:
        scores = Scores.load(result_file(path, SCORES))
        runs.append({**scores.described(), "pairs": of_groups(scores.directions, groups)})
    return {"runs": runs}


def group_of_languages(groups: Mapping[str, list[str]], path: Path) -> dict[str, str]:
    """Language -> its group.

    Raises:
        InputError: it has two.
    """
    found: dict[str, str] = {}
    for name, languages in groups.items():
        for language in languages:
            if found.setdefault(language, name) != name:
                raise InputError(f"{path}: {language} is in {found[language]} and in {name}, expected in one")
    return found


def of_groups(directions: Mapping[str, Mapping], groups: Mapping[str, str]) -> dict[str, dict]:
    """ "seen→unseen" -> "directions", how many, and the mean of every measure; see `means`."""
    members: dict[str, list[Mapping]] = {}
    for direction, entry in directions.items():
        name = "→".join(groups.get(language, language) for language in split_direction(direction))
        members.setdefault(name, []).append(entry)
    return {
        name: {"directions": len(found), **_shown(means(found))} for name, found in sorted(members.items())
    }


def _shown(record: Mapping) -> dict:
    return {measure: record[measure] for measure in SHOWN}


# --- the section of the report


def section(results: ResultSet) -> Section:
    found = by_dataset(results.probed(KIND))
    return Section(
        "Groups of languages", [table(dataset, systems) for dataset, systems in found.items()], NOTES
    )


def table(dataset: str, systems: list[System]) -> Table:
    """A line per system and group of directions."""
    rows, rules, data = [], set(), []
    for system in systems:
        if rows:
            rules.add(len(rows))
        for name, entry in system.runs[0].record["pairs"].items():
            shown = [measure_cell(MEASURES[one], system.mean("pairs", name, one)) for one in SHOWN]
            rows.append([*cells(system.name, name, str(entry["directions"])), *shown])
            data += [
                [dataset, system.name, label, name, measure, record["pairs"][name][measure]]
                for label, record in system.labelled()
                for measure in SHOWN
            ]
    titles = cells("System", "Languages", "Directions", *(MEASURES[one].title for one in SHOWN))
    caption = f"Translation between groups of languages on {dataset}."
    columns = ["dataset", "system", "seed", "languages", "measure", "value"]
    return Table(
        slug("language_groups", dataset), caption, [titles], rows, frozenset(rules), data=tidy(columns, data)
    )
