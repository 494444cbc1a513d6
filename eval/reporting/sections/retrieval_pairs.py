"""P@1 of every pair of languages, the mean of both directions, as Table 2.4 of the thesis; and by text."""

from embeddings.averages import by_pair
from eval.reporting.exhibits import Table, cell, cells, mean_cell, slug, tidy
from eval.results.systems import MeanStd, Run, System

BY_NUMBER, BY_TEXT = "p_at_1", "p_at_1_by_text"


FOLDED = 150  # rows: all pairs of many languages are shown after a click


def table_of_pairs(dataset: str, systems: list[System], similarity: str) -> Table:
    """A row per pair, and their average; every similarity and both counts are in its CSV file."""
    means = [means_of_pairs(one, similarity) for one in systems]
    pairs = list(dict.fromkeys(pair for of in means for pair in of))
    rows = [[cell(pair), *(mean_cell(of.get(pair), 1) for of in means)] for pair in pairs]
    averages = (one.mean("average", similarity, scale=100) for one in systems)
    rows.append([cell("Avg."), *(mean_cell(mean, 1) for mean in averages)])
    return Table(
        slug("retrieval_pairs", dataset),
        f"P@1 ({similarity}) by pair of languages, mean of both directions, {dataset}.",
        [cells("Pair", *(one.name for one in systems))],
        rows,
        frozenset({len(pairs)}),
        _every_number(dataset, systems),
        folded=len(rows) > FOLDED,
    )


def means_of_pairs(one: System, similarity: str) -> dict[str, MeanStd | None]:
    """Pair -> percent, over the runs."""
    runs = [_of_pairs(run, similarity, BY_NUMBER) for run in one.runs]
    return {pair: MeanStd.of(run.get(pair) for run in runs) for pair in runs[0]}


def mean_by_text(one: System, similarity: str) -> MeanStd | None:
    """Percent of all pairs, of queries that found their own line or an equal one."""
    runs = [list(_of_pairs(run, similarity, BY_TEXT).values()) for run in one.runs]
    return MeanStd.of(None if None in values else sum(values) / len(values) for values in runs)


def _of_pairs(run: Run, similarity: str, count: str) -> dict[str, float | None]:
    """Pair -> percent, mean of its directions; None where it was not measured."""
    values = {
        pair: [(each.get(similarity) or {}).get(count) for each in found]
        for pair, found in by_pair(run.directions).items()
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
