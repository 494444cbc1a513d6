"""The folder that a step writes: knows when it is complete, and never mixes files of two runs.

`NAME.json` in the folder is the record of what the step was asked to do, read and wrote; it appears last.
While the step runs there is `.NAME.unfinished` instead (`command_line.completion`).
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NotRequired, TypeVar

from typing_extensions import TypedDict

from command_line import records
from command_line.completion import Stamp, read_settings
from command_line.errors import InputError
from command_line.outputs import remove_leftovers

Result = TypeVar("Result")
NORMALIZING = ("clean", "phrasebook")  # steps whose text is as `normalization.normalize` leaves it
PASSING_ON = ("low-resource", "tokenize")  # steps that record whether their text was
CORPORA = ("phrasebook", "download")  # steps that make the text of a corpus


class SubwordModel(TypedDict):
    """How text was split into subwords."""

    type: Literal["subword-nmt", "sentencepiece", "transformers", "none"]
    model: str | None
    normalization: NotRequired[str | None]  # the rule of a sentencepiece model that was learned here


class LowResourceSettings(TypedDict):
    normalized: bool


class TokenizeSettings(LowResourceSettings):
    tokenizers: dict[str, str]


class SubwordSettings(SubwordModel, TokenizeSettings):
    """Of the steps whose records others read."""


SETTINGS = {"low-resource": LowResourceSettings, "subword": SubwordSettings, "tokenize": TokenizeSettings}


class StepFolder:
    """The folder that a step writes.

    Args:
        settings: everything that the output depends on besides the files that are read.
        reads: these files.
        inputs: folders that are read, and so must be others.
    """

    def __init__(
        self, folder: Path, name: str, settings: dict, reads: Iterable[Path] = (), inputs: Iterable[Path] = ()
    ):
        self.folder, self._inputs = Path(folder), {Path(other).resolve() for other in inputs}
        self._foreign: set[Path] = set()
        if self.folder.resolve() in self._inputs:
            raise InputError(f"--output {folder}: is the input folder, expected another one")
        self.stamp = Stamp(self.folder / f"{name}.json", name, settings, reads)

    def do(self, force: bool, writes: Callable[[Path], bool], work: Callable[[], Result]) -> Result | None:
        """Do the step, unless it has been done: then None.

        Args:
            writes: as of `begin`.
            work: writes the files; what it returns is returned.
        """
        if self.is_complete(force):
            return None
        self.begin(writes)
        result = work()
        self.finish()
        return result

    def is_complete(self, force: bool = False) -> bool:
        """Whether the step has been done with these settings; says so on standard error."""
        return self.stamp.is_current(force)

    def begin(self, writes: Callable[[Path], bool], subfolder: str = "") -> None:
        """Make room: remove what an earlier run of this step left here. What it did not write stays, as far
        as it is known: a first run that was killed has no list.

        Args:
            writes: predicate of a path: does this step write files of that name?
            subfolder: where it writes besides the folder itself.

        Raises:
            InputError: there are such files, and they are not this step's; or it would write into a folder
                that it reads; or another process does it.
        """
        self._writes, self._places = writes, {self.folder, self.folder / subfolder}
        if read := [place for place in self._places if place.resolve() in self._inputs]:
            raise InputError(
                f"--output {self.folder}: would write into {read[0]}, which it reads; expected another one"
            )
        if (old := self._files()) and not self.stamp.was_begun():
            raise InputError(f"{min(old)}: exists and is not from this step; choose an empty output folder")
        self._foreign = self.stamp.begin(self._files)
        for place in self._places:
            remove_leftovers(place)
        for path in self._files():
            if path not in self._foreign:
                path.unlink()

    def finish(self) -> None:
        """Everything has been written: from here on the folder can be read."""
        self.stamp.finish(path for path in self._files() if path not in self._foreign)

    def _files(self) -> list[Path]:
        """The files of this step that are there."""
        return [
            path
            for place in self._places
            if place.is_dir()
            for path in place.iterdir()
            if path.is_file() and not path.name.startswith(".") and self._writes(path)
        ]


def read_record(folder: Path, name: str) -> dict | None:
    """The settings of a step that wrote `folder`; None when it did not."""
    settings = read_settings(folder, name)
    if settings is not None:
        records.check(settings, SETTINGS[name], Path(folder) / f"{name}.json")
    return settings


def corpus_of(folder: Path) -> str | None:
    """The corpus that the text of a folder was made from, as the records of the steps say; None of others,
    and where a step on the way is not complete any more.
    """
    followed: set[Path] = set()
    while folder not in followed:  # text that took the place of its input leads to itself
        followed.add(folder)
        for step in (*CORPORA, "clean", *PASSING_ON):
            if record := Stamp(folder / f"{step}.json", step, {}).recorded():
                if step in CORPORA:
                    return record["settings"].get("name", step)
                folder = Path(next(iter(record["inputs"]), folder / step)).parent
                break
    return None


def is_normalized(folder: Path) -> bool:
    """Whether the text of a folder was normalized before any other step."""
    if any(read_settings(folder, step) is not None for step in NORMALIZING):
        return True
    records = (read_record(folder, step) for step in PASSING_ON)
    return any(record["normalized"] for record in records if record is not None)
