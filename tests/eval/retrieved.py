"""Result files of `python -m embeddings retrieve`, as whole as those of the command."""

from collections.abc import Mapping

import numpy as np

from embeddings.search.retrieval import packed


def measured(hits, **others) -> dict:
    """What one similarity finds.

    Args:
        hits: of every query, whether it found its own line.
        others: fields that are not as follows from them.
    """
    p_at_1 = float(np.mean(hits))
    found = {
        "p_at_1": p_at_1,
        "p_at_1_by_text": p_at_1,
        "error": 1 - p_at_1,
        "hits": packed(np.asarray(hits)),
    }
    return found | others


def first_hits(p_at_1: float, queries: int = 10, **others) -> dict:
    """`measured`, of queries of which the first find their lines."""
    return measured(np.arange(queries) < round(p_at_1 * queries), **{"p_at_1": p_at_1, **others})


def direction(by_similarity: Mapping[str, dict], queries: int = 10, texts_sha256: str = "ab" * 32) -> dict:
    return {"queries": queries, "candidates": queries, "texts_sha256": texts_sha256, **by_similarity}


def record(run: dict, **file) -> dict:
    """The file of one run.

    Args:
        run: its fields, but for those that all runs have alike.
        file: fields of the file.
    """
    usual = {"by_direction": None, "size": {"width": 8}, "smaller": {}}
    return {"format": 1, "kind": "sentence-retrieval", "neighbours": 4, **file, "runs": [usual | run]}
