"""What a validation batch logs under its direction."""

import math

import pytest
import torch
from fairseq.logging import metrics

from fairseq_ext.tasks.validation import add_direction_losses, log_direction_losses

LOGGED = {
    "ntokens": 7,
    "nsentences": 2,
    "loss": torch.tensor(3.0),
    "sample_size": 7,
    "nll_loss": torch.tensor(2.0),
}


def test_only_the_own_direction_has_sums():
    found = add_direction_losses(LOGGED, [("de", "en"), ("en", "de")], ("de", "en"), supervised=True)
    assert (found["loss:de-en"], found["ntokens:de-en"], found["loss"]) == (3.0, 7, 3.0)
    assert (found["loss:en-de"], found["ntokens:en-de"]) == (0.0, 0)
    assert torch.is_tensor(found["nll_loss:en-de"])  # fairseq sums tensors and numbers apart
    zero_shot = add_direction_losses(LOGGED, [("de", "fr")], ("de", "fr"), supervised=False)
    assert (zero_shot["loss:de-fr"], zero_shot["loss"], zero_shot["ntokens"]) == (3.0, 0.0, 0)


def test_batches_of_a_direction_weigh_as_much_as_they_have():
    """`loss` by the sample size (of --sentence-avg: sentences), `nll_loss` by tokens, in bits; fairseq logs
    batch by batch.
    """
    directions = [("de", "en"), ("en", "de")]
    with metrics.aggregate(new_root=True) as aggregate:
        for size, tokens, loss, nll in ((2, 8, 3.0, 2.0), (6, 2, 1.0, 5.0)):
            sums = {"loss": torch.tensor(loss), "nll_loss": torch.tensor(nll)}
            log = {**LOGGED, **sums, "sample_size": size, "ntokens": tokens}
            found = add_direction_losses(log, directions, ("de", "en"), supervised=True)
            log_direction_losses([found], directions)
    assert aggregate.get_smoothed_values() == {
        "loss_de-en": pytest.approx((3 + 1) / (2 + 6) / math.log(2), abs=1e-3),
        "nll_loss_de-en": pytest.approx((2 + 5) / (8 + 2) / math.log(2), abs=1e-3),
    }


def test_all_processes_log_in_the_same_order():
    """fairseq adds up their numbers place by place; the order of a set is another one in every process."""
    for logged in (LOGGED, dict(reversed(LOGGED.items()))):
        found = add_direction_losses(logged, [("de", "en"), ("en", "fr")], ("de", "en"), supervised=True)
        assert [name for name in found if ":" in name] == [
            f"{name}:{direction}"
            for direction in ("de-en", "en-fr")
            for name in ("loss", "nll_loss", "sample_size", "ntokens")
        ]
