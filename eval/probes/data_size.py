"""Retrieval against the size of data (Niu et al. 2022, "OneAligner", Figures 1 and 2).

`--of encoders`: a point per encoder, P@1 over all pairs of languages (or those of --group) against the size
of what it was trained on (Figure 1). `--of languages`: a point per language and encoder, P@1 over all pairs
that the language is in, against the size of the language's text (Figure 2). Sizes come from a table,
NAME<tab>NUMBER per line, of encoders' names or of languages' codes.
"""

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.option_classes import from_arguments
from data_prep.languages import same_language
from embeddings.averages import FROM, TO
from eval.reporting.exhibits import Figure, Section, Table, cell, cells, number_cell, slug
from eval.reporting.plots import scatter
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.files import result_files
from eval.results.result_set import ResultSet
from eval.results.systems import System

KIND, RETRIEVAL = "data-size", "sentence-retrieval"
ENCODERS, LANGUAGES = "encoders", "languages"
NOTES = [
    "One point per encoder, or per language: P@1 of retrieval, mean of both directions where none is named,"
    " against the size of data, on a logarithmic scale."
]


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        retrieval: outputs of `embeddings retrieve`.
        sizes: the table.
        of: whose sizes, ENCODERS or LANGUAGES.
        unit: of the sizes.
        similarity: which P@1.
        group: of languages, as the results have them; None for all pairs.
        direction: FROM the language of all pairs, or TO it; None for the mean of both.
        together: name under which the pairs of all test sets are shown as one; None for a figure of each.
    """

    retrieval: list[Path]
    sizes: Path
    of: str
    unit: str
    similarity: str
    group: str | None
    direction: str | None
    together: str | None


def add_arguments(parser) -> None:
    parser.add_argument(
        "retrieval", nargs="+", type=types.path, metavar="RESULT", help="outputs of `embeddings retrieve`"
    )
    parser.add_argument(
        "--sizes", required=True, type=types.path, metavar="FILE", help="NAME<tab>NUMBER per line"
    )
    parser.add_argument("--of", choices=(ENCODERS, LANGUAGES), default=ENCODERS, help="whose sizes")
    parser.add_argument("--unit", type=types.text, default="pairs of sentences", help="of the sizes")
    parser.add_argument("--similarity", type=types.text, default="cosine", help="by which P@1 was measured")
    parser.add_argument(
        "--group", type=types.text, help="of languages, for --of encoders (default: all pairs)"
    )
    parser.add_argument(
        "--direction",
        choices=(FROM, TO),
        help="from the language of all pairs or to it, for --of encoders (default: the mean of both)",
    )
    parser.add_argument(
        "--together",
        type=types.text,
        metavar="NAME",
        help="show the pairs of all test sets as those of one, of this name, for --of languages (Figure 2:"
        " New-Tatoeba with English and without)",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    for name, of in (("group", ENCODERS), ("direction", ENCODERS), ("together", LANGUAGES)):
        if (given := getattr(options, name)) and options.of != of:
            raise InputError(f"--{name} {given}: of --of {of}; leave it out")
    files = [path for given in options.retrieval for path in result_files(given, [RETRIEVAL])]
    publish(
        KIND,
        options,
        [*files, options.sizes],
        lambda: measure(options, files),
        args,
    )


def measure(options: Options, files: list[Path]) -> dict:
    """All points, and what the table has no size for.

    Raises:
        InputError: there is no point, or a result lacks the similarity or the group.
    """
    sizes = read_sizes(options.sizes)
    points, unknown = [], set()
    for systems in by_test_set(ResultSet.load(files, [RETRIEVAL]).probed(RETRIEVAL), options.together):
        first = systems[0]
        found = of_languages(systems, options) if options.of == LANGUAGES else [of_all(first, options)]
        for name, precision in found:
            size = size_of(name, sizes, options.of)
            if size is None:
                unknown.add(name)
            else:
                point = {"name": name, "size": size, "p_at_1": 100 * precision}
                dataset = options.together or first.dataset
                points.append({"dataset": dataset, "encoder": first.name, **point})
    if not points:
        raise InputError(
            f"{options.sizes}: no size of any of the {options.of} {', '.join(sorted(unknown))}; expected"
            " NAME<tab>NUMBER per line"
        )
    given = {name: getattr(options, name) for name in ("of", "unit", "similarity", "group", "direction")}
    return {**given, "points": points, "without_size": sorted(unknown)}


def by_test_set(systems: Iterable[System], together: str | None) -> list[list[System]]:
    """An encoder on each test set; on all of them, if they are looked at together."""
    found: dict[tuple, list[System]] = {}
    for system in systems:
        found.setdefault((system.name, None if together else system.dataset), []).append(system)
    return list(found.values())


def read_sizes(path: Path) -> dict[str, float]:
    """Name -> size.

    Raises:
        InputError: a line is no name and number above 0, or a name comes twice; names the line.
    """
    sizes: dict[str, float] = {}
    for number, line in enumerate(read_lines(path), start=1):
        name, _, text = line.partition("\t")
        try:
            size = float(text.replace(",", ""))
        except ValueError:
            size = math.nan
        if not (name and 0 < size < math.inf) or name in sizes:
            raise InputError(
                f"{at(path, number)}: {line!r:.80}; expected a name, a tab and a number above 0, a name once"
            )
        sizes[name] = size
    return sizes


def size_of(name: str, sizes: dict[str, float], of: str) -> float | None:
    """That of an encoder; or of a language, whatever the standard of its code."""
    if name in sizes or of == ENCODERS:
        return sizes.get(name)
    return next((size for code, size in sizes.items() if same_language(code, name)), None)


def of_all(system: System, options: Options) -> tuple[str, float]:
    """An encoder and its P@1, mean over seeds."""
    path = (
        ["groups", options.group, options.similarity, "mean"]
        if options.group
        else ["average", options.similarity]
    )
    where = ["by_direction", options.direction] if options.direction else []
    return system.name, _mean(system, system.values(*where, *path), options)


def of_languages(systems: list[System], options: Options) -> Iterator[tuple[str, float]]:
    """The languages and the P@1 of each: the mean over all pairs that it is in, both directions and seeds.

    Args:
        systems: one encoder, on one or more test sets.
    """
    values: dict[str, list[float | None]] = {}
    for system in systems:
        for direction in system.directions():
            for code in direction.split("-"):
                found = system.values("directions", direction, options.similarity, "p_at_1")
                values.setdefault(code, []).extend(found)
    for code in sorted(values):
        yield code, _mean(systems[0], values[code], options)


def _mean(system: System, values: Iterable[float | None], options: Options) -> float:
    values = list(values)
    if None in values:
        direction = f" {options.direction} a language of all pairs" if options.direction else ""
        of = direction + (f" of the group {options.group}" if options.group else "")
        raise InputError(
            f"--similarity {options.similarity}: no P@1{of} of {system.name} on {system.dataset}; measure it"
            " with `python -m embeddings retrieve`"
        )
    return statistics.fmean(values)


# --- the section of the report


def section(results: ResultSet) -> Section:
    shown = []
    for _, record in results.of_kind(KIND):
        for dataset in dict.fromkeys(point["dataset"] for point in record["points"]):
            points = [point for point in record["points"] if point["dataset"] == dataset]
            shown.append(_figure(dataset, record, points))
    return Section("Retrieval against the size of data", shown, NOTES)


def _figure(dataset: str, record: dict, points: list[dict]) -> Figure:
    """One series of all encoders, or one per encoder of its languages."""
    of_each = record["of"] == LANGUAGES
    series: dict[str, list[tuple[float, float, str]]] = {}
    for point in points:
        name = point["encoder"] if of_each else dataset
        series.setdefault(name, []).append((point["size"], point["p_at_1"], point["name"]))
    where = f"{dataset}, {record['group']}" if record["group"] else dataset
    if direction := record.get("direction"):
        where += f", {direction} the language of all pairs,"
    caption = f"P@1 ({record['similarity']}) on {where} against {record['unit']}, by {record['of']}."
    name = slug(f"data_size_{record['of']}_{record['similarity']}", where, record["unit"])
    rows = [
        [cell(point["encoder"]), cell(point["name"]), number_cell(point["size"], ",.0f"),
         number_cell(point["p_at_1"], ".1f")]
        for point in points
    ]  # fmt: skip
    numbers = Table(
        name, caption, [cells("Encoder", record["of"].capitalize()[:-1], record["unit"], "P@1")], rows
    )
    return Figure(name, caption, scatter(series, record["unit"], "P@1 (%)", by_magnitude=True), numbers)
