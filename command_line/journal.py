"""A journal of finished work, so that a killed command continues: one line per finished batch."""

import fcntl
import json
import os
import sys
import zlib
from pathlib import Path

from command_line.completion import NO_LOCKS
from command_line.errors import InputError, at
from command_line.outputs import write_text

FORMAT = 2  # lines of format 1 had no checksum


class Journal:
    """Entries survive a kill at any moment. A last line that was cut off is dropped; one that has been
    damaged since is, too, and standard error says so.

    While it is open the journal is locked: of two runs that write the same output the second one is refused.
    What is written under a name that both would choose belongs inside the `with`.

    Args:
        path: file of the journal.
        settings: what the work depends on; a journal of other settings is discarded.
        keep: False discards it in any case.
    """

    def __init__(self, path, settings: dict, keep: bool = True):
        self.path = Path(path)
        self.header = _line({"format": FORMAT, "settings": settings})
        self.entries = self._read() if keep else []
        self._stream = None

    def _read(self) -> list:
        if not self.path.is_file():
            return []
        header, *lines = self.path.read_bytes().split(b"\n")
        if header != self.header.encode():
            return []
        entries = []
        for number, line in enumerate(lines[:-1], start=2):  # complete only with its line end
            checksum, _, content = line.partition(b" ")
            if checksum == _checksum(content):
                entries.append(json.loads(content))
            else:
                print(f"{at(self.path, number)}: damaged; what it held is done again", file=sys.stderr)
        return entries

    def __enter__(self) -> "Journal":
        """Open it.

        Raises:
            InputError: another run has it open.
        """
        if self.path.is_file():
            with open(self.path, "rb") as before:
                self._lock(before)
        lines = [self.header, *map(_line, self.entries)]
        write_text(self.path, "".join(f"{line}\n" for line in lines))
        self._stream = open(self.path, "a", encoding="utf-8")
        self._lock(self._stream)
        return self

    def _lock(self, stream) -> None:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return
            if not isinstance(error, BlockingIOError):
                raise
            is_ours = False
        else:  # one that began at the same moment has put its own file in this one's place
            is_ours = self.path.exists() and os.path.samestat(os.fstat(stream.fileno()), os.stat(self.path))
        if not is_ours:
            stream.close()
            raise InputError(f"{self.path}: another run is writing here; wait for its end") from None

    def add(self, entry) -> None:
        self.entries.append(entry)
        self._stream.write(_line(entry) + "\n")
        self._stream.flush()

    def __exit__(self, *exception) -> None:
        self._stream.close()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _line(entry) -> str:
    content = json.dumps(entry, sort_keys=True, default=str)
    return f"{_checksum(content.encode()).decode()} {content}"


def _checksum(content: bytes) -> bytes:
    """CRC-32, hexadecimal; finds any damage of one line, for which it is meant, not an attacker's."""
    return b"%08x" % zlib.crc32(content)
