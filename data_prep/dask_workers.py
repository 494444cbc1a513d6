"""Workers of a dask cluster in place of processes of this machine (`command_line.workers.Workers`)."""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from command_line.errors import InputError
from multilingual_nmt import call

SECONDS_TO_CONNECT = 30


class DaskWorkers:
    """Applies a function to items on a dask cluster, results in the order of the items.

    The workers import `multilingual_nmt`, so it must be installed where they run; they need not see this
    machine's files.

    Args:
        scheduler: its address ("tcp://host:8786").

    Raises:
        InputError: dask.distributed is not installed, or nothing answers at the address.
    """

    def __init__(self, scheduler: str):
        try:
            from dask.distributed import Client
        except ImportError:
            raise InputError("--dask: dask.distributed is not installed: pip install distributed") from None
        try:
            self._client = Client(scheduler, timeout=SECONDS_TO_CONNECT)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"--dask {scheduler}: no scheduler answers there: {error}") from None

    def __enter__(self) -> "DaskWorkers":
        return self

    def __exit__(self, *error) -> None:
        self._client.close()

    def map(self, function: Callable, items: Iterable) -> Iterator:
        from dask.distributed import KilledWorker

        pending: deque = deque()
        try:
            for item in items:
                pending.append(self._client.submit(call, pickle.dumps((function, item)), pure=False))
                if len(pending) > self._under_way():
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except KilledWorker as error:
            raise InputError(f"--dask: workers of the cluster died (out of memory?): {error}") from None

    def _under_way(self) -> int:
        """How many items are given out at a time: workers may come and go."""
        return 2 * max(1, sum(self._client.ncores().values()))
