"""P@1 of every pair of languages, the mean of both directions, as Table 2.4 of the thesis, or one of them;
and by text.
"""

from embeddings.averages import FROM, TO, by_pair
from eval.reporting.exhibits import Table, cell, cells, mean_cell, slug, tidy
from eval.reporting.sections.retrieval_averages import common_language, direction_shown, mean_of
from eval.results.systems import MeanStd, Run, System

BY_NUMBER, BY_TEXT = "p_at_1", "p_at_1_by_text"
PLACES = {FROM: 0, TO: 1}  # of the common language in the name of a direction

FOLDED = 150  # rows: all pairs of many languages are shown after a click


def table_of_pairs(dataset: str, systems: list[System], similarity: str, direction: str | None) -> Table:
    """A row per pair, and their average; every similarity and both counts are in its CSV file, as means of
    both directions.
    """
    means = [means_of_pairs(one, similarity, direction) for one in systems]
    pairs = list(dict.fromkeys(pair for of in means for pair in of))
    rows = [[cell(pair), *(mean_cell(of.get(pair), 1) for of in means)] for pair in pairs]
    averages = (mean_of(one, similarity, direction=direction) for one in systems)
    rows.append([cell("Avg."), *(mean_cell(mean, 1) for mean in averages)])
    return Table(
        slug("retrieval_pairs", dataset),
        f"P@1 ({similarity}) by pair of languages, {direction_shown(systems[0], direction)}, {dataset}.",
        [cells("Pair", *(one.name for one in systems))],
        rows,
        frozenset({len(pairs)}),
        _every_number(dataset, systems),
        folded=len(rows) > FOLDED,
    )


def means_of_pairs(one: System, similarity: str, direction: str | None = None) -> dict[str, MeanStd | None]:
    """Pair -> percent, over the runs; `direction` as in `mean_of`."""
    pivot = None if direction is None else common_language(one)
    runs = [_of_pairs(run, similarity, BY_NUMBER, pivot and (pivot, PLACES[direction])) for run in one.runs]
    return {pair: MeanStd.of(run.get(pair) for run in runs) for pair in runs[0]}


def mean_by_text(one: System, similarity: str) -> MeanStd | None:
    """Percent of all pairs, of queries that found their own line or an equal one."""
    runs = [list(_of_pairs(run, similarity, BY_TEXT).values()) for run in one.runs]
    return MeanStd.of(None if None in values else sum(values) / len(values) for values in runs)


def _of_pairs(
    run: Run, similarity: str, count: str, at: tuple[str, int] | None = None
) -> dict[str, float | None]:
    """Pair -> percent, mean of its directions; None where it was not measured.

    Args:
        at: a language, and 0 or 1 for the directions from or to it alone.
    """
    chosen = {
        name: found for name, found in run.directions.items() if at is None or name.split("-")[at[1]] == at[0]
    }
    values = {
        pair: [(each.get(similarity) or {}).get(count) for each in found]
        for pair, found in by_pair(chosen).items()
    }
    return {pair: None if None in of else 100 * sum(of) / len(of) for pair, of in values.items()}


def _every_number(dataset: str, systems: list[System]) -> list[list]:
    rows = []
    for one in systems:
        for label, run in zip(one.run_labels, one.runs, strict=True):
            for similarity in run.value("average"):
                counts = [_of_pairs(run, similarity, count) for count in (BY_NUMBER, BY_TEXT)]
                rows += [
                    [dataset, one.name, label, pair, similarity, *(of[pair] for of in counts)]
                    for pair in counts[0]
                ]
    return tidy(["dataset", "encoder", "seed", "pair", "similarity", BY_NUMBER, BY_TEXT], rows)
