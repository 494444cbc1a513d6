"""Retrieval of translations by sentence encoders, as Tables 2.4 to 2.7 of the thesis."""

from collections.abc import Iterator

from embeddings.averages import FROM, TO
from eval.derived.retrieved import BY_NUMBER, BY_TEXT, COSINE, ERROR, Retrieved
from eval.reporting.exhibits import (
    Cell,
    Figure,
    Section,
    Table,
    cell,
    cells,
    mean_cell,
    number_cell,
    rows_behind,
    slug,
    table_of_means,
)
from eval.reporting.plots import heatmap, horizontal_bars, scatter
from eval.reporting.sections.retrieval_layers import by_layer
from eval.results.result_set import ResultSet
from eval.results.systems import System
from eval.scoring.compared_retrieval import depends_on, hits_of
from eval.scoring.significance import interval_of_mean

NOTES = [
    "P@1: how often the nearest sentence of the other language is the translation, in percent, by cosine or"
    " by margin. xsim is the error, by text, of the margin `ratio` with 4 neighbours. Averages of pairs and"
    " groups are of both directions, where no direction is named. From and to: the 95% interval of P@1 for"
    " other test sentences and these trainings. By text, a line that reads as the right one is right, too."
    " Whether encoders differ: `python -m eval compare`.",
]
XSIM, XSIM_NEIGHBOURS = "ratio", 4
LEVEL, RESAMPLES, SEED = 0.05, 2000, 12345
GROUPS_OF_BARS = 8  # systems that bars can still tell apart
FOLDED = 150  # rows: all pairs of many languages are shown after a click
BYTES, SMALLER = "bytes", "smaller_p_at_1"  # measures of smaller vectors


def section(results: ResultSet) -> Section:
    shown: list[Table | Figure] = []
    for retrieved in Retrieved.of(results):
        shown.append(averages(retrieved))
        if retrieved.pivot:
            shown.append(averages_by_direction(retrieved))
        shown.append(table_of_pairs(retrieved))
        shown += by_group(retrieved)
        shown += by_layer(retrieved)
        shown += by_direction(retrieved)
        shown += smaller_vectors(retrieved)
    return Section("Sentence retrieval", shown, NOTES)


def averages(retrieved: Retrieved) -> Table:
    """One row per encoder: P@1 over all pairs with its interval and by text, by every similarity, and the
    mean error of both directions.
    """
    names = retrieved.similarities
    by_number, by_text, errors = (
        retrieved.means(["part"], measure=measure) for measure in (BY_NUMBER, BY_TEXT, ERROR)
    )
    rows = []
    for system in retrieved.systems:
        row = cells(system.name, len(system.runs))
        for similarity in names:
            key = system.name, similarity
            row += [mean_cell(by_number.get(key), 1), *_interval(system, similarity, key in by_number)]
            row.append(mean_cell(by_text.get(key), 1))
        if XSIM in names:
            is_xsim = all(run.file["neighbours"] == XSIM_NEIGHBOURS for run in system.runs)
            row.append(mean_cell(errors.get((system.name, XSIM)) if is_xsim else None, 2))
        rows.append(row)
    measured = [title for name in names for title in (f"P@1 {name}", "from", "to", "by text")]
    titles = ["Encoder", "Seeds", *measured, *(["xsim"] if XSIM in names else [])]
    caption = f"Sentence retrieval on {retrieved.dataset}: P@1 over all pairs; mean ± deviation over seeds."
    recalls = retrieved.measured.where(measure="recall").rows.value
    if len(recalls):
        caption += (
            " Neighbours are looked for in some of the inverted lists, which of a sample of queries give the"
            f" nearest to {100 * recalls.min():.1f}% or more."
        )
    caption += _differences(retrieved.systems, names)
    return Table(slug("sentence_retrieval", retrieved.dataset), caption, [cells(*titles)], rows)


def _interval(system: System, similarity: str, is_measured: bool) -> list[Cell]:
    """Both ends; dashes where not every run was measured by it."""
    if not is_measured:
        return [number_cell(None, ".1f")] * 2
    hits = [hits_of(run, similarity) for run in system.runs]
    by_direction = {name: [seed[name] for seed in hits] for name in hits[0]}
    ends = interval_of_mean(by_direction, LEVEL, RESAMPLES, SEED)
    return [number_cell(100 * end, ".1f") for end in ends]


def _differences(systems: list[System], similarities: list[str]) -> str:
    """A sentence on each thing in which columns of one name are not of one measure; none where they are."""
    said = ""
    for name in dict.fromkeys(name for similarity in similarities for name in depends_on(similarity)):
        values = {system.name: system.runs[0].file.get(name) for system in systems}
        if len(set(map(str, values.values()))) > 1:
            listed = ", ".join(f"{value} ({system})" for system, value in values.items())
            said += f" Encoders are not measured alike: {name.replace('_', ' ')} {listed}."
    return said


def averages_by_direction(retrieved: Retrieved) -> Table:
    """A row per encoder, similarity and group of languages, for a set with a common language. A group of all
    languages has none: its row would be that of all.
    """
    everything = len(retrieved.pairs)
    sizes = {name: len(pairs) for name, pairs in retrieved.groups.items()}
    groups = {None: everything} | {name: size for name, size in sizes.items() if size < everything}
    means = {group: [retrieved.means(["part"], group, side) for side in (FROM, TO, None)] for group in groups}
    rows = [
        (
            [system.name, len(system.runs), similarity, f"{group or 'all'} ({count})"],
            [side.get((system.name, similarity)) for side in means[group]],
        )
        for system in retrieved.systems
        for similarity in retrieved.similarities
        if (system.name, similarity) in means[None][-1]
        for group, count in groups.items()
    ]
    pivot = retrieved.pivot
    titles = ["Encoder", "Seeds", "Similarity", "Languages", f"From {pivot}", f"To {pivot}", "Both"]
    caption = (
        f"P@1 by direction on {retrieved.dataset}: {pivot} has the queries, or the candidates; the mean of"
        " both."
    )
    return table_of_means(slug("retrieval_averages", retrieved.dataset), caption, titles, rows)


def table_of_pairs(retrieved: Retrieved) -> Table:
    """A row per pair of languages, as Table 2.4 of the thesis, and their average."""
    means, all_pairs = retrieved.shown(["pair"]), retrieved.shown()
    names = [system.name for system in retrieved.systems]
    rows = [([pair], [means.get((name, pair)) for name in names]) for pair in retrieved.pairs]
    rows.append((["Avg."], [all_pairs.get((name,)) for name in names]))
    return table_of_means(
        slug("retrieval_pairs", retrieved.dataset),
        f"P@1 ({retrieved.similarity}) by pair of languages, {retrieved.side_label}, {retrieved.dataset}.",
        ["Pair", *names],
        rows,
        rules=frozenset({len(rows) - 1}),
        data=rows_behind(retrieved.measured, [BY_NUMBER, BY_TEXT]),
        folded=len(rows) > FOLDED,
    )


def by_group(retrieved: Retrieved) -> Iterator[Table | Figure]:
    """Bars of the groups of languages (Table 2.5); of many encoders a table of all, and bars of some at a
    time.
    """
    if not retrieved.groups:
        return
    means = {group: retrieved.shown(group=group) for group in retrieved.groups}

    def table(names: list[str], *part: str) -> Table:
        rows = [
            ([f"{group} ({len(pairs)})"], [means[group].get((name,)) for name in names])
            for group, pairs in retrieved.groups.items()
        ]
        caption = (
            f"P@1 ({retrieved.similarity}) by group of languages (and how many pairs of them),"
            f" {retrieved.side_label}, {retrieved.dataset}."
        )
        name = slug("retrieval_groups", retrieved.dataset, *part)
        return table_of_means(name, caption, ["Group", *names], rows)

    def bars(names: list[str], *part: str) -> Figure:
        numbers = table(names, *part)
        series = {name: [of.get((name,)) for of in means.values()] for name in names}
        labels = [row[0].text for row in numbers.rows]
        return Figure(numbers.name, numbers.caption, horizontal_bars(labels, series, "P@1 (%)"), numbers)

    names = [system.name for system in retrieved.systems]
    parts = -(-len(names) // GROUPS_OF_BARS)
    if parts == 1:
        yield bars(names)
        return
    yield table(names)
    for part in range(parts):
        some = names[len(names) * part // parts : len(names) * (part + 1) // parts]
        yield bars(some, str(part + 1))


def by_direction(retrieved: Retrieved) -> list[Figure]:
    """Heat maps: languages by languages for every encoder where all pairs were measured, else encoders by
    directions.
    """
    sources = sorted({name.split("-")[0] for name in retrieved.directions})
    means = {
        (name, direction): mean
        for (name, similarity, direction), mean in retrieved.means(["part", "direction"]).items()
        if similarity == retrieved.similarity
    }
    is_grid = len(sources) > 2 and len(retrieved.directions) == len(sources) * (len(sources) - 1)
    if not is_grid:
        return [_directions(retrieved, means)]
    return [_languages(retrieved, system.name, sources, means) for system in retrieved.systems]


def _languages(retrieved: Retrieved, encoder: str, languages: list[str], means: dict) -> Figure:
    values = {
        direction: mean
        for direction in retrieved.directions
        if (mean := means.get((encoder, direction))) is not None
    }
    percent = [
        [None if (mean := values.get(f"{source}-{target}")) is None else mean.mean for target in languages]
        for source in languages
    ]
    rows = [(direction.split("-"), [mean]) for direction, mean in values.items()]
    name = slug("retrieval", retrieved.dataset, encoder)
    caption = (
        f"P@1 ({retrieved.similarity}) of {encoder} on {retrieved.dataset}: rows are queries, columns"
        " candidates."
    )
    numbers = table_of_means(name, caption, ["Queries", "Candidates", "P@1"], rows, digits=2)
    return Figure(
        name, caption, heatmap(languages, languages, percent, "P@1 %", [], "candidates", "queries"), numbers
    )


def _directions(retrieved: Retrieved, means: dict) -> Figure:
    names = [system.name for system in retrieved.systems]
    rows = [
        ([direction], [means.get((name, direction)) for name in names]) for direction in retrieved.directions
    ]
    percent = [
        [mean and mean.mean for _, of_direction in rows for mean in [of_direction[place]]]
        for place in range(len(names))
    ]
    name = slug("retrieval_directions", retrieved.dataset)
    caption = f"P@1 ({retrieved.similarity}) by direction, {retrieved.dataset}."
    numbers = table_of_means(name, caption, ["Direction", *names], rows)
    return Figure(
        name,
        caption,
        heatmap(names, retrieved.directions, percent, "P@1 %", [], "direction", "encoder"),
        numbers,
    )


def smaller_vectors(retrieved: Retrieved) -> list[Table | Figure]:
    """P@1 of vectors of fewer numbers and fewer bits against their size, and the loss against the vectors as
    they are (thesis 3.2.2, Table A.2); nothing where none were measured.
    """
    whole = retrieved.means(["part"])
    smaller = retrieved.means(["part"], measure=SMALLER)
    sizes = retrieved.measured.means(BYTES, ["part"])
    rows, points = [], {}
    for (encoder, vectors), mean in smaller.items():
        size, of_whole = sizes[encoder, vectors].mean, whole.get((encoder, COSINE))
        loss = of_whole and of_whole.mean - mean.mean
        rows.append(
            [
                *cells(encoder, vectors),
                cell(f"{size:.0f}", value=size),
                mean_cell(mean, 1),
                number_cell(loss, ".1f"),
            ]
        )
        points.setdefault(encoder, []).append((size, mean.mean, vectors))
    if not rows:
        return []
    titles = [cells("Encoder", "Vectors", "Bytes", "P@1", "loss")]
    caption = (
        f"P@1 (cosine) of smaller vectors on {retrieved.dataset}, and the loss against the vectors as they"
        " are."
    )
    plot = scatter(points, "bytes of a vector", "P@1 (%)")
    numbers = Table(slug("p_at_1_by_size", retrieved.dataset), caption, titles, rows)
    against = f"P@1 (cosine) against the size of vectors, {retrieved.dataset}."
    return [
        Table(slug("smaller_vectors", retrieved.dataset), caption, titles, rows),
        Figure(numbers.name, against, plot, numbers),
    ]
