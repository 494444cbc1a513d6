"""Which checkpoints are chosen, of what they say."""

import math
from pathlib import Path

import pytest

from fairseq_ext.checkpoints.choosing import Candidate, best


@pytest.mark.parametrize("maximized", [False, True])
def test_a_training_that_diverged_has_no_best_checkpoint_there(maximized):
    values = [3.0, math.nan, 2.0, math.inf, 1.0, -math.inf, math.nan]
    candidates = [
        Candidate(Path(f"{number}.pt"), number, value, "loss", maximized, False, {})
        for number, value in enumerate(values)
    ]
    chosen = best(candidates, 2)
    assert [one.validation for one in chosen] == ([3.0, 2.0] if maximized else [2.0, 1.0])
