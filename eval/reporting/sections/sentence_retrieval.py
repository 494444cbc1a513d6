"""Retrieval of translations by sentence encoders, as Tables 2.4 to 2.7 of the thesis."""

from command_line.errors import InputError
from eval.reporting.exhibits import (
    Cell,
    Figure,
    Section,
    Table,
    cell,
    cells,
    mean_and_std_cells,
    mean_cell,
    number_cell,
    slug,
)
from eval.reporting.plots import heatmap, horizontal_bars
from eval.reporting.sections.retrieval_averages import averages_by_direction, direction_shown, mean_of
from eval.reporting.sections.retrieval_layers import by_layer
from eval.reporting.sections.retrieval_pairs import mean_by_text, table_of_pairs
from eval.reporting.sections.smaller_vectors import smaller_vectors
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System, by_dataset
from eval.scoring.compared_retrieval import depends_on, hits_of
from eval.scoring.significance import interval_of_mean

KIND = "sentence-retrieval"
NOTES = [
    "P@1: how often the nearest sentence of the other language is the translation, in percent, by cosine or"
    " by margin. xsim is the error, by text, of the margin `ratio` with 4 neighbours. Averages of pairs and"
    " groups are of both directions, where no direction is named. From and to: the 95% interval of P@1 for"
    " other test sentences and these trainings. By text, a line that reads as the right one is right, too."
    " Whether encoders differ: `python -m eval compare`.",
]
COSINE, XSIM = "cosine", "ratio"
XSIM_NEIGHBOURS = 4
LEVEL, RESAMPLES, SEED = 0.05, 2000, 12345
GROUPS_OF_BARS = 8  # systems that bars can still tell apart


def section(results: ResultSet) -> Section:
    shown: list[Table | Figure] = []
    for dataset, systems in by_dataset(results.probed(KIND)).items():
        check_texts(dataset, systems)
        similarity = similarity_of(systems, results.similarity)
        shown.append(averages(dataset, systems))
        shown += averages_by_direction(dataset, systems)
        shown.append(table_of_pairs(dataset, systems, similarity, results.direction))
        if groups := groups_of(systems, similarity):
            shown += by_group(dataset, systems, groups, similarity, results.direction)
        shown += by_layer(dataset, systems, groups, results.direction)
        shown += by_direction(dataset, systems, similarity)
        shown += smaller_vectors(dataset, systems)
    return Section("Sentence retrieval", shown, NOTES)


def check_texts(dataset: str, systems: list[System]) -> None:
    """Encoders stand in one table where they are of the same sentences.

    Raises:
        InputError: they are not; names both files.
    """
    first, *others = (one.runs[0] for one in systems)
    for run in others:
        for direction in first.directions.keys() & run.directions.keys():
            known, found = (one.directions[direction]["texts_sha256"] for one in (first, run))
            if known != found:
                raise InputError(
                    f"{run.path}: {direction} of {dataset!r} is of other texts than in {first.path}; give the"
                    " sets names of their own by `embeddings retrieve --dataset`"
                )


def similarity_of(systems: list[System], wanted: str | None) -> str:
    """What figures show: what is wanted, or else cosine, if all were measured by it."""
    first, *others = (run.value("average") for one in systems for run in one.runs)
    common = [name for name in first if all(name in other for other in others)] or list(first)
    return next((name for name in (wanted, COSINE) if name in common), common[0])


def averages(dataset: str, systems: list[System]) -> Table:
    """One row per encoder: P@1 over all pairs with its interval and by text, by every similarity, and the
    mean error of both directions.
    """
    names = list(dict.fromkeys(name for one in systems for name in one.runs[0].value("average")))
    rows = []
    for one in systems:
        row = cells(one.name, len(one.runs))
        for name in names:
            row += [mean_cell(one.mean("average", name, scale=100), digits=1), *_interval(one, name)]
            row.append(mean_cell(mean_by_text(one, name), digits=1))
        rows.append([*row, *([mean_cell(_error(one), digits=2)] if XSIM in names else [])])
    measured = [title for name in names for title in (f"P@1 {name}", "from", "to", "by text")]
    titles = ["Encoder", "Seeds", *measured, *(["xsim"] if XSIM in names else [])]
    caption = f"Sentence retrieval on {dataset}: P@1 over all pairs; mean ± deviation over seeds."
    if lowest := _recalls(systems):
        caption += (
            " Neighbours are looked for in some of the inverted lists, which of a sample of queries give the"
            f" nearest to {100 * min(lowest):.1f}% or more."
        )
    caption += _differences(systems, names)
    return Table(slug("sentence_retrieval", dataset), caption, [cells(*titles)], rows)


def _differences(systems: list[System], measures: list[str]) -> str:
    """A sentence on each thing in which columns of one name are not of one measure; none where they are."""
    said = ""
    for name in dict.fromkeys(name for measure in measures for name in depends_on(measure)):
        values = {one.name: one.runs[0].file.get(name) for one in systems}
        if len({str(value) for value in values.values()}) > 1:
            listed = ", ".join(f"{value} ({system})" for system, value in values.items())
            said += f" Encoders are not measured alike: {name.replace('_', ' ')} {listed}."
    return said


def _recalls(systems: list[System]) -> list[float]:
    """Of every direction in which inverted lists were searched."""
    found = [of.get("recall") for one in systems for run in one.runs for of in run.directions.values()]
    return [recall for recall in found if recall is not None]


def _interval(one: System, similarity: str) -> list[Cell]:
    """Both ends; dashes where not every run was measured by it."""
    if not all(similarity in run.value("average") for run in one.runs):
        return [number_cell(None, ".1f")] * 2
    hits = [hits_of(run, similarity) for run in one.runs]
    by_direction = {name: [seed[name] for seed in hits] for name in hits[0]}
    ends = interval_of_mean(by_direction, LEVEL, RESAMPLES, SEED)
    return [number_cell(100 * end, ".1f") for end in ends]


def _error(one: System) -> MeanStd | None:
    """Percent of all queries, per run; none with another number of neighbours than xsim's."""
    errors = []
    for run in one.runs:
        if run.file["neighbours"] != XSIM_NEIGHBOURS:
            return None
        found = [each.get(XSIM, {}).get("error") for each in run.directions.values()]
        errors.append(None if None in found else 100 * sum(found) / len(found))
    return MeanStd.of(errors)


def groups_of(systems: list[System], similarity: str) -> list[str]:
    """Groups of languages that all runs have, of which at least one pair was measured."""
    first = systems[0].runs[0].value("groups") or {}
    return [
        group
        for group in first
        if all(one.mean("groups", group, similarity, "mean") is not None for one in systems)
    ]


def by_group(
    dataset: str, systems: list[System], groups: list[str], similarity: str, direction: str | None
) -> list[Table | Figure]:
    """Bars of the groups of languages (Table 2.5); of many encoders a table of all, and bars of some at a
    time.
    """
    if len(systems) <= GROUPS_OF_BARS:
        return [_bars(dataset, systems, groups, similarity, direction)]
    parts = -(-len(systems) // GROUPS_OF_BARS)
    some = [
        systems[len(systems) * part // parts : len(systems) * (part + 1) // parts] for part in range(parts)
    ]
    bars = [
        _bars(dataset, each, groups, similarity, direction, str(number))
        for number, each in enumerate(some, start=1)
    ]
    name = slug("retrieval_groups", dataset)
    return [_group_table(name, dataset, systems, groups, similarity, direction), *bars]


def _bars(
    dataset: str, systems: list[System], groups: list[str], similarity: str, direction: str | None, *part: str
) -> Figure:
    name = slug("retrieval_groups", dataset, *part)
    table = _group_table(name, dataset, systems, groups, similarity, direction)
    series = {one.name: _group_means(one, groups, similarity, direction) for one in systems}
    labels = [row[0].text for row in table.rows]
    return Figure(table.name, table.caption, horizontal_bars(labels, series, "P@1 (%)"), table)


def _group_table(
    name: str, dataset: str, systems: list[System], groups: list[str], similarity: str, direction: str | None
) -> Table:
    means = [_group_means(one, groups, similarity, direction) for one in systems]
    counts = [systems[0].runs[0].value("groups", group, similarity, "pairs") for group in groups]
    rows = [
        [cell(f"{group} ({count})"), *(mean_cell(of[place], digits=1) for of in means)]
        for place, (group, count) in enumerate(zip(groups, counts, strict=True))
    ]
    of = direction_shown(systems[0], direction)
    caption = f"P@1 ({similarity}) by group of languages (and how many pairs of them), {of}, {dataset}."
    return Table(name, caption, [cells("Group", *(one.name for one in systems))], rows)


def _group_means(
    one: System, groups: list[str], similarity: str, direction: str | None
) -> list[MeanStd | None]:
    return [mean_of(one, similarity, group, direction) for group in groups]


def by_direction(dataset: str, systems: list[System], similarity: str) -> list[Figure]:
    """Heat maps: languages by languages for every encoder where all pairs were measured, else encoders by
    directions.
    """
    directions = list(systems[0].runs[0].directions)
    sources = sorted({name.split("-")[0] for name in directions})
    if len(sources) > 2 and len(directions) == len(sources) * (len(sources) - 1):
        return [_grid(dataset, one, sources, similarity) for one in systems]
    return [_rows(dataset, systems, directions, similarity)]


def _value(one: System, direction: str, similarity: str) -> MeanStd | None:
    return one.mean("directions", direction, similarity, "p_at_1", scale=100)


def _grid(dataset: str, one: System, languages: list[str], similarity: str) -> Figure:
    values = {
        (source, target): _value(one, f"{source}-{target}", similarity)
        for source in languages
        for target in languages
        if source != target
    }
    percent = [
        [None if (mean := values.get((source, target))) is None else mean.mean for target in languages]
        for source in languages
    ]
    rows = [
        [*cells(source, target), *mean_and_std_cells(values[source, target])] for source, target in values
    ]
    name = slug("retrieval", dataset, one.name)
    caption = f"P@1 ({similarity}) of {one.name} on {dataset}: rows are queries, columns candidates."
    numbers = Table(name, caption, [cells("Queries", "Candidates", "P@1", "deviation")], rows)
    return Figure(name, caption, heatmap(languages, languages, percent, "P@1 %", []), numbers)


def _rows(dataset: str, systems: list[System], directions: list[str], similarity: str) -> Figure:
    means = [[_value(one, direction, similarity) for direction in directions] for one in systems]
    percent = [[None if mean is None else mean.mean for mean in row] for row in means]
    rows = [
        [cell(direction), *(mean_cell(row[place], digits=1) for row in means)]
        for place, direction in enumerate(directions)
    ]
    names = [one.name for one in systems]
    name, caption = slug("retrieval_directions", dataset), f"P@1 ({similarity}) by direction, {dataset}."
    numbers = Table(name, caption, [cells("Direction", *names)], rows)
    return Figure(name, caption, heatmap(names, directions, percent, "P@1 %", []), numbers)
