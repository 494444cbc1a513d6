"""Averages of retrieval by direction: some papers measure one, others the mean of both."""

from eval.reporting.exhibits import Table, cells, mean_cell, slug
from eval.results.systems import System


def averages_by_direction(dataset: str, systems: list[System]) -> list[Table]:
    """A row per encoder, similarity and group of languages; no table of a set without a common language, nor
    of results of before directions were averaged.
    """
    pivot = systems[0].runs[0].value("by_direction", "pivot")
    if pivot is None:
        return []
    rows = []
    for one in systems:
        run = one.runs[0]
        for similarity in run.value("average"):
            languages = len(run.directions) // 2
            rows.append(_row(one, similarity, f"all ({languages})", "average", similarity))
            for group, found in (run.value("groups") or {}).items():
                if pairs := found[similarity]["pairs"]:
                    keys = "groups", group, similarity, "mean"
                    rows.append(_row(one, similarity, f"{group} ({pairs})", *keys))
    titles = ["Encoder", "Seeds", "Similarity", "Languages", f"From {pivot}", f"To {pivot}", "Both"]
    caption = f"P@1 by direction on {dataset}: {pivot} has the queries, or the candidates; the mean of both."
    return [Table(slug("retrieval_averages", dataset), caption, [cells(*titles)], rows)]


def _row(one: System, similarity: str, languages: str, *keys: str) -> list:
    means = [
        one.mean(*where, *keys, scale=100) for where in (("by_direction", "from"), ("by_direction", "to"), ())
    ]
    return [
        *cells(one.name, len(one.runs), similarity, languages),
        *(mean_cell(mean, digits=1) for mean in means),
    ]
