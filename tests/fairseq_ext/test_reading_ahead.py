"""Threads that read batches ahead end before the process does."""

import subprocess
import sys
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


AT_WORK = """
import atexit, threading
atexit.register(lambda: print(threading.active_count()))  # before ours, so it is called after it
import fairseq_ext, torch
from fairseq.data.iterators import BufferedIterator

class Batches:
    def __len__(self):
        return 1000

    def __iter__(self):
        matrix = torch.rand(300, 300)
        while True:  # the thread is inside torch nearly always
            yield [matrix @ matrix for _ in range(30)]

next(BufferedIterator(3, Batches()))
"""


@pytest.mark.slow
def test_a_process_ends_well_while_a_reader_is_at_work():
    done = subprocess.run([sys.executable, "-c", AT_WORK], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
