"""The folder of instructions: `SPLIT.TASK.A-B.jsonl`, an instruction per line, and `instruct.json`.

A line has the fields "direction" (`en-de`, from English to German), "input" and "output". The same files are
read by other programs that take JSON lines. `instruct.json` is the record of the step and comes last;
`instructions.json` says how many there are.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import TypedDict

from command_line.completion import check_finished, check_unchanged
from command_line.errors import InputError
from command_line.names_in_records import path_inside, plain_name
from command_line.outputs import write_json
from command_line.records import read_record
from data_prep.formats.texts import TRAIN
from llm.instructions.tasks import Instruction

STEP = "instruct"
INDEX = "instructions.json"
FORMAT = 1


class InstructionFile(TypedDict):
    split: str
    task: str
    instructions: int


class Index(TypedDict):
    """What is in a folder."""

    format: int
    languages: dict[str, str]
    directions: list[str]
    files: dict[str, InstructionFile]


def encode(direction: str, instruction: Instruction) -> str:
    """One line of a file, with its end."""
    content = {"direction": direction, **instruction._asdict()}
    return json.dumps(content, ensure_ascii=False) + "\n"


def file_name(split: str, task: str, pair: str) -> str:
    return f"{split}.{task}.{pair}.jsonl"


@dataclass(frozen=True)
class InstructionFolder:
    """The output of the step `instruct`.

    Attributes:
        languages: code -> its name in instructions.
        files: name -> {"split", "task", "instructions": how many}.
    """

    folder: Path
    languages: dict[str, str]
    directions: list[str]
    files: dict[str, dict]

    @classmethod
    def load(cls, folder: Path) -> "InstructionFolder":
        """Read the index.

        Raises:
            InputError: there is none, the step did not finish, or the index is not as it must be; names it.
                Or a file is another than the step wrote, as one that a full disk has cut.
        """
        check_finished(folder, STEP)
        path = Path(folder) / INDEX
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected the output of `python -m llm instruct`")
        content = read_record(path, Index)
        if content.pop("format") != FORMAT:
            raise InputError(f"{path}: is of another version, expected format {FORMAT}; instruct again")
        for name in content["files"]:
            plain_name(name, f"{path}: a name in files")
        check_unchanged(folder, STEP)
        return cls(Path(folder), **content)

    def save(self) -> None:
        content = {name: value for name, value in vars(self).items() if name != "folder"}
        write_json(self.folder / INDEX, {"format": FORMAT, **content})

    def paths(self, split: str, task: str) -> list[Path]:
        """The files of a task that have instructions."""
        return [
            path_inside(self.folder, name, f"{self.folder / INDEX}: files")
            for name, entry in self.files.items()
            if (entry["split"], entry["task"]) == (split, task) and entry["instructions"]
        ]


@dataclass(frozen=True)
class Instructions:
    """Those of one or more folders, of different objectives."""

    folders: list[InstructionFolder]

    @classmethod
    def load(cls, folders: Sequence[Path]) -> "Instructions":
        """Read the indexes.

        Raises:
            InputError: as `InstructionFolder.load`; or two folders call a language by other names.
        """
        loaded = [InstructionFolder.load(folder) for folder in folders]
        names: dict[str, str] = {}
        for part in loaded:
            for code, name in part.languages.items():
                if names.setdefault(code, name) != name:
                    raise InputError(
                        f"{part.folder / INDEX}: {code} is called {name!r}, but {names[code]!r} in another"
                        " folder; make both of the same text"
                    )
        return cls(loaded)

    @property
    def languages(self) -> dict[str, str]:
        """Code -> its name in instructions."""
        return {code: name for folder in self.folders for code, name in folder.languages.items()}

    def directions(self, tasks: Iterable[str]) -> list[str]:
        """Those of the folders that have training instructions of one of the objectives, in alphabetical
        order.
        """
        wanted = set(tasks)
        having = [folder for folder in self.folders if any(folder.paths(TRAIN, task) for task in wanted)]
        return sorted({direction for folder in having for direction in folder.directions})

    def paths(self, split: str, tasks: Iterable[str]) -> list[Path]:
        """The files of objectives.

        Raises:
            InputError: one has no instructions in this set, or has them in two folders.
        """
        chosen = []
        for task in tasks:
            having = [paths for folder in self.folders if (paths := folder.paths(split, task))]
            if len(having) != 1:
                where = ", ".join(str(folder.folder) for folder in self.folders)
                wrong = "there are none" if not having else "two folders have them"
                raise InputError(
                    f"--instructions {where}: {split} instructions of {task}: {wrong}; make them by"
                    f" `python -m llm {STEP} --tasks {task}` of text with a {split} set, and give one folder"
                    " that has them"
                )
            chosen += having[0]
        return chosen
