"""What tests of commands share."""

from collections import Counter
from pathlib import Path

import pytest

from fairseq_ext.checkpoints import reading


@pytest.fixture
def reads(monkeypatch) -> Counter:
    """How often each checkpoint has been read, by the name of its file."""
    found, read = Counter(), reading._load

    def load(file, path, map_location):
        found[Path(path).name] += 1
        return read(file, path, map_location)

    monkeypatch.setattr(reading, "_load", load)
    return found
