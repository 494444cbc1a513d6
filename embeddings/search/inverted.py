"""Neighbours by inverted lists on disk: candidates lie around centroids, a query looks at a few lists.

faiss keeps the lists in a file that is read by memory map, so that neither candidates nor index need to fit
into memory.
"""

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from embeddings.search.blocks import blocks, some_of, width_of

SAMPLE = 64  # candidates per list that centroids are learned from


def lists_for(candidates: int) -> int:
    """How many lists, where the user does not say: 4 times the root; of at least 39 candidates (faiss)."""
    return max(1, min(int(4 * candidates**0.5), candidates // 39))


@contextmanager
def inverted_lists(
    candidates, lists: int | None, probes: int, rows: int
) -> Iterator[Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]]:
    """A function from queries of length 1 and k to cosines and rows of neighbours, n x k.

    A query whose lists hold fewer than k candidates looks at all lists.

    Args:
        candidates: m x C, a file or an array.
        lists: around so many centroids; None for `lists_for`.
        probes: lists that a query looks at.
    """
    import faiss
    from faiss.contrib.ondisk import merge_ondisk

    lists = min(lists or lists_for(len(candidates)), len(candidates))
    width = width_of(candidates)
    with tempfile.TemporaryDirectory(prefix="inverted-lists-") as folder:
        _check_room(folder, len(candidates), width)
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, lists, faiss.METRIC_INNER_PRODUCT)
        index.cp.min_points_per_centroid = 1  # the sample is what the memory allows
        index.train(_sample(candidates, max(lists, min(rows, SAMPLE * lists))))
        empty, parts = Path(folder) / "empty", []
        faiss.write_index(index, str(empty))
        for start, block in blocks(candidates, rows):
            part = faiss.read_index(str(empty))
            part.add_with_ids(block, np.arange(start, start + len(block)))
            parts.append(f"{folder}/{start}")
            faiss.write_index(part, parts[-1])
        with _quiet():  # faiss says what it does to the file
            merge_ondisk(index, parts, f"{folder}/lists")
        for part in parts:
            Path(part).unlink()

        def search(queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
            index.nprobe = min(probes, lists)
            cosines, rows_found = index.search(queries, k)
            few = np.flatnonzero((rows_found < 0).any(axis=1))
            if few.size:
                index.nprobe = lists
                cosines[few], rows_found[few] = index.search(queries[few], k)
            return cosines, rows_found

        yield search


def _check_room(folder: str, candidates: int, width: int) -> None:
    """Before hours of work: parts and the lists that they are merged into are there at the same time."""
    needed, free = 2 * candidates * (4 * width + 8), shutil.disk_usage(folder).free  # floats, and a number
    if free < needed:
        raise InputError(
            f"{Path(folder).parent}: inverted lists of {candidates:,} vectors need {needed / 1e9:.1f} GB"
            f" of disk while they are made, {free / 1e9:.1f} GB are free; set TMPDIR to a larger disk"
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """What a library of C prints to standard output meanwhile goes nowhere; its buffer is not Python's."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def _sample(candidates, size: int) -> np.ndarray:
    """Some candidates of length 1, the same in every run; as many as there are lists, or more."""
    rows = np.random.default_rng(1).choice(len(candidates), min(size, len(candidates)), replace=False)
    return np.concatenate([block for _, block in blocks(some_of(candidates, np.sort(rows)), size)])
