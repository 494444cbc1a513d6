"""A step of a command: whether it is done, begun, or of others is decided here, around the work itself."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from command_line.completion import Stamp


class Step:
    """A step that is complete or new. Subclasses also go on with one that was killed.

    Args:
        stamp: what is done, and its record.
        force: forget what is done or was begun.
    """

    def __init__(self, stamp: Stamp, force: bool):
        self.stamp, self.force = stamp, force

    def do(self, prepare: Callable[[], Callable]) -> bool:
        """Do it, unless it is complete; then standard error says so. Returns whether it was done now.

        Args:
            prepare: reads the inputs, refuses what is wrong, and changes nothing: until it returns, what an
                earlier run has made stays complete. It returns the work, which writes the output.
        """
        if self.is_complete():
            return False
        self.finish(self.run(prepare()))
        return True

    def is_complete(self) -> bool:
        return self.stamp.is_current(self.force)

    def run(self, work: Callable[[], Iterable[Path]]) -> Iterable[Path]:
        """Begin and do the work; returns the files that it wrote.

        Raises:
            InputError: another process is doing the same.
        """
        self.stamp.begin()
        return work()

    def finish(self, written: Any) -> None:
        """Everything has been written."""
        self.stamp.finish(written)
