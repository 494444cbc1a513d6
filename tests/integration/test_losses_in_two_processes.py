"""Losses and the criterion in two processes with gloo, without fairseq-train, against one process."""

import json

import pytest
import torch

from tests.fairseq_ext import bridges, test_distillation, test_sentence_losses
from tests.fairseq_ext.bridges import PAIRS, TaggedTask
from tests.fairseq_ext.encodings import ALIGNED, random_batch, random_outputs
from tests.fairseq_ext.test_weighted_losses import (
    ALL_THREE,
    ROWS,
    make_batch,
    make_criterion,
    make_model,
)
from tests.fairseq_ext.test_word_contrastive import make, states
from tests.integration.commands import Forked
from tests.integration.losses_process import gathering

pytestmark = pytest.mark.slow

SHARES = [ALIGNED[:3], ALIGNED[3:]]  # the second process has the words of another sentence
GATHERING = {
    "uneven": (SHARES, {}),
    "one has none": ([ALIGNED, []], {}),
    "false negatives": (SHARES, {"drop_false_negatives": True}),
}
SYNCHRONIZED = {"wrapped, both have words": [ROWS, ROWS[:2]], "wrapped, one has none": [ROWS, []]}
BRIDGED = {"interlingua": [PAIRS, PAIRS[:2]], "interlingua, one predicts no length": [PAIRS, [PAIRS[1]]]}
GATHERED = {"sentence_contrast_gather_negatives": True}
PAIRED = {  # the first and the fourth pair share their source
    "pairs, gathered": ([[0, 1, 2], [3, 4]], GATHERED),
    "pairs, duplicates of the other process": (
        [[0, 1], [2, 3, 4]],
        {**GATHERED, "sentence_contrast_drop_duplicates": True},
    ),
    "pairs, with a discriminator that fairseq does not train": (
        [[0, 1, 2], [3, 4]],
        {"losses": "adversarial_alignment"},
    ),
    "pairs, with a queue": (
        [[0, 1, 2], [3, 4]],
        {"losses": "momentum_contrast", "momentum_contrast_queue": 9, "momentum_contrast_dim": 4},
    ),
    "pairs, in slices": ([[0, 1, 2, 3], [4]], {**GATHERED, "cached_gradients": 2}),
}

TAUGHT = {
    "taught, gathered": (
        [[0, 1, 2], [3, 4]],
        {
            "logit_distillation_gather": True,
            "additive_margin_gather_negatives": True,
            "feature_distillation_weight": 0.1,
            "logit_distillation_temperature": 1.0,
            "logit_distillation_weight": 1.0,
        },
    ),
}
SHORT = {  # of batches: what the second process has stands in for an empty one
    "short of batches, words": ("word_contrastive", [ROWS[:3], ROWS[1:]]),
    "short of batches, pairs": ("sentence_contrast", [[0, 1, 2], [3, 4]]),
    "short of batches, taught": ("logit_distillation", [[0, 1, 2], [3, 4]]),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, list]:
    """What both processes print for every case."""
    folder = tmp_path_factory.mktemp("gloo")
    kinds = (GATHERING, SYNCHRONIZED, BRIDGED, PAIRED, TAUGHT, SHORT)
    cases = json.dumps([list(each.values()) for each in kinds])
    ranks = [
        Forked(folder / f"rank{rank}", "tests.integration.losses_process", rank, folder / "rendezvous", cases)
        for rank in (0, 1)
    ]
    results = [rank.wait() for rank in ranks]
    assert [result.status for result in results] == [0, 0], results[0].text[-3000:] + results[1].text[-3000:]
    names = [name for each in kinds for name in each]
    printed = [map(json.loads, result.out.splitlines()[-len(names) :]) for result in results]
    return dict(zip(names, zip(*printed, strict=True), strict=True))


@pytest.mark.parametrize("case", GATHERING)
def test_two_processes_that_gather_are_one_with_the_union(found, case):
    shares, options = GATHERING[case]
    ranks = found[case]
    loss, outputs = make(**options), random_outputs()
    expected = loss(outputs, random_batch())
    expected.loss.backward()
    for column, value in ((0, expected.loss.item()), (1, expected.value.item()), (2, expected.count)):
        assert sum(rank[column] for rank in ranks) == pytest.approx(value)
    assert [rank[2] for rank in ranks] == [2 * len(share) for share in shares]
    for number, tensor in enumerate([*states(outputs), *loss.parameters()]):
        both = sum(torch.tensor(rank[3][number], dtype=torch.float64) for rank in ranks)
        torch.testing.assert_close(both, tensor.grad.flatten())


@pytest.mark.parametrize("case", SYNCHRONIZED)
def test_wrapped_by_torchs_data_parallel_the_gradients_are_averages(found, case):
    """fairseq's default on GPUs wraps model and criterion so; the mirror is encoded beside the wrapper."""
    model, criterion = make_model(), make_criterion(ALL_THREE)
    assert_averaged(found[case], model, criterion, [make_batch(rows) for rows in SYNCHRONIZED[case]])


@pytest.mark.parametrize("case", BRIDGED)
def test_an_interlingua_has_no_parameter_that_data_parallel_waits_for(found, case):
    """Also where a process has no sentence whose length is predicted."""
    model, criterion = bridges.model_and_criterion()
    task = TaggedTask()
    assert_averaged(found[case], model, criterion, [bridges.batch(task, pairs) for pairs in BRIDGED[case]])


def assert_averaged(ranks: list, model, criterion, batches: list[dict]) -> None:
    for part in (model, criterion):
        part.eval()
    for batch in batches:
        criterion(model, batch)[0].backward()
    expected = [parameter.grad for part in (model, criterion) for parameter in part.parameters()]
    for rank in ranks:
        for gradient, reference in zip(rank, expected, strict=True):  # two passes, divided by two processes
            torch.testing.assert_close(torch.tensor(gradient), reference.flatten(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("case", PAIRED)
def test_ems_in_two_processes_is_one_with_all_pairs(found, case):
    """Losses, sizes and gradients of the processes add up; torch's wrapper averages the gradients."""
    shares, options = PAIRED[case]
    model = test_sentence_losses.make_model()
    criterion = test_sentence_losses.make_criterion(model=model, **options)
    loss, size, _, gradients = test_sentence_losses.run(
        criterion, model, test_sentence_losses.make_batch([row for share in shares for row in share])
    )
    assert sum(rank[0] for rank in found[case]) == pytest.approx(loss.item(), rel=1e-5)
    assert sum(rank[1] for rank in found[case]) == size == 5
    for rank in found[case]:
        for gradient, reference in zip(rank[2], gradients, strict=True):
            torch.testing.assert_close(2 * torch.tensor(gradient), reference.flatten(), atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("case", SHORT)
def test_validation_compares_what_a_process_has_itself(found, case):
    kind, shares = SHORT[case]
    for share, rank in zip(shares, found[case], strict=True):
        model, criterion, batch = gathering(kind, share)
        assert rank[2] == pytest.approx(float(criterion.eval()(model.eval(), batch)[0]), rel=1e-5)


@pytest.mark.parametrize("case", TAUGHT)
def test_distillation_in_two_processes_is_one_with_all_pairs(found, case):
    shares, options = TAUGHT[case]
    model = test_sentence_losses.make_model()
    criterion = test_distillation.make_criterion(model=model, **options)
    batch = test_distillation.make_batch([row for share in shares for row in share])
    loss, size, log, gradients = test_sentence_losses.run(criterion, model, batch)
    assert sum(rank[0] for rank in found[case]) == pytest.approx(loss.item(), rel=1e-5)
    assert sum(rank[1] for rank in found[case]) == size == 5
    for number, name in enumerate(test_distillation.LEALLA.split(",")):
        assert sum(rank[3][number] for rank in found[case]) == pytest.approx(
            log[f"{name}:sum"].item(), rel=1e-5
        )
    for rank in found[case]:
        for gradient, reference in zip(rank[2], gradients, strict=True):
            torch.testing.assert_close(2 * torch.tensor(gradient), reference.flatten(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("case", SHORT)
def test_nobody_learns_from_a_batch_that_stands_in_for_an_empty_one(found, case):
    """Neither its own process, nor others by its sentences as negatives."""
    kind, shares = SHORT[case]
    model, criterion, batch = gathering(kind, shares[0])
    loss, *_ = criterion(model, batch)
    loss.backward()
    gradients = [each.grad for part in (model, criterion) for each in part.parameters() if each.requires_grad]
    assert found[case][0][0] == pytest.approx(loss.item(), rel=1e-5)
    for rank in found[case]:
        for gradient, reference in zip(rank[1], gradients, strict=True):
            torch.testing.assert_close(2 * torch.tensor(gradient), reference.flatten(), atol=1e-5, rtol=1e-3)
