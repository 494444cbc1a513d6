"""What users type before the options: `python -m eval` in the repository, `mnmt eval` if it is installed."""

import re
import sys
from pathlib import Path

from multilingual_nmt import IS_INSTALLED

_COMMAND = re.compile(r"\bpython -m (data_prep|fairseq_ext|embeddings|eval|llm)\b")


def words_before(package: str) -> list[str]:
    """The words that run a package of ours as it was run for this process."""
    return ["mnmt", package] if _by_mnmt() else ["python", "-m", package]


def as_typed(text: str) -> str:
    """A text with its commands, all of them `python -m PACKAGE …`, as the user of this process types them."""
    return _COMMAND.sub(r"mnmt \1", text) if _by_mnmt() else text


def _by_mnmt() -> bool:
    return IS_INSTALLED or Path(next(iter(sys.orig_argv[1:2]), "")).name == "mnmt"
