"""The batches of a fine-tuning, a function of the seed alone, so that a killed training goes on with them."""

import functools
from collections.abc import Sequence

import numpy as np


class Course:
    """All batches of a training, in their order.

    A group of examples is never parted, nor are the windows of an example: what shares a source is compared
    by one update. So a batch may lack a few windows, and a group that is larger than a batch is one alone.

    Args:
        groups: of examples: one, or the code-switched forms of one.
        counts: windows of every group.
        epochs: so often all are read, each time in another order.
        size: windows of a batch.

    Attributes:
        lengths: batches of every epoch.
    """

    def __init__(self, groups: Sequence[tuple], counts: np.ndarray, epochs: int, size: int, seed: int):
        self.groups, self.counts, self.seed = groups, np.asarray(counts), seed
        self._begins = [self._cut(epoch, size) for epoch in range(epochs)]
        self.lengths = [len(begins) - 1 for begins in self._begins]

    def __len__(self) -> int:
        return sum(self.lengths)

    def __getitem__(self, number: int) -> list:
        """The examples of a batch."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        epoch = 0
        while number >= self.lengths[epoch]:
            number -= self.lengths[epoch]
            epoch += 1
        begin, end = self._begins[epoch][number : number + 2]
        return [example for row in self._order(epoch)[begin:end] for example in self.groups[row]]

    @functools.lru_cache(maxsize=1)  # noqa: B019  # there is one course, which lives as long as the process
    def _order(self, epoch: int) -> np.ndarray:
        return np.random.default_rng((self.seed, epoch)).permutation(len(self.groups))

    def _cut(self, epoch: int, size: int) -> np.ndarray:
        """Where batches begin in the order of an epoch, and its end."""
        ends = np.cumsum(self.counts[self._order(epoch)])
        begins = [0]
        while begins[-1] < len(ends):
            before = ends[begins[-1] - 1] if begins[-1] else 0
            fitting = int(np.searchsorted(ends, before + size, side="right"))
            begins.append(max(fitting, begins[-1] + 1))
        return np.array(begins)
