"""Complete means complete: whether a step has finished, with what, and whether that still holds.

The record of a finished step says what it was asked to do (`settings`), what it read (`inputs`) and what it
wrote (`outputs`). While the step runs, `.NAME.unfinished` stands in its place, and the last thing that a step
does is to rename the one to the other. So a single rename decides, and the step that asks "is it done?" and
whoever asks "may I read this?" look at the same thing.

The mark is locked as long as the step runs. It holds what the last finished run had recorded, however often
the next one is killed, and which files that look like the step's are somebody else's (`foreign`).
"""

import contextlib
import hashlib
import json
import os
import sys
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.locking import take_lock
from command_line.outputs import atomic_path, remove_leftovers
from command_line.records import read_record

FORMAT = 2
WHOLE = 16 << 20  # bytes: files up to this size are compared whole
CHECKPOINT = ".pt"
SAMPLES, SAMPLE = 16, 16 << 10  # of larger ones, so many pieces of so many bytes
_locks: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # of this process's steps, by mark


class StepRecord(TypedDict):
    """What a step was asked to do, read and wrote."""

    format: Literal[FORMAT]
    settings: dict
    inputs: dict[str, dict | None]  # null: there was no such file
    outputs: dict[str, dict]
    foreign: NotRequired[list[str] | None]  # of a mark


def file_identity(path, with_time: bool = False) -> dict:
    """What tells a file from another one of the same name, at a bounded cost.

    Of files up to 16 MiB it is the checksum. Of larger ones it is that of 16 pieces, spread evenly.

    Args:
        with_time: of larger files also the time of the last change, so that small changes are seen.
    """
    size, changed = (status := os.stat(path)).st_size, status.st_mtime_ns
    with open(path, "rb") as stream:
        if size <= WHOLE:
            return {"bytes": size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
        digest = hashlib.sha256()
        for number in range(SAMPLES):
            stream.seek(number * (size - SAMPLE) // (SAMPLES - 1))
            digest.update(stream.read(SAMPLE))
    return {"bytes": size, "sampled_sha256": digest.hexdigest()} | ({"changed": changed} if with_time else {})


def input_identities(paths: Iterable) -> dict[str, dict]:
    """The identities of files that are read, by path."""
    return {str(path): file_identity(path, with_time=True) for path in paths}


class Stamp:
    """The record that a step has finished, and of what it was asked to do.

    A step runs when it is forced, when it never finished, when it finished with other settings or inputs,
    and when what it wrote is gone or has changed since. Otherwise it skips and says so.

    Args:
        path: of the record; what the step writes lies in its folder or below.
        name: of the step, for messages and the mark of an unfinished one.
        settings: whatever determines the output besides the files that are read.

    Attributes:
        inputs: name -> identity of what is read; may be set later by a step that finds its inputs itself.
    """

    def __init__(self, path, name: str, settings: dict, inputs: Iterable = ()):
        self.path, self.name = Path(path), name
        self.folder = self.path.parent
        self.settings = json.loads(json.dumps(settings, default=str))  # what comes back from the file
        self.inputs = input_identities(inputs)
        self._unfinished = unfinished_mark(self.folder, name)
        self._reason: str | None = None
        self._lock = None

    @classmethod
    def of_checkpoint(cls, output, name: str, settings: dict, inputs: Iterable = ()) -> "Stamp":
        """The record of a step that writes one checkpoint, FILE.pt: FILE.json beside it; a folder may hold
        several.

        Raises:
            InputError: the name ends otherwise, so that another output would have the same record; or there
                is a file that the step did not write.
        """
        output = Path(output)
        if output.suffix != CHECKPOINT:
            raise InputError(
                f"--output {output}: found no {CHECKPOINT} at its end, expected FILE{CHECKPOINT}"
            )
        stamp = cls(output.with_suffix(".json"), f"{name}-{output.stem}", settings, inputs)
        if output.exists() and not stamp.was_begun():
            raise InputError(f"--output {output}: exists and is not from `{name}`; choose another name")
        if stamp.path.exists() and not (output.exists() or stamp.recorded() or stamp.was_interrupted()):
            raise InputError(
                f"--output {output}: its record would be {stamp.path}, which exists and is not from `{name}`;"
                " choose another name"
            )
        return stamp

    @property
    def _busy(self) -> str:
        return f"{self.folder}: `{self.name}` is running here in another process; wait for its end"

    @property
    def work(self) -> dict:
        """What is being done; half-finished work is continued only where this is the same."""
        return {"settings": self.settings, "inputs": self.inputs}

    def was_begun(self) -> bool:
        """Whether the step has ever written here. A file of the record's name may be somebody else's."""
        return self.was_interrupted() or bool(_read_whole(self.path))

    def was_interrupted(self) -> bool:
        """Whether it began and has not come to its end."""
        return self._unfinished.exists()

    def recorded(self) -> dict:
        """The record of the last run, with all its fields; empty when there is none."""
        return {} if self._unfinished.exists() else _read_whole(self.path)

    def check_free(self) -> None:
        """Nothing is changed.

        Raises:
            InputError: another process is doing it.
        """
        self._end_earlier()
        with contextlib.suppress(FileNotFoundError):
            take_lock(self._unfinished, self._busy, makes=False).close()

    def is_current(self, force: bool = False) -> bool:
        """Whether the step can be skipped; says so. Otherwise `begin` says why it is done again."""
        if force or not self.path.exists() or self._unfinished.exists():
            return False
        self._reason = self._find_reason()
        if self._reason is None:
            print(f"{self.folder}: complete, skipped (--force redoes it)", file=sys.stderr)
        return self._reason is None

    def _find_reason(self) -> str | None:
        """Why the step has to run again."""
        record = self.recorded()
        if not record:
            return f"{self.path.name} is broken"
        changed = _difference(record["settings"], self.settings)
        if changed is not None:
            return f"was made with another {changed}"
        changed = _difference(record["inputs"], self.inputs)
        if changed is not None:
            return f"was made from another {changed}"
        return _broken_output(self.folder, record)

    def begin(self, find: Callable[[], Iterable[Path]] = tuple) -> set[Path]:
        """From here on the output is being rewritten: forget an earlier completion, and what a killed run
        left. Until the step has finished or ended, no other process can begin it.

        Args:
            find: finds the files that look as if the step had written them.

        Returns:
            those of them that it did not write, as far as it is known: of a first run there is no list.

        Raises:
            InputError: another process is doing it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        if self._reason:
            print(f"{self.folder}: {self._reason}; `{self.name}` is done again", file=sys.stderr)
        before = _read_whole(self._unfinished) or _read_whole(self.path)
        foreign = self._foreign(before, find())
        if self.path.exists():
            names = sorted(str(path.relative_to(self.folder)) for path in foreign)
            self._write_mark(before | {"foreign": names})
            self.path.unlink()
        remove_leftovers(self.folder)
        return foreign

    def _foreign(self, before: dict, paths: Iterable[Path]) -> set[Path]:
        """The files of others. When the record becomes the mark, they are what it does not list; later
        nobody could tell them from what the killed run wrote.
        """
        names = {str(path.relative_to(self.folder)): path for path in paths}
        if (foreign := before.get("foreign")) is not None:
            return {path for name, path in names.items() if name in foreign}
        if before and self.path.exists():
            return {path for name, path in names.items() if name not in before["outputs"]}
        return set()

    def _take_lock(self) -> None:
        """Lock the mark for this process."""
        self._end_earlier()
        self._lock = _locks[os.path.realpath(self._unfinished)] = take_lock(self._unfinished, self._busy)

    def _end_earlier(self) -> None:
        """What the same process began before has ended with an error."""
        if earlier := _locks.pop(os.path.realpath(self._unfinished), None):
            earlier.close()

    def _write_mark(self, content: dict) -> None:
        """Another mark in the place of the locked one; it is locked before it gets there."""
        with atomic_path(self._unfinished) as temporary:
            text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
            temporary.write_text(f"{text}\n", encoding="utf-8")
            lock = take_lock(temporary, f"{temporary}: another process writes here; wait for its end")
        if self._lock:
            self._lock.close()
        self._lock = _locks[os.path.realpath(self._unfinished)] = lock

    def finish(self, outputs: Iterable[Path]) -> None:
        """Everything has been written: from here on the folder can be read. What only an earlier run wrote
        is removed.
        """
        written = sorted(str(Path(path).relative_to(self.folder)) for path in outputs)
        for name in _read_whole(self._unfinished).get("outputs", {}):
            old = self.folder / name
            if name not in written and old.parent.resolve().is_relative_to(self.folder.resolve()):
                old.unlink(missing_ok=True)  # a record of somebody else's may name files that are not below
        record = {
            "format": FORMAT,
            "settings": self.settings,
            "inputs": self.inputs,
            "outputs": {name: file_identity(self.folder / name) for name in written},
        }
        self._write_mark(record)
        os.replace(self._unfinished, self.path)
        self._lock.close()


def _read_whole(path: Path) -> dict:
    """A record; empty if it is none."""
    try:
        return read_record(path, StepRecord)
    except InputError:
        return {}


def _broken_output(folder: Path, record: dict) -> str | None:
    """What is not as a finished step wrote it."""
    for name, written in record["outputs"].items():
        if not (folder / name).is_file():
            return f"{name} is gone"
        if file_identity(folder / name) != written:
            return f"{name} has changed since"
    return None


def _difference(first: dict, second: dict) -> str | None:
    """The name of a field that is not the same in both."""
    return next((name for name in first | second if first.get(name) != second.get(name)), None)


def unfinished_mark(folder: Path, name: str) -> Path:
    """The file that stands in a folder while a step writes there."""
    return folder / f".{name}.unfinished"


def check_finished(folder, *steps: str) -> None:
    """Whoever reads a folder that a step writes asks this first.

    Args:
        steps: those that write what is read; every step by default.

    Raises:
        InputError: one of them began to write there and did not come to its end.
    """
    folder = Path(folder)
    anyone = unfinished_mark(folder, "*").name
    marks = [unfinished_mark(folder, step) for step in steps] if steps else sorted(folder.glob(anyone))
    for mark in marks:
        if mark.exists():
            step = mark.name.removeprefix(".").removesuffix(".unfinished")
            raise InputError(f"{folder}: `{step}` did not finish here; run it again")


def check_unchanged(folder, name: str) -> None:
    """Whoever reads a folder that is copied and passed on asks this first: all that a finished step wrote is
    there, as it wrote it.

    Raises:
        InputError: names the first file that is gone or another.
    """
    folder = Path(folder)
    record = _read_whole(folder / f"{name}.json")
    for output in record.get("outputs", {}):
        if not (folder / output).resolve().is_relative_to(folder.resolve()):
            raise InputError(
                f"{folder / name}.json: field outputs is {output!r:.80}; expected files below it"
            )
    broken = _broken_output(folder, record) if record else None
    if broken:
        raise InputError(
            f"{folder}: {broken}; expected all files as `{name}` wrote them, copy the folder again"
        )


def read_settings(folder, name: str) -> dict | None:
    """The settings of a step that wrote `folder`; None when it did not.

    Raises:
        InputError: the step was interrupted, or its record is broken.
    """
    check_finished(folder, name)
    path = Path(folder) / f"{name}.json"
    if not os.path.lexists(path):
        return None
    try:
        return read_record(path, StepRecord)["settings"]
    except InputError as error:
        raise InputError(f"{error}; run `{name}` again") from None
