"""Workers of a dask cluster in place of processes of this machine (`command_line.workers.Workers`)."""

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from command_line.errors import InputError
from multilingual_nmt import call

SECONDS_TO_CONNECT = 30
SECONDS_BETWEEN_LOOKS = 10  # whether the cluster has workers
SECONDS_WITHOUT_WORKERS = 300  # a batch system may keep new ones waiting


class DaskWorkers:
    """Applies a function to items on a dask cluster, results in the order of the items.

    The workers import `multilingual_nmt`, so it must be installed where they run. An item of a worker that
    dies is given to another one; a function travels to each worker once.

    Args:
        scheduler: its address ("tcp://host:8786").
        alone: whether a worker with several threads works on one item at a time, as most libraries need it.

    Raises:
        InputError: dask.distributed is not installed, or nothing answers at the address.
    """

    def __init__(self, scheduler: str, alone: bool = True):
        try:
            from dask.distributed import Client
        except ImportError:
            raise InputError("--dask: dask.distributed is not installed: pip install distributed") from None
        self._alone = alone
        try:
            self._client = Client(scheduler, timeout=SECONDS_TO_CONNECT)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"--dask {scheduler}: no scheduler answers there: {error}") from None

    def __enter__(self) -> "DaskWorkers":
        return self

    def __exit__(self, *error) -> None:
        self._client.close()

    def map(self, function: Callable, items: Iterable) -> Iterator:
        """As of `Workers`.

        Raises:
            InputError: workers died again and again, or the cluster has had none for a while.
        """
        from dask.distributed import KilledWorker

        pending: deque = deque()
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")  # it is sent once
                # A result, and no data of the client's, so that it is made again if workers die.
                carried = self._client.submit(bytes, pickle.dumps(function), pure=False)
            for item in items:
                task = self._client.submit(call, carried, pickle.dumps(item), self._alone, pure=False)
                pending.append(task)
                if len(pending) > self._under_way():
                    yield self._result(pending.popleft())
            while pending:
                yield self._result(pending.popleft())
        except KilledWorker as error:
            raise InputError(
                f"--dask: workers of the cluster died again and again (out of memory?): {error}"
            ) from None

    def _result(self, task):
        """The result of a task, as long as the cluster has workers."""
        while True:
            try:
                return task.result(SECONDS_BETWEEN_LOOKS)
            except TimeoutError:
                if task.status == "error":  # the function's own
                    raise
            try:
                self._client.wait_for_workers(1, SECONDS_WITHOUT_WORKERS)
            except TimeoutError:
                raise InputError(
                    f"--dask: the cluster has had no workers for {SECONDS_WITHOUT_WORKERS} seconds; start"
                    " some, and run the same command again"
                ) from None

    def _under_way(self) -> int:
        """How many items are given out at a time: workers may come and go."""
        return 2 * max(1, sum(self._client.ncores().values()))
