"""Retrieval against the size of data (Niu et al. 2022, "OneAligner", Figures 1 and 2).

`--of encoders`: a point per encoder, P@1 over all pairs of languages (or those of --group) against the size
of what it was trained on (Figure 1). `--of languages`: a point per language and encoder, P@1 over all pairs
that the language is in, against the size of the language's text (Figure 2). Sizes come from a table,
NAME<tab>NUMBER per line, of encoders' names or of languages' codes.
"""

import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.measurements import Measured, numbers
from command_line.option_classes import option, positional
from data_prep.languages import same_language
from embeddings.averages import FROM, TO
from eval.derived.retrieved import Retrieved
from eval.measurements import Measurements
from eval.reporting.exhibits import Section, Table, cells, number_cell, slug
from eval.reporting.plots import scatter
from eval.reporting.result_file import Written, publish
from eval.result_files import result_files
from eval.result_set import RETRIEVAL, ResultSet
from eval.systems import System

KIND = "data-size"
ENCODERS, LANGUAGES = "encoders", "languages"
NOTES = [
    "One point per encoder, or per language: P@1 of retrieval, mean of both directions where none is named,"
    " against the size of data, on a logarithmic scale."
]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the probe."""

    retrieval: list[Path] = positional("outputs of `embeddings retrieve`", nargs="+", metavar="RESULT")
    sizes: Path = option("NAME<tab>NUMBER per line", required=True, metavar="FILE")
    of: str = option("whose sizes", ENCODERS, choices=(ENCODERS, LANGUAGES))
    unit: str = option("of the sizes", "pairs of sentences")
    similarity: str = option("by which P@1 was measured", "cosine")
    group: str | None = option("of languages, for --of encoders (default: all pairs)")
    direction: str | None = option(
        "from the language of all pairs or to it, for --of encoders (default: the mean of both)",
        choices=(FROM, TO),
    )
    together: str | None = option(
        "show the pairs of all test sets as those of one, of this name, for --of languages (Figure 2:"
        " New-Tatoeba with English and without)",
        metavar="NAME",
    )
    written: Written


def main(options: Options) -> None:
    for name, of in (("group", ENCODERS), ("direction", ENCODERS), ("together", LANGUAGES)):
        if (given := getattr(options, name)) and options.of != of:
            raise InputError(f"--{name} {given}: needs --of {of}; leave it out")
    files = [path for given in options.retrieval for path in result_files(given, [RETRIEVAL])]
    publish(
        KIND,
        options,
        [*files, options.sizes],
        lambda: measure(options, files, options.written.allow_unlike),
        options.written,
    )


def measure(options: Options, files: list[Path], allow_unlike: bool) -> Measured:
    """A run per encoder and test set: sizes and P@1, whose part is the language; and what the table has no
    size for.

    Raises:
        InputError: there is no point, or a result lacks the similarity or the group.
    """
    sizes, unknown = read_sizes(options.sizes), set()
    shown = {"similarity": options.similarity, "direction": options.direction, "allow_unlike": allow_unlike}
    results = ResultSet.load(files, [RETRIEVAL], **shown)
    precisions = of_languages if options.of == LANGUAGES else of_all
    given = {name: getattr(options, name) for name in ("of", "unit", "similarity", "group", "direction")}
    measured = Measured(about=given)
    for (encoder, dataset), values in precisions(Retrieved.of(results), options).items():
        rows = []
        for name, precision in values.items():
            size = size_of(name, sizes, options.of)
            if size is None:
                unknown.add(name)
            else:
                part = name if options.of == LANGUAGES else None
                rows += numbers({"size": size, "p_at_1": precision}, part=part)
        if rows:
            measured.add({"system": {"name": encoder}, "dataset": dataset}, rows)
    if not measured.rows:
        raise InputError(
            f"{options.sizes}: no size of any of the {options.of} {', '.join(sorted(unknown))}; expected"
            " NAME<tab>NUMBER per line"
        )
    measured.about["without_size"] = sorted(unknown)
    return measured


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


Precisions = dict[tuple[str, str], dict[str, float]]  # encoder and test set -> name -> P@1


def of_all(tests: list[Retrieved], options: Options) -> Precisions:
    """Precision of each encoder, by its name: over all pairs, or those of the group, mean over seeds."""
    precisions: Precisions = {}
    for test in tests:
        means = test.shown(group=options.group) if options.group in (None, *test.groups) else {}
        for system in test.systems:
            is_shown = (options.similarity, options.direction) == (test.similarity, test.side)
            mean = means.get((system.name,)) if is_shown else None
            if mean is None:
                raise missing(system, options)
            precisions[system.name, test.dataset] = {system.name: mean.mean / 100}
    return precisions


def of_languages(tests: list[Retrieved], options: Options) -> Precisions:
    """The precision of each encoder's languages: the mean over all pairs that a language is in, both
    directions and seeds.
    """
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for test in tests:
        means = test.means(["part", "direction"])
        for system in test.systems:
            of = values.setdefault((system.name, options.together or test.dataset), {})
            for direction in test.directions:
                mean = means.get((system.name, options.similarity, direction))
                if mean is None:
                    raise missing(system, options)
                for code in direction.split("-"):
                    of.setdefault(code, []).append(mean.mean / 100)
    return {which: {code: statistics.fmean(of[code]) for code in sorted(of)} for which, of in values.items()}


def missing(system: System, options: Options) -> InputError:
    """What is said of an encoder that was not measured so."""
    direction = f" {options.direction} a language of all pairs" if options.direction else ""
    of = direction + (f" of the group {options.group}" if options.group else "")
    return InputError(
        f"--similarity {options.similarity}: no P@1{of} of {system.name} on {system.dataset}; measure it"
        " with `python -m embeddings retrieve`"
    )


# --- the section of the report


def section(results: ResultSet) -> Section:
    """A figure for every file and test set."""
    shown = []
    for path, record in results.of_kind(KIND):
        points = Measurements.of(ResultSet({KIND: [(path, record)]}).probed(KIND))
        shown += [_figure(dataset, record, of) for dataset, of in points.by_dataset().items()]
    return Section("Retrieval against the size of data", shown, NOTES)


def _figure(dataset: str, record: dict, measured: Measurements) -> Table:
    """One series of all encoders, or one per encoder of its languages."""
    of_each, unit = record["of"] == LANGUAGES, record["unit"]
    sizes, precisions = (measured.means(name, ["part"]) for name in ("size", "p_at_1"))
    series: dict[str, list[tuple[float, float, str]]] = {}
    rows = []
    for (encoder, language), size in sizes.items():
        precision = 100 * precisions[encoder, language].mean
        name = language if of_each else encoder
        series.setdefault(encoder if of_each else dataset, []).append((size.mean, precision, name))
        rows.append([*cells(encoder, name), number_cell(size.mean, ",.0f"), number_cell(precision, ".1f")])
    where = f"{dataset}, {record['group']}" if record["group"] else dataset
    if direction := record["direction"]:
        where += f", {direction} the language of all pairs,"
    caption = f"P@1 ({record['similarity']}) on {where} against {unit}, by {record['of']}."
    name = slug(f"data_size_{record['of']}_{record['similarity']}", where, unit)
    header = [cells("Encoder", record["of"].capitalize()[:-1], unit, "P@1")]
    return Table(name, caption, header, rows, images=scatter(series, unit, "P@1 (%)", by_magnitude=True))
