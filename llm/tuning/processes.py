"""The processes of one tuning, of which torchrun starts several."""

import os
from functools import cached_property

from command_line.trainings import TrainingFolder


def world_size() -> int:
    """How many processes torchrun has started; without it there is one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


class Processes:
    """Those of torchrun, of which the first one writes records; without it there is one."""

    def __init__(self, cpu: bool):
        self.cpu = cpu

    @cached_property
    def state(self):
        """What `accelerate` knows of several processes, which meet here first; None of one."""
        if world_size() == 1:
            return None
        from accelerate import PartialState

        return PartialState(cpu=self.cpu)

    @property
    def number(self) -> int:
        """The number of this process, from 0."""
        return 0 if self.state is None else self.state.process_index

    @property
    def is_first(self) -> bool:
        return self.state is None or self.state.is_main_process

    def wait(self) -> None:
        """Until all have come here."""
        if self.state is not None:
            self.state.wait_for_everyone()


class SharedTrainingFolder(TrainingFolder):
    """A folder of a training that several processes do together."""

    def __init__(self, processes: Processes, *training):
        super().__init__(*training)
        self.processes = processes

    def begin(self) -> None:
        if self.processes.is_first:
            super().begin()
        self.processes.wait()

    def finish(self, written: dict) -> None:
        if self.processes.is_first:
            super().finish(written)
        self.processes.wait()
