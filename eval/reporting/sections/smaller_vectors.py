"""P@1 of vectors of fewer numbers and fewer bits, against their size (thesis 3.2.2, Table A.2)."""

from eval.reporting.exhibits import Figure, Table, cell, cells, mean_cell, number_cell, slug
from eval.reporting.plots import scatter
from eval.results.systems import System

COSINE = "cosine"


def smaller_vectors(dataset: str, systems: list[System]) -> list[Table | Figure]:
    """What every kind of vectors loses against the vectors as they are; nothing where none were measured."""
    rows, points = [], {}
    for one in systems:
        whole = one.mean("average", COSINE, scale=100)
        for name, found in (one.runs[0].value("smaller") or {}).items():
            mean = one.mean("smaller", name, "p_at_1", scale=100)
            loss = None if mean is None or whole is None else whole.mean - mean.mean
            size = cell(found["bytes"], value=found["bytes"])
            rows.append([*cells(one.name, name), size, mean_cell(mean, 1), number_cell(loss, ".1f")])
            if mean is not None:
                points.setdefault(one.name, []).append((found["bytes"], mean.mean, name))
    if not rows:
        return []
    titles = cells("Encoder", "Vectors", "Bytes", "P@1", "loss")
    name = slug("smaller_vectors", dataset)
    caption = f"P@1 (cosine) of smaller vectors on {dataset}, and the loss against the vectors as they are."
    plot = scatter(points, "bytes of a vector", "P@1 (%)")
    numbers = Table(slug("p_at_1_by_size", dataset), caption, [titles], rows)
    return [
        Table(name, caption, [titles], rows),
        Figure(numbers.name, f"P@1 (cosine) against the size of vectors, {dataset}.", plot, numbers),
    ]
