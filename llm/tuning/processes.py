"""The processes of one tuning, of which torchrun starts several."""

import os


def world_size() -> int:
    """How many processes torchrun has started; without it there is one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


class Processes:
    """Those of torchrun, of which the first one writes records; without it there is one."""

    def __init__(self, cpu: bool):
        self.state = None
        if world_size() > 1:
            from accelerate import PartialState

            self.state = PartialState(cpu=cpu)

    @property
    def number(self) -> int:
        """Of this one, from 0."""
        return 0 if self.state is None else self.state.process_index

    @property
    def is_first(self) -> bool:
        return self.state is None or self.state.is_main_process

    def wait(self) -> None:
        """Until all have come here."""
        if self.state is not None:
            self.state.wait_for_everyone()
