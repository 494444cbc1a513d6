"""The record of a tuned model, `tuning.json`: what it is called, what it was taught, where its adapter is."""

from dataclasses import dataclass
from pathlib import Path

from typing_extensions import TypedDict

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.names_in_records import plain_name
from command_line.records import read_record
from llm.instructions.tasks import TASKS
from llm.language_model import weights_identity

TUNING = "tuning.json"


class TunedModel(TypedDict):
    path: str
    name: str
    weights: dict[str, dict]


class Settings(TypedDict):
    seed: int
    lora_rank: int


class Stage(TypedDict):
    folder: str


class TuningRecord(TypedDict):
    """What `llm tune` says of what it has made, as far as it is read."""

    model: TunedModel
    curriculum: str
    settings: Settings
    directions: list[str]
    languages: dict[str, str]
    stages: list[Stage]


def curriculum_title(curriculum: list[list[str]]) -> str:
    """As in Table 6.2: "MT+Align→MT"."""
    return "→".join("+".join(TASKS[task].title for task in stage) for stage in curriculum)


@dataclass(frozen=True)
class Tuned:
    """A folder of `llm tune`."""

    folder: Path
    record: dict

    @classmethod
    def load(cls, folder: Path) -> "Tuned":
        """Read the record.

        Raises:
            InputError: there is none, the tuning did not finish, or the record is not as it must be.
        """
        check_finished(folder, "tune")
        path = Path(folder) / TUNING
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected the output of `python -m llm tune`")
        record = read_record(path, TuningRecord)
        for stage in record["stages"]:
            plain_name(stage["folder"], f"{path}: field stages.folder")
        return cls(Path(folder), record)

    @property
    def last_stage(self) -> Path:
        return self.folder / self.record["stages"][-1]["folder"]

    def check_model(self, model: Path) -> None:
        """Refuse a model to which an adapter fits by its shape alone.

        Raises:
            InputError: its weights are not those that were tuned.
        """
        if self.is_adapter and weights_identity(model) != self.record["model"]["weights"]:
            raise InputError(
                f"--model {model}: its weights are not those that {self.folder} was tuned on,"
                f" {self.record['model']['path']}; give that model, or, if they are the same in other files,"
                f" --tuned {self.last_stage}"
            )

    @property
    def is_adapter(self) -> bool:
        """Whether the last stage is an adapter; else it is a whole model."""
        return self.record["settings"]["lora_rank"] > 0
