"""`feature_distillation` and `logit_distillation` against loops over equations 3.3 and 3.4; their sum."""

import dataclasses
from types import SimpleNamespace

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext.criterions.weighted_losses import WeightedLosses, WeightedLossesConfig
from fairseq_ext.losses.feature_distillation import FeatureDistillation
from fairseq_ext.losses.logit_distillation import LogitDistillation, squared_differences
from fairseq_ext.losses.weighted_loss import ModelOutputs, ModelSizes
from tests.fairseq_ext import test_sentence_losses
from tests.fairseq_ext.sentence_pairs import SIZES, outputs_of, pair_batch, pair_vectors

TEACHER_WIDTH = 9
TAUGHT = dataclasses.replace(
    SIZES, teacher_width=TEACHER_WIDTH, pooled_width=TEACHER_WIDTH, above_tokens=("--sentence-width",)
)
SAME = dataclasses.replace(SIZES, teacher_width=SIZES.sentence_width)


def make(loss, sizes=TAUGHT, **options):
    torch.manual_seed(1)
    return loss(loss.Options(**options), sizes).double()


def teacher_vectors(pairs: int = 3, width: int = TEACHER_WIDTH, seed: int = 5) -> dict[str, torch.Tensor]:
    """As a batch has them: float32, of no particular length."""
    generator = torch.Generator().manual_seed(seed)
    return {side: 2 * torch.randn(pairs, width, generator=generator) for side in ("source", "target")}


def taught(pairs: int = 3, **options) -> dict:
    return {**pair_batch(range(min(pairs, 3))), "teacher": teacher_vectors(pairs, **options)}


def cosine(x, y):
    return (x @ y) / (x.norm() * y.norm())


def squares(vector, mean: bool):
    total = sum(number**2 for number in vector)
    return total / len(vector) if mean else total


def feature_by_equation(loss, u, v, teacher):
    """3.3, summed over the pairs."""
    options = loss.options
    total = 0
    for student, own in zip((*u, *v), (*teacher["source"], *teacher["target"]), strict=True):
        target, found = own.double(), loss.dense.weight @ student + loss.dense.bias
        if options.normalize != "none":
            target = target / target.norm()
        if options.normalize == "both":
            found = found / found.norm()
        total = total + squares(target - found, options.mean)
    return total


def logits_by_equation(u, v, teacher, temperature: float):
    """3.4"""
    xs, ys = (teacher[side].double() for side in ("source", "target"))
    pairs, total = range(len(u)), 0
    for i in pairs:
        for j in pairs:
            total = total + ((cosine(xs[i], ys[j]) - cosine(u[i], v[j])) / temperature) ** 2
    return total / len(u) ** 2


def assert_equal(term, value, weight: float, inputs) -> None:
    torch.testing.assert_close(term.value, value.detach())
    torch.testing.assert_close(term.loss, weight * value)
    assert not term.value.requires_grad
    for found, reference in zip(
        torch.autograd.grad(term.loss, inputs), torch.autograd.grad(weight * value, inputs), strict=True
    ):
        torch.testing.assert_close(found, reference)


@pytest.mark.parametrize("normalize", ["none", "teacher", "both"])
@pytest.mark.parametrize("mean", [False, True])
def test_features_equal_the_equation(normalize, mean):
    loss, (u, v), batch = make(FeatureDistillation, normalize=normalize, mean=mean), pair_vectors(), taught()
    term = loss(outputs_of(u, v), batch)
    assert_equal(term, feature_by_equation(loss, u, v, batch["teacher"]), 1e3, [u, v, *loss.parameters()])
    assert term.count == 3  # logged as 3.3 has it, per pair
    assert loss.dense.weight.shape == (TEACHER_WIDTH, SIZES.sentence_width)


@pytest.mark.parametrize("temperature", [100.0, 1.0])
@pytest.mark.parametrize("pairs", [1, 3, 7])
def test_logits_equal_the_equation(pairs, temperature):
    loss, (u, v), batch = (
        make(LogitDistillation, temperature=temperature),
        pair_vectors(pairs),
        taught(pairs),
    )
    term = loss(outputs_of(u, v), batch)
    assert_equal(term, pairs * logits_by_equation(u, v, batch["teacher"], temperature), 1e-2, [u, v])
    assert term.count == pairs and not list(loss.parameters())


@pytest.mark.parametrize("block", [1, 7, 14, 1000])
def test_blocks_of_any_size_are_the_whole_matrix(block):
    generator = torch.Generator().manual_seed(1)
    x, y, teacher_x, teacher_y = (
        torch.randn(rows, 4, generator=generator, dtype=torch.float64, requires_grad=number < 2)
        for number, rows in enumerate((5, 7, 5, 7))
    )
    expected = (x @ y.t() - teacher_x @ teacher_y.t()).square().sum()
    found = squared_differences(x, y, teacher_x, teacher_y, block)
    torch.testing.assert_close(found, expected)
    for one, other in zip(
        torch.autograd.grad(3 * found, (x, y)), torch.autograd.grad(3 * expected, (x, y)), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_a_student_that_is_its_teacher_has_no_loss():
    u, v = pair_vectors()
    batch = {**pair_batch(), "teacher": {"source": u.detach(), "target": v.detach()}}
    logits = make(LogitDistillation, SAME, temperature=1.0)(outputs_of(u, v), batch)
    assert logits.value == pytest.approx(0, abs=1e-28)
    synchronized = make(FeatureDistillation, SAME, pattern="synchronized")
    assert synchronized(outputs_of(u, v), batch).value == 0
    features = make(FeatureDistillation, SAME)
    with torch.no_grad():
        features.dense.weight.copy_(torch.eye(SIZES.sentence_width))
        features.dense.bias.zero_()
    term = features(outputs_of(u, v), batch)
    assert term.value == 0
    term.loss.backward()
    assert not features.dense.weight.grad.any()
    other = {**batch, "teacher": {"source": v.detach(), "target": u.detach()}}
    assert min(loss(outputs_of(u, v), other).value for loss in (features, synchronized)) > 0.1


def test_defaults_are_the_thesis():
    features, logits = FeatureDistillation.Options(), LogitDistillation.Options()
    assert (features.weight, features.pattern, features.normalize, features.mean) == (
        1e3, "distillation-last", "none", False,
    )  # fmt: skip
    assert (logits.weight, logits.temperature, logits.gather) == (1e-2, 100, False)


# --- the patterns of A.1


def test_synchronized_is_the_distance_from_a_reduced_teacher():
    loss, (u, v) = make(FeatureDistillation, SAME, pattern="synchronized", weight=1.0), pair_vectors()
    batch = taught(width=SIZES.sentence_width)
    expected = sum(
        squares(own.double() - student, False)
        for student, own in zip(
            (*u, *v), (*batch["teacher"]["source"], *batch["teacher"]["target"]), strict=True
        )
    )
    assert_equal(loss(outputs_of(u, v), batch), expected, 1.0, [u, v])
    assert not list(loss.parameters())


def test_distillation_first_is_below_the_last_map_of_the_model():
    loss, batch = make(FeatureDistillation, pattern="distillation-first", weight=2.0), taught()
    pooled = [torch.randn(3, TEACHER_WIDTH, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    u, v = pair_vectors()
    outputs = ModelOutputs(
        *(
            {"sentence_vectors": side, "pooled_vectors": below}
            for side, below in zip((u, v), pooled, strict=True)
        )
    )
    expected = sum(
        squares(own.double() - student, False)
        for student, own in zip(
            (*pooled[0], *pooled[1]), (*batch["teacher"]["source"], *batch["teacher"]["target"]), strict=True
        )
    )
    assert_equal(loss(outputs, batch), expected, 2.0, pooled)
    assert not loss.looks_at_vectors_only  # with --cached-gradients it is refused


@pytest.mark.parametrize(
    ("loss", "sizes", "options", "message"),
    [
        (FeatureDistillation, SIZES, {}, "--losses feature_distillation: has no teacher; give --teacher"),
        (LogitDistillation, SIZES, {}, "--losses logit_distillation: has no teacher; give --teacher"),
        (LogitDistillation, TAUGHT, {"temperature": 0}, "--logit-distillation-temperature 0: expected a"),
        (FeatureDistillation, TAUGHT, {"weight": -1}, "--feature-distillation-weight -1: expected a number"),
        (FeatureDistillation, TAUGHT, {"pattern": "synchronized"}, "of 6 numbers, the teacher's have 9"),
        (
            FeatureDistillation, dataclasses.replace(TAUGHT, pooled_width=8),
            {"pattern": "distillation-first"}, "has 8 numbers, the teacher's 9; give --pooler-width 9",
        ),
        (
            FeatureDistillation, dataclasses.replace(TAUGHT, above_tokens=("--pooler-width",)),
            {"pattern": "distillation-first"}, "which has none; give --sentence-width, the width of its",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(loss, sizes, options, message):
    with pytest.raises(InputError, match=message):
        make(loss, sizes, **options)


# --- the sum (3.5), with a model

LEALLA = "additive_margin,feature_distillation,logit_distillation"


def make_criterion(model, losses: str = LEALLA, **options) -> WeightedLosses:
    cfg = WeightedLossesConfig(sentence_avg=False, losses=losses, **options)
    sizes = ModelSizes.of(model, test_sentence_losses.DICTIONARY, ("de", "en", "fr"))
    sizes = dataclasses.replace(sizes, teacher_width=TEACHER_WIDTH)
    torch.manual_seed(1)
    task = SimpleNamespace(target_dictionary=test_sentence_losses.DICTIONARY, model_sizes=sizes)
    return WeightedLosses.build_criterion(cfg, task)


def make_batch(rows=(0, 1, 2, 3, 4)) -> dict:
    teacher = {side: of[list(rows)] for side, of in teacher_vectors(5).items()}
    return {**test_sentence_losses.make_batch(rows), "teacher": teacher}


def test_the_sum_of_3_5_counts_pairs_and_logs_every_loss_as_the_thesis_has_it():
    model = test_sentence_losses.make_model(pooling="pooler").eval()
    batch = make_batch()
    criterion = make_criterion(model, feature_distillation_weight=10.0)
    loss, size, log, _ = test_sentence_losses.run(criterion, model, batch)
    u, v = (model.encoder(batch[side]["src_tokens"])["sentence_vectors"] for side in ("net_input", "mirror"))
    parts = {name: each(outputs_of(u, v), batch) for name, each in criterion.losses.items()}
    features = feature_by_equation(
        criterion.losses["feature_distillation"].double(), u.double(), v.double(), batch["teacher"]
    )
    logits = logits_by_equation(u.double(), v.double(), batch["teacher"], 100)
    expected = parts["additive_margin"].loss.double() + 10 * features + 1e-2 * 5 * logits
    torch.testing.assert_close(loss.double(), expected.detach(), rtol=1e-5, atol=1e-5)
    assert size == 5
    from fairseq.logging import metrics

    with metrics.aggregate(new_root=True) as logged:
        WeightedLosses.reduce_metrics([log])
    values = logged.get_smoothed_values()
    assert values["feature_distillation"] == pytest.approx(features.item() / 5, rel=1e-4)
    assert logits.item() > 1e-5
    assert values["logit_distillation"] == pytest.approx(logits.item(), rel=1e-4)  # however small


def test_large_batches_in_slices_have_the_same_gradients():
    model, options = test_sentence_losses.make_model(), {"feature_distillation_weight": 0.1}
    sliced = make_criterion(model, cached_gradients=2, **options)
    found = test_sentence_losses.run(sliced, model, make_batch())
    expected = test_sentence_losses.run(make_criterion(model, **options), model, make_batch())
    test_sentence_losses.assert_close(found[3], expected[3])
    torch.testing.assert_close(found[0], expected[0])
