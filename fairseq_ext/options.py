"""Options of tasks, models, criteria and losses: every option is a field of a configuration of fairseq."""

from dataclasses import field
from typing import Any


def option(help: str, default: Any = None, **metadata: str) -> Any:
    """A field that is an option.

    Args:
        metadata: what else fairseq makes its parser from, such as `argparse_alias`.
    """
    return field(default=default, metadata={"help": help, **metadata})
