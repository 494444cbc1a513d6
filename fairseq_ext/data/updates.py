"""The batches of an update: the same on any number of processes, which may change when training goes on."""

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np
from fairseq.data import data_utils
from fairseq.data.iterators import EpochBatchIterator

from command_line.errors import InputError

BATCHES_SEEN = "batches_in_epoch"  # in the state of the iterator, beside fairseq's own count


def steps_of(batches: int, processes: int) -> int:
    """Batches that a process computes one after the other (`--update-freq`) for an update of so many."""
    return math.ceil(batches / processes)


def check_update_freq(given: int, batches: int, processes: int) -> None:
    """Compare `--update-freq` with `--batches-per-update`.

    Raises:
        InputError: `--update-freq` is not what an update of so many batches takes.
    """
    if given != (steps := steps_of(batches, processes)):
        raise InputError(
            f"--update-freq {given}: --batches-per-update {batches} on {processes} processes takes {steps}; "
            f"give --update-freq {steps}"
        )


def shared(update: Sequence[Sequence[int]], processes: int) -> list[list[Sequence[int]]]:
    """The batches of an update, handed out: a list per process, all of one length.

    Batches are whole while there are no more processes than batches; then each is cut into as many parts as
    there are processes for it. Who has no batch in a round has an empty one, and has it first: fairseq takes
    the sentences of all rounds of a process for nothing if the last is empty.
    """
    rounds = steps_of(len(update), processes)
    parts = rounds * processes // len(update)
    pieces = list(update)
    if parts > 1:
        pieces = [list(piece) for batch in update for piece in np.array_split(np.asarray(batch), parts)]
    table = [pieces[first : first + processes] for first in range(0, len(pieces), processes)]
    if missing := processes - len(table[-1]):
        table.insert(0, table.pop() + [[]] * missing)
    return [list(column) for column in zip(*table, strict=True)]


class UpdateIterator(EpochBatchIterator):
    """fairseq's iterator over epochs, for one of several processes.

    The order of batches, and which of them make an update, depend on seed and epoch alone. The state counts
    the batches that all processes have seen, so that it can be read by another number of them.

    Args:
        iterator: fairseq's own, of this process.
        batches_per_update: of all processes.
    """

    def __init__(self, iterator: EpochBatchIterator, batches_per_update: int):
        vars(self).update(vars(iterator))
        self.batches_per_update = batches_per_update
        self.steps = steps_of(batches_per_update, self.num_shards)
        self._continued = (0, 0)  # an epoch, and its batches that were seen before this process began

    def __len__(self) -> int:
        whole, rest = divmod(len(self.frozen_batches), self.batches_per_update)
        return whole * self.steps + steps_of(rest, self.num_shards)

    def _seen_before(self, epoch: int) -> tuple[int, int]:
        """Batches of all processes and steps of this one that lie before the first update of this run."""
        seen = self._continued[1] if self._continued[0] == epoch else 0
        return seen, math.ceil(seen / self.batches_per_update) * self.steps

    # --- fairseq's hooks

    def ordered_batches(self, epoch: int, fix_batches_to_gpus: bool, shuffle: bool) -> list:
        """This process's share of the epoch; fairseq cuts off the steps that lie before this run."""
        batches = self._shuffled(epoch) if shuffle else list(self.frozen_batches)
        seen, steps = self._seen_before(epoch)
        starts = range(seen, len(batches), self.batches_per_update)
        updates = (batches[first : first + self.batches_per_update] for first in starts)
        mine = (shared(update, self.num_shards)[self.shard_id] for update in updates)
        return [[]] * steps + list(chain.from_iterable(mine))

    def _shuffled(self, epoch: int) -> list:
        size = self.batches_per_update if self.grouped_shuffling else 1
        whole = len(self.frozen_batches) // size * size
        groups = [list(self.frozen_batches[first : first + size]) for first in range(0, whole, size)]
        with data_utils.numpy_seed(self.seed + epoch):
            np.random.shuffle(groups)
        return [*chain.from_iterable(groups), *self.frozen_batches[whole:]]

    def state_dict(self) -> dict:
        state = super().state_dict()
        seen, steps = self._seen_before(state["epoch"])
        updates = (state["iterations_in_epoch"] - steps) // self.steps
        return {**state, BATCHES_SEEN: max(0, seen + updates * self.batches_per_update)}

    def load_state_dict(self, state: dict) -> None:
        """Go on behind the batches that were seen; a state without them is of as many processes as now."""
        updates = state.get("iterations_in_epoch", 0) // self.steps
        self._continued = state["epoch"], state.get(BATCHES_SEEN, updates * self.batches_per_update)
        super().load_state_dict({**state, "iterations_in_epoch": self._seen_before(state["epoch"])[1]})
