"""Ctrl-C and SIGTERM end a command in order: contexts are left, children end, one line is said."""

import contextlib
import signal
from collections.abc import Iterator

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(KeyboardInterrupt):
    """Somebody asked the command to end. Libraries treat it as the KeyboardInterrupt that it is."""

    def __init__(self, number: int):
        super().__init__(_WORDS[number])
        self.status = 128 + number


def _stop(number: int, frame) -> None:
    signal.signal(number, signal.SIG_DFL)  # the second time ends this process at once, and so its children
    raise Stopped(number)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Within, SIGINT and SIGTERM raise `Stopped`, unless whoever started the command has them ignored."""
    handlers = {number: signal.getsignal(number) for number in _WORDS}
    try:
        for number, handler in handlers.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, _stop)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
