"""`--virtual-epoch-updates`: the epochs of a pass are together the epoch that it is without them."""

from itertools import chain

import pytest

from command_line.errors import InputError
from fairseq_ext.data.updates import UpdateIterator
from tests.fairseq_ext.folders import write_toy_folder
from tests.fairseq_ext.test_augmentation import same, task_of, write_folder
from tests.fairseq_ext.test_multilingual_nmt import make_task, refused
from tests.fairseq_ext.test_updates import fairseqs, updates_of


def virtual(epoch: int, epochs_of_pass: int, per_update: int = 2, processes: int = 1, rank: int = 0):
    """The iterator of an epoch; the order of a pass depends on its number."""
    number = (epoch - 1) // epochs_of_pass + 1
    plain = fairseqs(processes, rank, batches=21, epoch=number)
    return UpdateIterator(plain, per_update, epoch, epochs_of_pass)


@pytest.mark.parametrize("epochs_of_pass", [1, 2, 4, 11])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_epochs_of_a_pass_are_its_updates_one_after_the_other(epochs_of_pass, number):
    """Compared with fairseq's own iterator over the whole pass."""
    whole = updates_of([UpdateIterator(fairseqs(1, 0, batches=21, epoch=number), 2)], 2)
    first = (number - 1) * epochs_of_pass + 1
    pieces = [
        updates_of([virtual(epoch, epochs_of_pass)], 2) for epoch in range(first, first + epochs_of_pass)
    ]
    assert list(chain(*pieces)) == whole
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1
    for epoch, piece in enumerate(pieces, start=first):
        assert len(virtual(epoch, epochs_of_pass)) == sum(min(2, len(update) // 3) for update in piece)


def test_on_several_processes_and_from_any_place():
    expected = updates_of([virtual(7, 3)], 2)
    assert updates_of([virtual(7, 3, processes=2, rank=rank) for rank in (0, 1)], 1) == expected
    begun = virtual(7, 3)
    assert updates_of([begun], 2, limit=2) == expected[:2]
    again = virtual(7, 3)
    again.load_state_dict(begun.state_dict())
    assert updates_of([again], 2) == expected[2:]
    other = [virtual(7, 3, processes=2, rank=rank) for rank in (0, 1)]
    for each in other:
        each.load_state_dict(begun.state_dict())
    assert updates_of(other, 1) == expected[2:]


def test_the_state_at_the_end_is_that_of_the_next_epoch():
    iterator = virtual(3, 3)
    list(iterator.next_epoch_itr())
    assert iterator.end_of_epoch()
    state = iterator.state_dict()
    assert (state["epoch"], state["iterations_in_epoch"]) == (4, 0)


def test_another_division_is_refused():
    begun = virtual(7, 3)
    updates_of([begun], 2, limit=1)
    with pytest.raises(InputError, match=r"checkpoint has 3 epochs in a pass over the data, here are 4"):
        virtual(7, 4).load_state_dict(begun.state_dict())
    stock = {name: value for name, value in begun.state_dict().items() if name != "epochs_of_pass"}
    with pytest.raises(InputError, match=r"checkpoint has 1 epochs in a pass over the data, here are 3"):
        virtual(7, 3).load_state_dict(stock)


# --- a task


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("bpe") / "data")


def batches(task, epoch: int, skip: int = 0, seed: int = 1) -> list[dict]:
    task.load_dataset("train", epoch=epoch)
    iterator = task.get_batch_iterator(task.dataset("train"), max_tokens=24, seed=seed, epoch=epoch)
    if skip:
        state = {"epoch": epoch, "iterations_in_epoch": skip, "shuffle": True}
        iterator.load_state_dict({**state, "epochs_of_pass": task.epochs_of_pass or 1})
    return list(iterator.next_epoch_itr(shuffle=True))


OPTIONS = {"subword_dropout": 0.4, "sampling_temperature": 2.0}  # what is drawn anew in every pass


def test_a_pass_has_the_sentences_of_an_epoch_as_that_epoch_draws_them(folder):
    whole = {number: batches(task_of(folder, **OPTIONS), number) for number in (1, 2)}
    task = task_of(folder, virtual_epoch_updates=3, **OPTIONS)
    pieces = [batches(task, 1)]
    count = task.epochs_of_pass
    assert count == -(-len(whole[1]) // 3) > 2
    pieces += [batches(task, epoch) for epoch in range(2, 2 * count + 1)]
    assert max(len(piece) for piece in pieces[:count]) <= 3
    assert same(list(chain(*pieces[:count])), whole[1])
    assert same(list(chain(*pieces[count:])), whole[2])
    assert not same(whole[1], whole[2])


def test_a_pass_has_one_order_also_where_fairseq_changes_the_seed_with_the_epoch(folder):
    """--update-ordered-indices-seed: its trainer then gives the sum of seed and epoch."""
    whole = {number: batches(task_of(folder, **OPTIONS), number, seed=1 + number) for number in (1, 2)}
    task = task_of(folder, virtual_epoch_updates=3, **OPTIONS)
    pieces = [batches(task, 1, seed=2)]
    count = task.epochs_of_pass
    pieces += [batches(task, epoch, seed=1 + epoch) for epoch in range(2, 2 * count + 1)]
    assert same(list(chain(*pieces[:count])), whole[1])
    assert same(list(chain(*pieces[count:])), whole[2])


def test_a_training_that_goes_on_reads_what_it_would_have_read(folder):
    """In a new process, in the middle of a virtual epoch of the second pass."""
    task = task_of(folder, virtual_epoch_updates=3, **OPTIONS)
    batches(task, 1)
    epoch = task.epochs_of_pass + 2
    expected = batches(task, epoch)
    assert len(expected) > 1
    assert same(batches(task_of(folder, virtual_epoch_updates=3, **OPTIONS), epoch), expected)
    assert same(batches(task_of(folder, virtual_epoch_updates=3, **OPTIONS), epoch, skip=1), expected[1:])


def test_more_updates_than_a_pass_has_are_a_pass(folder):
    task, plain = task_of(folder, virtual_epoch_updates=10**6), task_of(folder)
    assert same(batches(task, 2), batches(plain, 2))
    assert task.epochs_of_pass == 1


def test_nonsense_is_one_line(tmp_path):
    data = write_toy_folder(tmp_path / "data")
    for given in (0, -3):
        message = refused(make_task, data, virtual_epoch_updates=given)
        assert message == f"--virtual-epoch-updates {given}: expected a whole number >= 1"
    message = refused(make_task, f"{data}:{data}", virtual_epoch_updates=5)
    assert message.startswith("--virtual-epoch-updates 5: several folders are an epoch each already")
