"""The batches of an update: the same on any number of processes, which may change when training goes on."""

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np
from fairseq.data import data_utils
from fairseq.data.iterators import EpochBatchIterator

from command_line.errors import InputError

BATCHES_SEEN = "batches_in_epoch"  # in the state of the iterator, beside fairseq's own count
EPOCHS_OF_PASS = "epochs_of_pass"  # there, too


def steps_of(batches: int, processes: int) -> int:
    """Batches that a process computes one after the other (`--update-freq`) for an update of so many."""
    return math.ceil(batches / processes)


def pass_of(epoch: int, epochs_of_pass: int) -> int:
    """The pass over the data, from 1, that an epoch, from 1, is in."""
    return (epoch - 1) // epochs_of_pass + 1


def check_update_freq(given: int, batches: int, processes: int) -> None:
    """Compare `--update-freq` with `--batches-per-update`."""
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

    An epoch may be virtual: every pass over the data is divided into so many of them, of as many updates each
    but for one. All of them read the sentences, and their order, of the same pass.

    Args:
        iterator: fairseq's own, of this process, of the pass that the epoch is in.
        batches_per_update: of all processes.
        epoch: the first one.
        epochs_of_pass: virtual epochs of a pass.
    """

    def __init__(
        self,
        iterator: EpochBatchIterator,
        batches_per_update: int,
        epoch: int | None = None,
        epochs_of_pass: int = 1,
    ):
        vars(self).update(vars(iterator))
        self.epoch = iterator.epoch if epoch is None else epoch
        self.epochs_of_pass = epochs_of_pass
        self.batches_per_update = batches_per_update
        self.steps = steps_of(batches_per_update, self.num_shards)
        self._continued = (0, 0)  # an epoch, and its batches that were seen before this process began

    def __len__(self) -> int:
        first, last = self._bounds(self.epoch)
        whole, rest = divmod(last - first, self.batches_per_update)
        return whole * self.steps + steps_of(rest, self.num_shards)

    def _seen_before(self, epoch: int) -> tuple[int, int]:
        """Batches of all processes and steps of this one that lie before the first update of this run."""
        seen = self._continued[1] if self._continued[0] == epoch else 0
        return seen, math.ceil(seen / self.batches_per_update) * self.steps

    def _bounds(self, epoch: int) -> tuple[int, int]:
        """The batches of an epoch among those of its pass, half-open."""
        updates = steps_of(len(self.frozen_batches), self.batches_per_update)
        number = (epoch - 1) % self.epochs_of_pass
        edges = (updates * each // self.epochs_of_pass for each in (number, number + 1))
        first, last = (edge * self.batches_per_update for edge in edges)
        return first, min(last, len(self.frozen_batches))

    # --- fairseq's hooks

    def next_epoch_itr(self, shuffle=True, fix_batches_to_gpus=False, set_dataset_epoch=True):
        if set_dataset_epoch and hasattr(self.dataset, "set_epoch"):
            self.dataset.set_epoch(pass_of(self.next_epoch_idx, self.epochs_of_pass))
        return super().next_epoch_itr(shuffle, fix_batches_to_gpus, set_dataset_epoch=False)

    def ordered_batches(self, epoch: int, fix_batches_to_gpus: bool, shuffle: bool) -> list:
        """This process's share of the epoch; fairseq cuts off the steps that lie before this run."""
        number = pass_of(epoch, self.epochs_of_pass)
        batches = self._shuffled(number) if shuffle else list(self.frozen_batches)
        batches = batches[slice(*self._bounds(epoch))]
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
        seen = max(0, seen + updates * self.batches_per_update)
        return {**state, BATCHES_SEEN: seen, EPOCHS_OF_PASS: self.epochs_of_pass}

    def load_state_dict(self, state: dict) -> None:
        """Go on behind the batches that were seen.

        A state of fairseq's own iterator does not count them. It is as of this many processes.

        Raises:
            InputError: its passes are divided into another number of epochs.
        """
        if (epochs := state.get(EPOCHS_OF_PASS, 1)) != self.epochs_of_pass:
            raise InputError(
                f"--virtual-epoch-updates: the checkpoint has {epochs} epochs in a pass over the data, here"
                f" are {self.epochs_of_pass}; go on with the value of before, or with --reset-dataloader"
            )
        updates = state.get("iterations_in_epoch", 0) // self.steps
        self._continued = state["epoch"], state.get(BATCHES_SEEN, updates * self.batches_per_update)
        super().load_state_dict({**state, "iterations_in_epoch": self._seen_before(state["epoch"])[1]})
