"""A journal of finished work, so that a killed command continues: one line per finished batch."""

import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import at
from command_line.locking import take_lock
from command_line.outputs import atomic_path
from command_line.step import Step

FORMAT = 2


class Journal:
    """Entries survive a kill at any moment. A last line that was cut off is dropped; one that has been
    damaged since is, too, and standard error says so.

    While it is open the journal is locked: of two runs that write the same output the second one is refused.
    What is written under a name that both would choose belongs inside the `with`.

    Args:
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
        busy = f"{self.path}: another run is writing here; wait for its end"
        lines = [self.header, *map(_line, self.entries)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with take_lock(self.path, busy), atomic_path(self.path) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            self._stream = take_lock(temporary, busy)  # before it comes into the other one's place
        return self

    def add(self, entry) -> None:
        self.entries.append(entry)
        self._stream.write(f"{_line(entry)}\n".encode())
        self._stream.flush()

    def __exit__(self, *exception) -> None:
        self._stream.close()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class JournaledStep(Step):
    """A step whose half, done by a run that was killed, is in a journal. The work is given the journal.

    Args:
        journal: its file (default: `.journal.jsonl` in the folder of the stamp).
    """

    def __init__(self, stamp: Stamp, force: bool, journal: Path | None = None):
        super().__init__(stamp, force)
        self._path = journal or stamp.folder / ".journal.jsonl"

    def run(self, work: Callable[[Journal], Iterable[Path]]) -> Iterable[Path]:
        with self.journal() as journal:
            return work(journal)

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        """Begin, or go on. What may still be refused is read before: what is complete becomes unfinished.

        Raises:
            InputError: another process is doing the same.
        """
        self.stamp.begin()
        with Journal(self._path, self.stamp.work, keep=not self.force) as journal:
            yield journal

    def finish(self, written: Iterable[Path]) -> None:
        self._path.unlink(missing_ok=True)
        super().finish(written)


def _line(entry) -> str:
    content = json.dumps(entry, sort_keys=True, default=str)
    return f"{_checksum(content.encode()).decode()} {content}"


def _checksum(content: bytes) -> bytes:
    """CRC-32, hexadecimal; finds any damage of one line, for which it is meant, not an attacker's."""
    return b"%08x" % zlib.crc32(content)
