"""A journal of finished work, so that a killed command continues: one JSON line per finished batch."""

import json
import os
from pathlib import Path

from command_line.errors import at
from command_line.records import check, parse_json

ENTRY = {"stage": str, "examples": [int], "tokens": [[int]]}


class Journal:
    """Entries survive a kill at any moment; a last line that was cut off is dropped.

    Args:
        path: file of the journal.
        settings: what the work depends on; a journal of other settings is discarded.
    """

    def __init__(self, path, settings: dict):
        self.path = Path(path)
        self.header = json.dumps(settings, sort_keys=True, default=str)
        self.entries = self._read()
        self._stream = None

    def _read(self) -> list:
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")[:-1]  # the last line is complete only with its line end
        if not lines or lines[0].decode("utf-8", "replace") != self.header:
            return []
        entries = [parse_json(line, self.path, number) for number, line in enumerate(lines[1:], start=2)]
        for number, entry in enumerate(entries, start=2):
            check(entry, ENTRY, at(self.path, number))
        return entries

    def __enter__(self) -> "Journal":
        temporary = self.path.with_name(self.path.name + ".new")
        whole = [self.header, *(json.dumps(entry) for entry in self.entries)]
        temporary.write_text("".join(f"{line}\n" for line in whole), encoding="utf-8")
        os.replace(temporary, self.path)
        self._stream = open(self.path, "a", encoding="utf-8")
        return self

    def add(self, entry) -> None:
        self.entries.append(entry)
        self._stream.write(json.dumps(entry) + "\n")
        self._stream.flush()

    def __exit__(self, *exception) -> None:
        self._stream.close()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
