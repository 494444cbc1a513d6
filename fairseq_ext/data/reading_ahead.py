"""The threads of fairseq that read batches ahead of a training."""

import atexit
import contextlib
import queue
import threading

from fairseq.data.iterators import BackgroundConsumer


def end_readers_with_the_process() -> None:
    """Whenever this process ends, its readers end first.

    They are daemons: if the interpreter shut down while one makes or frees a tensor, the C++ runtime would
    abort a training that is done ("terminate called without an active exception", status 134).
    """
    atexit.register(stop_reading_ahead)


def stop_reading_ahead() -> None:
    """End these threads, each after the batch that it is making."""
    for thread in threading.enumerate():
        if isinstance(thread, BackgroundConsumer):
            thread._max_len = 0
            while thread.is_alive():
                with contextlib.suppress(queue.Empty):  # it may wait for a place in a full queue
                    thread._queue.get(timeout=0.05)
