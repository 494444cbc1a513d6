"""What a validation batch logs under its direction."""

import torch

from fairseq_ext.tasks.validation import add_direction_losses

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


def test_all_processes_log_in_the_same_order():
    """fairseq adds up their numbers place by place; the order of a set is another one in every process."""
    for logged in (LOGGED, dict(reversed(LOGGED.items()))):
        found = add_direction_losses(logged, [("de", "en"), ("en", "fr")], ("de", "en"), supervised=True)
        assert [name for name in found if ":" in name] == [
            f"{name}:{direction}"
            for direction in ("de-en", "en-fr")
            for name in ("loss", "nll_loss", "sample_size", "ntokens")
        ]
