"""The folder that a step writes: knows when it is complete, and never mixes files of two runs.

`NAME.json` in the folder, written last, is the record of what the step was asked to do and what it found out.
While the step runs there is `.NAME.unfinished` instead.
"""

import os
import shutil
from pathlib import Path

from command_line import records
from command_line.errors import InputError
from command_line.outputs import Stamp, write_text
from command_line.records import AnyOf, Objects, OneOf

SUBWORD = {
    "type": OneOf("subword-nmt", "sentencepiece", "none"),
    "model": AnyOf(OneOf(None), str),
}
SCHEMAS = {  # of the records that other steps read
    "subword": {**SUBWORD, "tokenizers": Objects(str)},
    "tokenize": {"tokenizers": Objects(str)},
}


class StepFolder:
    """
    Args:
        folder: the output.
        name: the step.
        settings: everything that the output depends on.
        inputs: folders that are read, and so must be others.

    Raises:
        InputError: the output is one of the inputs.
    """

    def __init__(self, folder: Path, name: str, settings: dict, inputs: tuple[Path, ...] = ()):
        self.folder = Path(folder)
        for other in inputs:
            if Path(other).resolve() == self.folder.resolve():
                raise InputError(f"--output {folder}: is the input folder, expected another one")
        self._stamp = Stamp(self.folder / f"{name}.json", settings)
        self._unfinished = self.folder / f".{name}.unfinished"

    def is_complete(self, force: bool = False) -> bool:
        """Whether the step has been done with these settings; says so on standard error."""
        return self._stamp.is_current(force)

    def begin(self, writes, subfolder: str = "") -> None:
        """Make room: remove what an earlier run of this step left here.

        Args:
            writes: predicate of a path: does this step write files of that name?
            subfolder: where it writes besides the folder itself.

        Raises:
            InputError: there are such files, and they are not this step's.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        places = {self.folder, self.folder / subfolder}
        old = [
            path
            for place in places
            if place.is_dir()
            for path in place.iterdir()
            if path.is_file() and writes(path)
        ]
        if old and not (self._stamp.path.exists() or self._unfinished.exists()):
            raise InputError(f"{min(old)}: exists and is not from this step; choose an empty output folder")
        for leftover in self.folder.glob(".partial-*"):  # of a run that was killed
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        write_text(self._unfinished, "")
        self._stamp.begin()
        for path in old:
            path.unlink()

    def finish(self) -> None:
        self._stamp.finish()
        self._unfinished.unlink()


def read_record(folder: Path, name: str) -> dict | None:
    """The record of a step that wrote `folder`; None when it did not.

    Raises:
        InputError: the step was interrupted, or its record is broken.
    """
    folder = Path(folder)
    if (folder / f".{name}.unfinished").exists():
        raise InputError(f"{folder}: `{name}` did not finish here; run it again")
    path = folder / f"{name}.json"
    return records.read_record(path, SCHEMAS[name]) if os.path.lexists(path) else None
