"""Averages of retrieval by direction: some papers measure one, others the mean of both."""

from embeddings.averages import FROM, TO
from eval.reporting.exhibits import Table, cells, mean_cell, slug
from eval.results.systems import MeanStd, System

BY_DIRECTION = "by_direction"


def mean_of(
    one: System, similarity: str, group: str | None = None, direction: str | None = None
) -> MeanStd | None:
    """P@1 in percent over all pairs of languages, or over those of a group.

    Args:
        direction: "from" or "to" the language that all pairs have in common; of a set without one, and for
            None, both directions are averaged.
    """
    keys = ("average", similarity) if group is None else ("groups", group, similarity, "mean")
    where = () if direction is None or common_language(one) is None else (BY_DIRECTION, direction)
    return one.mean(*where, *keys, scale=100)


def common_language(one: System) -> str | None:
    """That of all pairs; None if there is none."""
    return one.runs[0].value(BY_DIRECTION, "pivot")


def direction_shown(one: System, direction: str | None) -> str:
    """What a caption says of it."""
    pivot = common_language(one)
    return "mean of both directions" if direction is None or pivot is None else f"{direction} {pivot}"


def averages_by_direction(dataset: str, systems: list[System]) -> list[Table]:
    """A row per encoder, similarity and group of languages; no table of a set without a common language."""
    pivot = common_language(systems[0])
    if pivot is None:
        return []
    rows = []
    for one in systems:
        run = one.runs[0]
        for similarity in run.value("average"):
            rows.append(_row(one, similarity, f"all ({len(run.directions) // 2})"))
            for group, found in (run.value("groups") or {}).items():
                if pairs := found[similarity]["pairs"]:
                    rows.append(_row(one, similarity, f"{group} ({pairs})", group))
    titles = ["Encoder", "Seeds", "Similarity", "Languages", f"From {pivot}", f"To {pivot}", "Both"]
    caption = f"P@1 by direction on {dataset}: {pivot} has the queries, or the candidates; the mean of both."
    return [Table(slug("retrieval_averages", dataset), caption, [cells(*titles)], rows)]


def _row(one: System, similarity: str, languages: str, group: str | None = None) -> list:
    means = [mean_of(one, similarity, group, direction) for direction in (FROM, TO, None)]
    return [
        *cells(one.name, len(one.runs), similarity, languages),
        *(mean_cell(mean, digits=1) for mean in means),
    ]
