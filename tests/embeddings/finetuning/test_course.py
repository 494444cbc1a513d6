"""The batches of a fine-tuning."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from embeddings.finetuning.course import Course


def course(counts, epochs=3, size=8, seed=1) -> Course:
    groups = [
        ((number, "a"), (number, "b")) if number % 2 else ((number, "a"),) for number in range(len(counts))
    ]
    return Course(groups, np.array(counts), epochs, size, seed)


def batches(of: Course) -> list[list]:
    return [of[number] for number in range(len(of))]


@pytest.mark.parametrize("counts", [[1] * 20, [1, 2] * 15, np.random.default_rng(1).integers(1, 6, 50)])
def test_every_example_is_read_once_in_an_epoch_and_groups_are_not_parted(counts):
    found, begin = course(counts), 0
    for length in found.lengths:
        epoch = batches(found)[begin : begin + length]
        assert Counter(example for batch in epoch for example in batch) == Counter(
            example for group in found.groups for example in group
        )
        for batch in epoch:
            numbers = [number for number, _ in batch]
            assert sum(counts[number] for number in set(numbers)) <= 8
            assert all(Counter(numbers)[number] == len(found.groups[number]) for number in numbers)
        # none is closed before it has to be
        for batch, after in pairwise(epoch):
            assert sum(counts[n] for n in {number for number, _ in batch}) + counts[after[0][0]] > 8
        begin += length
    assert begin == len(found)
    with pytest.raises(IndexError):
        found[begin]


def test_a_group_that_is_larger_than_a_batch_is_one_alone():
    made = batches(course([3, 9, 3, 20, 2], epochs=1))
    alone = [batch for batch in made if batch[0][0] in (1, 3)]
    assert len(alone) == 2 and all(len({number for number, _ in batch}) == 1 for batch in alone)


def test_the_order_is_that_of_the_seed_and_of_the_epoch():
    first, again, other = course([1] * 30), course([1] * 30), course([1] * 30, seed=2)
    assert batches(first) == batches(again)[::1]
    assert [first[n] for n in reversed(range(len(first)))] == batches(again)[::-1]
    assert batches(first) != batches(other)
    length = first.lengths[0]
    assert batches(first)[:length] != batches(first)[length : 2 * length]
