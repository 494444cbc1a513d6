"""Rows of all processes, with the gradient that one process with all the data would have."""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, distributed

_contributes = True


@contextlib.contextmanager
def contributing_nothing() -> Iterator[None]:
    """Inside, this process takes part in what all do, as it must, and adds nothing to it: where it has no
    batch, fairseq gives it one that it has seen, from whose sentences nobody is to learn.
    """
    global _contributes
    _contributes = False
    try:
        yield
    finally:
        _contributes = True


def world_size() -> int:
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows: Tensor, counts: list[int], rank: int) -> Tensor:
        ctx.mine = slice(sum(counts[:rank]), sum(counts[: rank + 1]))
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        gathered = [torch.empty_like(padded) for _ in counts]
        distributed.all_gather(gathered, padded)
        return torch.cat([part[:count] for part, count in zip(gathered, counts, strict=True)])

    @staticmethod
    def backward(ctx, gradient: Tensor):
        gradient = gradient.contiguous().clone()
        distributed.all_reduce(gradient)  # every process uses my rows
        return gradient[ctx.mine], None, None


def all_gather_rows(rows: Tensor) -> tuple[Tensor, int]:
    """The rows of all processes in the order of their ranks, and where mine begin.

    The gradient of a row is the sum of what all processes derive for it. Processes may have different numbers
    of rows, also none, but all of them must call this, and differentiate it, equally often. One that is
    `contributing_nothing` finds its own rows behind all others; they find none of its.
    """
    if world_size() == 1:
        return rows, 0
    shared = rows if _contributes else rows[:0]
    counts = [rows.new_zeros(1, dtype=torch.long) for _ in range(world_size())]
    distributed.all_gather(counts, torch.full_like(counts[0], len(shared)))
    counts, rank = torch.cat(counts).tolist(), distributed.get_rank()
    gathered = _AllGather.apply(shared, counts, rank)
    if _contributes:
        return gathered, sum(counts[:rank])
    return torch.cat([gathered, rows]), sum(counts)


def contributed_rows(rows: Tensor) -> Tensor:
    """The rows of all processes that contribute, in the order of their ranks, the same everywhere; without
    gradient. All processes must call this equally often.
    """
    everywhere, _ = all_gather_rows(rows.detach())
    return everywhere if _contributes else everywhere[: len(everywhere) - len(rows)]


def sum_over_processes(number: int, device) -> int:
    """The sum of a number that every process has, of those that contribute."""
    if world_size() == 1:
        return number
    total = torch.tensor(number if _contributes else 0, dtype=torch.long, device=device)
    distributed.all_reduce(total)
    return int(total)
