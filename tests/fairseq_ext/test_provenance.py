"""What a result says about its checkpoint."""

import math

import pytest

from fairseq_ext.provenance import describe_checkpoint


@pytest.mark.parametrize(("loss", "written"), [(2.5, 2.5), (None, None), (math.nan, None), (math.inf, None)])
def test_the_loss_of_a_training_that_diverged_is_null(tmp_path, loss, written):
    (tmp_path / "model.pt").touch()
    state = {"cfg": {"task": {}, "model": {}}, "extra_state": {"best": loss}}
    assert describe_checkpoint(tmp_path / "model.pt", state)["best_valid_loss"] == written


@pytest.mark.parametrize(
    ("measure", "written"),
    [("loss", 31.2), ("nmt_loss", 31.2), ("bleu", None), ("retrieval", None), ("loss_de-en", None)],
)
def test_a_best_checkpoint_of_another_measure_has_no_loss(tmp_path, measure, written):
    (tmp_path / "model.pt").touch()
    cfg = {"task": {}, "model": {}, "checkpoint": {"best_checkpoint_metric": measure}}
    state = {"cfg": cfg, "extra_state": {"best": 31.2}}
    assert describe_checkpoint(tmp_path / "model.pt", state)["best_valid_loss"] == written
