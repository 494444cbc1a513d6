"""Batches of lines to retrieve from."""

import numpy as np
import pytest

from eval.probes.retrieval import batches_of


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ([5, 5, 5], 10, [(0, 2), (2, 3)]),
        ([5, 6, 5], 10, [(0, 1), (1, 2), (2, 3)]),
        ([20, 1, 1], 10, [(0, 1), (1, 3)]),
        ([1, 20, 1], 10, [(0, 1), (1, 2), (2, 3)]),
        ([1, 1], 10, [(0, 2)]),
    ],
)
def test_batches(sizes, most, expected):
    assert [(batch.start, batch.stop) for batch in batches_of(np.array(sizes), most)] == expected
