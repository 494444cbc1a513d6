"""How well a model translates from one group of languages into another: seen and unseen ones (thesis, Table
6.6), families, scripts.

OUT are scored folders, GROUPS a file with a line such as `seen = ["ar", "fr", "zh"]` per group. A language
that is in no group, English there, is a group of its own. Every number is the unweighted mean over the
directions from one group into the other.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import option, positional
from embeddings.groups import groups_file, read_groups
from eval.reporting.result_file import Written, publish
from eval.result_files import result_file, split_direction
from eval.scored import SCORES, Scores

KIND = "language-groups"
SHOWN = ("bleu", "chrf", "comet", "off_target")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    scores: list[Path] = positional("scored folders", nargs="+", metavar="OUT")
    groups: Path = option(
        'groups of languages, in TOML: seen = ["ar", "fr", "zh"]', required=True, metavar="FILE"
    )
    written: Written


def main(options: Options) -> None:
    inputs = [*(result_file(path, SCORES) for path in options.scores), groups_file(options.groups)]
    publish(KIND, options, inputs, lambda: measure(options), options.written)


def measure(options: Options) -> Measured:
    """One run per folder: the means of every group of directions.

    Raises:
        InputError: a language is in two groups.
    """
    groups = group_of_languages(read_groups(groups_file(options.groups)), options.groups)
    measured = Measured()
    for path in options.scores:
        scores = Scores.load(result_file(path, SCORES))
        measured.add(scores.described(), of_groups(scores, groups))
    return measured


def group_of_languages(groups: Mapping[str, list[str]], path: Path) -> dict[str, str]:
    """Language -> its group.

    Raises:
        InputError: it has two.
    """
    group_of: dict[str, str] = {}
    for name, languages in groups.items():
        for language in languages:
            if group_of.setdefault(language, name) != name:
                raise InputError(
                    f"{path}: {language} is in {group_of[language]} and in {name}, expected in one"
                )
    return group_of


def of_groups(scores: Scores, groups: Mapping[str, str]) -> list[dict]:
    """For each pair of groups, such as "seen→unseen": the number of "directions", and the mean of every
    measure over those that have it.
    """
    from eval.measurements import rows_of  # with pandas: not before it is needed

    scored = rows_of(scores)
    scored = scored[scored.measure.isin(SHOWN)]
    names = {
        direction: "→".join(groups.get(language, language) for language in split_direction(direction))
        for direction in scores.directions
    }
    means = scored.groupby([scored.direction.map(names), "measure"]).value.mean()
    counts = Counter(names.values())
    return [
        row
        for name in sorted(counts)
        for row in numbers({"directions": counts[name], **means[name]}, direction=name)
    ]
