"""Windows of sentences encoded by this process, or by the workers of a dask cluster."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from command_line.workers import make_workers
from embeddings.windows import Encoded, encoded


@dataclass(frozen=True)
class Reading:
    """How an encoder reads sentences, wherever it runs.

    Attributes:
        load: a function that loads the encoder; workers of a cluster call it once.
        arguments: of `load`, hashable; their paths are those that the workers see, too.
        method: name of the encoder's method that makes vectors of sentences.
        options: of the method, behind the sentences.
    """

    load: Callable
    arguments: tuple
    method: str
    options: tuple = ()

    def by(self, encoder, window: tuple[int, Sequence]) -> Encoded:
        """What an encoder that is loaded makes of a window."""
        encode = getattr(encoder, self.method)
        return encoded(encoder, lambda sentences: encode(sentences, *self.options), window)

    def by_worker(self, window: tuple[int, Sequence]) -> Encoded:
        """What a worker of a cluster makes of a window."""
        return self.by(_loaded(self.load, *self.arguments), window)

    def all_by(self, encoder, dask: str | None) -> Callable[[Iterable], Iterator[Encoded]]:
        """The function that encodes windows, in their order.

        Args:
            encoder: that of this process.
            dask: address of the scheduler whose workers encode in its place; None: this process does.
        """
        if dask is None:
            return functools.partial(map, functools.partial(self.by, encoder))
        return functools.partial(_on_cluster, dask, self.by_worker)


def _on_cluster(dask: str, encode: Callable, todo: Iterable) -> Iterator[Encoded]:
    with make_workers(1, dask) as workers:
        yield from workers.map(encode, todo)


@functools.lru_cache(maxsize=1)
def _loaded(load: Callable, *arguments):
    return load(*arguments)
