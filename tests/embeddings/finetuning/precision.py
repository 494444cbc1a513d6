"""What trainings by transformers leave behind in a process."""

import pytest
from accelerate.state import AcceleratorState


@pytest.fixture(autouse=True)
def own_precision(monkeypatch):
    """The trainer notes bfloat16 in the environment and for the process, where later trainings find it."""
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    yield
    AcceleratorState._reset_state()
