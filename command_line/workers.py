"""Worker processes that apply a function to items, results in order.

No pool of a library does what these do: when this process is killed, they end at once. Those of loky 3.6 were
still there half a minute later, and CPython's pools may hang when a worker is killed.
"""

import contextlib
import os
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from command_line import options
from command_line.dask_workers import DaskWorkers
from command_line.errors import InputError
from command_line.option_classes import option
from command_line.processes import Child, ProcessGroup, wait

ITEMS_PER_WORKER = 2  # one in work, one that waits there: no worker waits for this process
CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")
DIED = "a worker process {}; try fewer --workers"
_END = object()


def default_workers() -> int:
    """The processors that this process may use; where a container has less time of them, that, rounded up."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _quota(CPU_LIMIT) or cores)


def _quota(file: Path) -> int | None:
    """Processors' worth of time, of a file "MICROSECONDS PERIOD" or "max PERIOD"; None if there is none."""
    try:
        quota, period = file.read_text(encoding="ascii").split()
        return None if quota == "max" else max(1, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        return None


def workers_option() -> Any:
    """The field `workers`."""
    return option("processes", default_workers(), compare=False, type=options.worker_count)


def dask_option() -> Any:
    """The field `dask`."""
    return option(
        "address of a dask scheduler whose workers do it (instead of --workers)",
        compare=False,
        metavar="SCHEDULER",
    )


def make_workers(number: int, dask: str | None):
    """Processes of this machine, or the workers of a dask cluster. Make them before what an earlier run wrote
    is removed: a wrong address ends the command.

    Args:
        dask: address of its scheduler; None for processes.

    Raises:
        InputError: as of `DaskWorkers`.
    """
    if dask is None:
        return Workers(number)
    return DaskWorkers(dask)


class WorkerTraceback(Exception):
    """Where an exception was raised in a worker, as its cause."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Workers:
    """Processes that apply a function to items, results in the order of the items.

    One worker means this process itself. Workers are forked on entering, before anything of ours starts a
    thread, and know what has been loaded by then. A worker that dies (killed for its memory) is an error,
    never a hang; an exception of the function arrives with its type.
    """

    def __init__(self, number: int):
        if number < 1:
            raise InputError(f"--workers: {number}, expected at least 1")
        self.number = number
        self._group: ProcessGroup | None = None
        self._under_way: dict[Child, deque[int]] = {}  # the tickets of the items that a worker has
        self._tickets = count()
        self._answers: dict[int, tuple[bool, object]] = {}
        self._unwanted: set[int] = set()
        self._functions: dict[Child, Callable] = {}  # what a worker applies

    def __enter__(self) -> "Workers":
        if self.number > 1:
            self._group = ProcessGroup()
            children = [self._group.fork(_work, message=DIED) for _ in range(self.number)]
            self._under_way = {child: deque() for child in children}
        return self

    def __exit__(self, *error) -> None:
        if self._group is not None:
            for child in self._under_way:
                child.close()  # a worker ends at the end of its work
            self._group.__exit__(*error)

    def map(self, function: Callable, items: Iterable) -> Iterator:
        """Yield `function(item)` of every item. Takes few items more than have been yielded.

        The function travels to each worker once, with all that it holds; items travel one by one.

        Raises:
            InputError: a worker died.
        """
        if self._group is None:
            yield from map(function, items)
            return
        items, item = iter(items), None
        order: deque[int] = deque()
        try:
            while order or item is not _END:
                while item is not _END and (child := self._free(len(order))):
                    if (item := next(items, _END)) is not _END:
                        order.append(self._give(child, function, item))
                if order and order[0] in self._answers:
                    yield self._result(order.popleft())
                elif order or item is not _END:
                    self._receive()
        finally:  # the caller may not want the rest
            for ticket in order:
                if self._answers.pop(ticket, None) is None:
                    self._unwanted.add(ticket)

    def _free(self, taken: int) -> Child | None:
        """A worker for one more item, if there may be more."""
        child = min(self._under_way, key=lambda child: len(self._under_way[child]))
        may_take = taken <= ITEMS_PER_WORKER * self.number
        return child if may_take and len(self._under_way[child]) < ITEMS_PER_WORKER else None

    def _give(self, child: Child, function: Callable, item) -> int:
        child.send((None if self._functions.get(child) is function else function, item))
        self._functions[child] = function
        ticket = next(self._tickets)
        self._under_way[child].append(ticket)
        return ticket

    def _receive(self) -> None:
        """Wait for answers, or the death of a worker."""
        for child in wait(list(self._under_way)):
            answer = child.receive()
            ticket = self._under_way[child].popleft()
            if ticket in self._unwanted:
                self._unwanted.remove(ticket)
            else:
                self._answers[ticket] = answer

    def _result(self, ticket: int):
        succeeded, result = self._answers.pop(ticket)
        if not succeeded:
            error, text = result
            raise error from WorkerTraceback(text)
        return result


def _work(connection: Connection) -> None:
    """What a worker does: answer requests in order."""
    requests: SimpleQueue = SimpleQueue()
    Thread(target=_read_requests, args=(connection, requests), daemon=True).start()
    function = None
    for request in iter(requests.get, None):
        try:
            another, item = pickle.loads(request)
            function = function if another is None else another
            answer = ForkingPickler.dumps((True, function(item)))
        except Exception as error:
            answer = ForkingPickler.dumps((False, (_as_it_can_travel(error), traceback.format_exc())))
        with contextlib.suppress(ConnectionError):  # nobody waits for it any more
            connection.send_bytes(answer)


def _read_requests(connection: Connection, requests: SimpleQueue) -> None:
    """Take requests out of the pipe as they come: whoever sends one never waits for a worker at work."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            requests.put(connection.recv_bytes())
    requests.put(None)


def _as_it_can_travel(error: Exception) -> Exception:
    """The exception; as a RuntimeError if it cannot be pickled and unpickled."""
    try:
        pickle.loads(ForkingPickler.dumps(error))
    except Exception:  # whatever the exception's own class does
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
