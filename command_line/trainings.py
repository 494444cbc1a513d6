"""What commands share that train for hours into a folder: one process, and going on after a kill."""

import os
import shutil
from collections.abc import Callable, Sequence

from typing_extensions import TypedDict

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.outputs import write_json
from command_line.records import read_record
from command_line.step import Step

STATE = "training"  # folder of what the trainer needs to go on
WORK = "work.json"  # in it: what is being done


class Work(TypedDict):
    """What a training that was killed was doing."""

    settings: dict
    inputs: dict


def check_one_process(training: str) -> None:
    """Refuse to be one of several processes of a launcher, which would all write the same folder."""
    processes = os.environ.get("WORLD_SIZE", "1")
    if processes != "1":
        raise InputError(
            f"WORLD_SIZE {processes}: {training} runs in one process, on one device; start it without"
            " torchrun"
        )


class TrainingFolder(Step):
    """The folder that a training writes: complete, half done by a run that was killed, or new. The work
    is given the settings as records have them, and returns the record of the training.

    Args:
        results: pattern of the folders that the training makes.
        states: patterns of what it can go on from.

    Attributes:
        state: folder of what the trainer needs to go on.
    """

    def __init__(
        self,
        stamp: Stamp,
        force: bool,
        record: str,
        results: str,
        states: Sequence[str] = (f"{STATE}/checkpoint-*",),
    ):
        super().__init__(stamp, force)
        self.folder, self.state = stamp.folder, stamp.folder / STATE
        self._record, self._results, self._states = self.folder / record, results, states

    def is_complete(self) -> bool:
        complete = super().is_complete()
        if complete:
            shutil.rmtree(self.state, ignore_errors=True)  # of a run that was killed at its very end
        return complete

    def goes_on(self) -> bool:
        """Whether the training goes on from a state, or begins; nothing is changed.

        Raises:
            InputError: another process is training here, or has just finished; another training has been
                here, or one that cannot go on, which nobody has allowed to be forgotten. One that was begun
                and has no state yet has nothing to lose.
        """
        self.stamp.check_free()
        if self.force:
            return False
        work = self.state / WORK
        goes_on = work.is_file() and any(any(self.folder.glob(pattern)) for pattern in self._states)
        self._check_same(self.stamp.recorded() or (read_record(work, Work) if goes_on else {}))
        made = sorted(path.name for path in self.folder.glob(self._results))
        if made and not goes_on and self.stamp.is_current():
            raise InputError(
                f"{self.folder}: another process has just finished this training; give the command again"
            )
        if made and not goes_on:  # copied without the record, or one of them was removed
            raise InputError(
                f"{self.folder}: has {made[0]}, but neither the record of a complete training nor a state to"
                " go on from; give another --output, or --force to train anew"
            )
        return goes_on

    def _check_same(self, begun: dict) -> None:
        """Half a training goes on as what it began as, or not at all."""
        for part in ("settings", "inputs") if begun else ():
            before, now = begun[part], self.stamp.work[part]
            for name in before | now:
                if before.get(name) != now.get(name):
                    raise InputError(
                        f"{self.folder}: was trained with another {name}; give another --output, or --force"
                        " to begin anew"
                    )

    def run(self, work: Callable[[dict], dict]) -> dict:
        self.begin()
        return work(self.stamp.settings)

    def begin(self) -> None:
        """Make the folder ready for this training, or for its rest. What may still be refused is read before:
        a training that begins anew removes what the last one made.

        Raises:
            InputError: as of `goes_on`; or another process is training here.
        """
        goes_on = self.goes_on()
        self.stamp.begin()
        if not goes_on:
            for path in (self.state, *self.folder.glob(self._results)):
                if path.is_dir():
                    shutil.rmtree(path)
        write_json(self.state / WORK, self.stamp.work)

    def finish(self, written: dict) -> None:
        """Write the record of the training, and remove what was needed to go on."""
        write_json(self._record, written)
        results = (path for result in self.folder.glob(self._results) for path in result.rglob("*"))
        super().finish([self._record, *(path for path in results if path.is_file())])
        shutil.rmtree(self.state)
