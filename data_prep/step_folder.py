"""The folder that a step writes: knows when it is complete, and never mixes files of two runs.

`NAME.json` in the folder is the record of what the step was asked to do, read and wrote; it appears last.
While the step runs there is `.NAME.unfinished` instead (`command_line.completion`).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from command_line import records
from command_line.completion import Stamp, read_settings
from command_line.errors import InputError
from command_line.outputs import remove_leftovers

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
    """Settings of the steps whose records others read."""


SETTINGS = {"low-resource": LowResourceSettings, "subword": SubwordSettings, "tokenize": TokenizeSettings}


class StepFolder:
    """The folder that a step writes.

    Args:
        settings: everything that the output depends on besides the files that are read.
        inputs: folders that are read, and so must be others.
    """

    def __init__(
        self, folder: Path, name: str, settings: dict, reads: Iterable[Path] = (), inputs: Iterable[Path] = ()
    ):
        self.folder, self._inputs = Path(folder), {Path(other).resolve() for other in inputs}
        if self.folder.resolve() in self._inputs:
            raise InputError(f"--output {folder}: is the input folder, expected another one")
        self.stamp = Stamp(self.folder / f"{name}.json", name, settings, reads)

    def is_complete(self, force: bool = False) -> bool:
        """Whether the step has been done with these settings; says so on standard error."""
        return self.stamp.is_current(force)

    @contextmanager
    def writing(self, writes: Callable[[Path], bool], subfolder: str = "") -> Iterator[None]:
        """Within, the step writes its files; behind it, the folder can be read.

        What an earlier run of this step left here is removed before. What it did not write stays, as far as
        it is known: a first run that was killed has no list.

        Args:
            writes: predicate of a path: does this step write files of that name?
            subfolder: where it writes besides the folder itself.

        Raises:
            InputError: there are such files, and they are not this step's; or it would write into a folder
                that it reads; or another process does it.
        """
        places = {self.folder, self.folder / subfolder}
        if read := [place for place in places if place.resolve() in self._inputs]:
            raise InputError(
                f"--output {self.folder}: would write into {read[0]}, which it reads; expected another one"
            )
        find = partial(_files, places, writes)
        if (old := find()) and not self.stamp.was_begun():
            raise InputError(f"{min(old)}: exists and is not from this step; choose an empty output folder")
        foreign = self.stamp.begin(find)
        for place in places:
            remove_leftovers(place)
        for path in find():
            if path not in foreign:
                path.unlink()
        yield
        self.stamp.finish(path for path in find() if path not in foreign)


def _files(places: Iterable[Path], writes: Callable[[Path], bool]) -> list[Path]:
    """The files of a step that are there."""
    return [
        path
        for place in places
        if place.is_dir()
        for path in place.iterdir()
        if path.is_file() and not path.name.startswith(".") and writes(path)
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
