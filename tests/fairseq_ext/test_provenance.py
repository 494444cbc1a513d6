"""What a result says about its checkpoint."""

import math

import pytest

from fairseq_ext.provenance import describe_checkpoint


@pytest.mark.parametrize(("loss", "written"), [(2.5, 2.5), (None, None), (math.nan, None), (math.inf, None)])
def test_the_loss_of_a_training_that_diverged_is_null(tmp_path, loss, written):
    (tmp_path / "model.pt").touch()
    state = {"cfg": {"task": {}, "model": {}}, "extra_state": {"best": loss}}
    assert describe_checkpoint(tmp_path / "model.pt", state)["best_valid_loss"] == written
