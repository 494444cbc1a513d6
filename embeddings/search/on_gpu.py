"""All candidates on a GPU: products of blocks, of which the best are kept."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from command_line.errors import InputError
from embeddings.search.blocks import blocks

PRODUCTS = 1 << 28  # of queries and candidates at a time, 1 GiB


def check_gpu() -> None:
    """Raises InputError where torch finds no GPU."""
    import torch

    if not torch.cuda.is_available():
        raise InputError("--index gpu: torch finds no GPU here; choose exact, or ivf for millions")


@contextmanager
def all_candidates_on(device: str, candidates, rows: int) -> Iterator:
    """A function from queries of length 1, n x C, and k to cosines and rows of their neighbours, n x k.

    Args:
        candidates: m x C, a file or an array.
    """
    import torch

    def find(queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        ours = torch.from_numpy(np.ascontiguousarray(queries)).to(device)
        best = [(ours.new_empty(len(ours), 0), ours.new_empty(len(ours), 0, dtype=torch.int64))]
        for start, block in blocks(candidates, rows):
            theirs = torch.from_numpy(np.ascontiguousarray(block)).to(device)
            new = [_nearest(part, theirs, k) for part in ours.split(max(1, PRODUCTS // len(theirs)))]
            best.append((torch.cat([each for each, _ in new]), torch.cat([each for _, each in new]) + start))
            cosines, numbers = (torch.cat(each, dim=1) for each in zip(*best, strict=True))
            cosines, places = _best(cosines, k)
            best = [(cosines, numbers.gather(1, places))]
        return tuple(each.cpu().numpy() for each in best[0])

    yield find


def _nearest(queries, candidates, k: int):
    """Cosines and places of the best k of a block, both B x k, in float32."""
    return _best(queries @ candidates.T, k)


def _best(cosines, k: int):
    """The best k of every row, and their places; of one the first of equals, which topk leaves open."""
    return cosines.max(dim=1, keepdim=True) if k == 1 else cosines.topk(min(k, cosines.shape[1]))
