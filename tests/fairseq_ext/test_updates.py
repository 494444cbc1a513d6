"""`fairseq_ext.data.updates`: the batches of an update on any number of processes."""

import json
from itertools import chain

import pytest
import torch
from fairseq.data.iterators import EpochBatchIterator, GroupedIterator

from command_line.errors import InputError
from fairseq_ext.data.updates import UpdateIterator, check_update_freq, shared, steps_of


class Numbers(torch.utils.data.Dataset):
    def __getitem__(self, index: int) -> int:
        return int(index)


def batches_of_three(count: int) -> list[list[int]]:
    return [[3 * number, 3 * number + 1, 3 * number + 2] for number in range(count)]


def fairseqs(processes: int, rank: int, batches: int = 20, **options) -> EpochBatchIterator:
    return EpochBatchIterator(
        Numbers(), list, batches_of_three(batches), seed=5, num_shards=processes, shard_id=rank, **options
    )


def ours(per_update: int, processes: int, rank: int, batches: int = 20, **options) -> UpdateIterator:
    return UpdateIterator(fairseqs(processes, rank, batches, **options), per_update)


def updates_of(iterators: list, freq: int, limit: int | None = None) -> list[list[int]]:
    """The sentences of the updates, sorted, as fairseq takes them from the iterators of all processes."""
    grouped = [GroupedIterator(each.next_epoch_itr(), freq) for each in iterators]
    found = []
    while grouped[0].has_next() and len(found) != limit:
        found.append(sorted(chain.from_iterable(chain.from_iterable(next(each) for each in grouped))))
    return found


def team(per_update: int, processes: int, **options) -> list[UpdateIterator]:
    return [ours(per_update, processes, rank, **options) for rank in range(processes)]


@pytest.mark.parametrize("per_update", [1, 3, 8])
@pytest.mark.parametrize("processes", [1, 2, 3, 4, 5, 8, 12, 16])
def test_updates_have_the_same_sentences_on_any_number_of_processes(per_update, processes):
    alone = updates_of([fairseqs(1, 0)], per_update)  # stock fairseq, one GPU that accumulates
    found = updates_of(team(per_update, processes), steps_of(per_update, processes))
    assert found == alone
    assert sorted(chain(*found)) == list(range(60))


@pytest.mark.parametrize("processes", [2, 4])
def test_without_a_remainder_processes_have_fairseqs_batches(processes):
    for rank in range(processes):
        expected = list(fairseqs(processes, rank, batches=16).next_epoch_itr())
        assert list(ours(8, processes, rank, batches=16).next_epoch_itr()) == expected


@pytest.mark.parametrize(("processes", "update"), [(3, 8), (5, 8), (3, 2), (7, 3), (16, 8), (12, 8), (4, 1)])
def test_nobody_ends_with_an_empty_batch_but_who_has_none(processes, update):
    columns = shared(batches_of_three(update), processes)
    assert len(columns) == processes
    assert {len(column) for column in columns} == {steps_of(update, processes)}
    for column in columns:
        assert column[-1] or not any(column)
    sizes = [len(batch) for batch in chain(*columns) if batch]
    assert max(sizes) - min(sizes) <= 1 if processes > update else set(sizes) == {3}
    assert sum(sizes) == 3 * update


def test_a_batch_of_fewer_sentences_than_processes():
    assert shared([[7, 8]], 4) == [[[7]], [[8]], [[]], [[]]]


@pytest.mark.parametrize(
    ("before", "after"),
    [((8, 1), (8, 2)), ((8, 2), (8, 1)), ((8, 4), (8, 3)), ((1, 1), (1, 4)), ((8, 3), (8, 16))],
)
@pytest.mark.parametrize("epoch", [1, 2])
def test_training_goes_on_with_another_number_of_processes(before, after, epoch):
    """No sentence twice, none left out, and the updates are those of an undisturbed run."""
    (per_update, processes), (_, others) = before, after
    state, found = None, []
    for number, limit in ((processes, 2), (others, 1), (processes, None)):
        iterators = team(per_update, number, batches=40, epoch=epoch)
        for each in iterators if state else []:
            each.load_state_dict(state)
        found += updates_of(iterators, steps_of(per_update, number), limit)
        state = json.loads(json.dumps(iterators[-1].state_dict()))
        assert state["batches_in_epoch"] == (per_update * len(found) if limit else 0)
    assert found == updates_of([fairseqs(1, 0, batches=40, epoch=epoch)], per_update)
    assert state["epoch"] == epoch + 1


def test_another_batch_goes_on_behind_the_sentences_that_were_seen():
    first, second = team(8, 2), team(3, 2)
    found = updates_of(first, 4, limit=1)
    for each in second:
        each.load_state_dict(first[0].state_dict())
    found += updates_of(second, 2)
    assert sorted(chain(*found)) == list(range(60))
    assert [len(update) for update in found] == [24, 9, 9, 9, 9]


def test_a_state_of_fairseq_is_read_for_the_same_number_of_processes():
    stock = [fairseqs(2, rank) for rank in range(2)]
    found = updates_of(stock, 4, limit=1)
    second = team(8, 2)
    for each in second:
        each.load_state_dict(stock[0].state_dict())
    assert found + updates_of(second, 4) == updates_of([fairseqs(1, 0)], 8)


def test_length_is_the_number_of_steps():
    for processes in (1, 3, 16):
        iterator = ours(8, processes, 0)
        assert len(iterator) == len(list(iterator.next_epoch_itr()))


def test_grouped_shuffling_keeps_the_batches_of_an_update_together():
    found = updates_of(team(4, 2, batches=18, grouped_shuffling=True), 2)
    groups = {tuple(range(first, min(first + 12, 54))) for first in range(0, 54, 12)}
    assert {tuple(update) for update in found} == groups
    assert found != updates_of(team(4, 2, batches=18, disable_shuffling=True), 2)


def test_a_wrong_update_freq_is_refused():
    check_update_freq(3, 8, 3)
    with pytest.raises(
        InputError, match="--batches-per-update 8 on 3 processes takes 3; give --update-freq 3"
    ):
        check_update_freq(2, 8, 3)
