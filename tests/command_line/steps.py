"""Steps that tests make."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace


@dataclass(frozen=True)
class NoOptions:
    """Of a step without any."""


def step_of(main: Callable, options: type = NoOptions) -> SimpleNamespace:
    """What `command_line.dispatch` takes as a step.

    Args:
        main: takes the options.
        options: the dataclass that declares them.
    """

    def annotated(given: options) -> None:
        main(given)

    return SimpleNamespace(__doc__="Do something.", main=annotated)
