"""The folder of instructions: `SPLIT.TASK.A-B.jsonl`, an instruction per line, and `instruct.json`.

A line has the fields "direction" (`en-de`, from English to German), "input" and "output". The same files are
read by other programs that take JSON lines. `instruct.json` is the record of the step and comes last;
`instructions.json` says how many there are.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.names_in_records import path_inside, plain_name
from command_line.outputs import write_json
from command_line.records import Objects, check, read_json
from llm.instructions.tasks import TASKS, Instruction

STEP = "instruct"
INDEX = "instructions.json"
FORMAT = 1
SCHEMA = {
    "languages": Objects(str),
    "directions": [str],
    "files": Objects({"split": str, "task": str, "instructions": int}),
}


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
        directions: that are instructed, in alphabetical order.
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
        """
        check_finished(folder, STEP)
        path = Path(folder) / INDEX
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected the output of `python -m llm instruct`")
        content = read_json(path)
        check(content, SCHEMA | {"format": int}, path)
        if content.pop("format") != FORMAT:
            raise InputError(f"{path}: is of another version, expected format {FORMAT}; instruct again")
        for name in content["files"]:
            plain_name(name, f"{path}: a name in files")
        return cls(Path(folder), **content)

    def save(self) -> Path:
        content = {name: value for name, value in vars(self).items() if name != "folder"}
        write_json(self.folder / INDEX, {"format": FORMAT, **content})
        return self.folder / INDEX

    def paths(self, split: str, tasks: Iterable[str]) -> list[Path]:
        """The files of tasks that have instructions.

        Raises:
            InputError: a task has none in this set.
        """
        found = []
        for task in tasks:
            names = [
                name
                for name, entry in self.files.items()
                if (entry["split"], entry["task"]) == (split, task) and entry["instructions"]
            ]
            if not names:
                made = sorted({entry["task"] for entry in self.files.values() if entry["split"] == split})
                raise InputError(
                    f"{self.folder / INDEX}: no {split} instructions of {task}, there are those of"
                    f" {', '.join(made) or 'no task'}; make them by `python -m llm {STEP} --tasks`"
                )
            found += [path_inside(self.folder, name, f"{self.folder / INDEX}: files") for name in names]
        return found

    def titles(self, tasks: Iterable[str]) -> str:
        """What several objectives are called together: "MT+Align"."""
        return "+".join(TASKS[task].title for task in tasks)
