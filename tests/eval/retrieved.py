"""Results of `python -m embeddings retrieve`, as the command writes them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from command_line.measurements import Measured, numbers
from tests.eval.rows import write_measured

Outcomes = Mapping[str, Mapping[str, np.ndarray]]  # direction -> similarity -> which queries were hits


def first_hits(p_at_1: float, queries: int = 10) -> np.ndarray:
    """Hits of queries of which the first find their lines."""
    return np.arange(queries) < round(p_at_1 * queries)


def rows_of_direction(direction: str, hits_by_similarity: Mapping[str, np.ndarray]) -> list[dict]:
    rows = numbers({"lines": len(next(iter(hits_by_similarity.values())))}, direction=direction)
    for part, hits in hits_by_similarity.items():
        share = float(np.mean(hits))
        measures = {"p_at_1": share, "p_at_1_by_text": share, "error": 1 - share}
        rows += numbers(measures, direction=direction, part=part)
    return rows


def write_retrieval(
    folder: Path,
    outcomes: Outcomes,
    name: str = "ems",
    seed: int | None = 1,
    dataset: str = "set",
    groups: Mapping[str, list[str]] | None = None,
    rows: list[dict] = (),
    texts: str = "a",
    **about,
) -> Path:
    """Write the result of one run; returns the JSON file.

    Args:
        outcomes: of every direction.
        groups: of languages -> pairs.
        rows: in place of those that follow from the outcomes, or further ones.
        texts: begins the checksums of the texts of all directions.
        about: fields of the file.
    """
    run = {
        "system": {"name": name, "seed": seed},
        "dataset": dataset,
        "texts": {direction: f"{texts}{direction}" for direction in outcomes},
        "groups": {group: {"pairs": pairs, "missing": []} for group, pairs in (groups or {}).items()},
    }
    measured = Measured(about={"neighbours": 4} | about)
    usual = [row for direction, each in outcomes.items() for row in rows_of_direction(direction, each)]
    given = {(row.get("direction"), row.get("part"), row["measure"]): row for row in [*usual, *rows]}
    measured.add(run, given.values())
    measured.arrays = {
        f"{part}/{direction}": hits
        for direction, by_similarity in outcomes.items()
        for part, hits in by_similarity.items()
    }
    return write_measured(folder, "sentence-retrieval", measured)
