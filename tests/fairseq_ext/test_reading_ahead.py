"""Threads that read batches ahead end before the process does."""

import threading
import time

import pytest
from fairseq.data.iterators import BackgroundConsumer, BufferedIterator

from fairseq_ext.data.reading_ahead import stop_reading_ahead


class Batches:
    def __init__(self, count: int):
        self.made, self.count = 0, count

    def __len__(self):
        return self.count

    def __iter__(self):
        for _ in range(self.count):
            time.sleep(0.01)
            self.made += 1
            yield self.made


def readers() -> list:
    return [thread for thread in threading.enumerate() if isinstance(thread, BackgroundConsumer)]


@pytest.mark.parametrize("wait", [0, 0.3], ids=["while it makes batches", "while it waits for a place"])
def test_readers_end_after_the_batch_that_they_make(wait):
    batches = Batches(100_000)
    iterator = BufferedIterator(5, batches)
    assert next(iterator) == 1
    time.sleep(wait)
    assert readers()
    stop_reading_ahead()
    assert not readers()
    assert batches.made < 100


def test_without_a_reader_there_is_nothing_to_do():
    stop_reading_ahead()
    assert not readers()
