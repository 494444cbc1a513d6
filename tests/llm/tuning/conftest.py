"""What a training leaves is looked through without what was there before."""

import gc

import pytest


@pytest.fixture(scope="session", autouse=True)
def _libraries(bloom):
    """The trainer collects garbage whenever it ends: not among torch and its like."""
    import llm.tuning.training  # noqa: F401

    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
