"""The threads of fairseq that read batches ahead of a training."""

import contextlib
import queue
import threading

from fairseq.data.iterators import BackgroundConsumer


def stop_reading_ahead() -> None:
    """End these threads, each after the batch that it is making.

    They are daemons: if the process ended while one is inside a tensor operation, the C++ runtime would abort
    it ("terminate called without an active exception").
    """
    for thread in threading.enumerate():
        if isinstance(thread, BackgroundConsumer):
            thread._max_len = 0
            while thread.is_alive():
                with contextlib.suppress(queue.Empty):  # it may wait for a place in a full queue
                    thread._queue.get(timeout=0.05)
