"""The streams of a command: UTF-8 whatever the locale says, and without what a terminal would execute.

Names and sentences come from anybody. An escape sequence in one of them could rewrite what a terminal shows;
its first character is printed as `\\x1b` here.
"""

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Iterator

_CONTROLS = {  # but for tabs and line ends: C0, DEL and C1
    number: f"\\x{number:02x}" for number in (*range(0x20), *range(0x7F, 0xA0)) if chr(number) not in "\t\n\r"
}


def visible(text: str) -> str:
    """A text whose control characters, but for tabs and line ends, are written out."""
    return text.translate(_CONTROLS)


class _Visible:
    """A text stream that writes what is visible."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(visible(text))
        return len(text)

    def __getattr__(self, name: str):
        return getattr(self._stream, name)


def speak_utf8() -> None:
    """Text is UTF-8, in streams as in files: a translation has other letters than those of the locale."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def reopen_closed() -> None:
    """Where a stream was closed (`2>&-`) the next file that is opened would have its number, and get what
    libraries write to it. What goes to a closed standard error goes nowhere.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)


@contextlib.contextmanager
def showing_controls() -> Iterator[None]:
    """Within, standard output and standard error write what is visible."""
    with contextlib.ExitStack() as stack:
        if sys.stdout is not None:
            stack.enter_context(contextlib.redirect_stdout(_Visible(sys.stdout)))
        stack.enter_context(contextlib.redirect_stderr(_Visible(sys.stderr)))
        yield
