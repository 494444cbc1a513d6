"""Adversarial alignment, its discriminator, and cycle consistency, against plain loops."""

import copy
import io
import math
from functools import cache
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from command_line.errors import InputError
from fairseq_ext.losses.adversarial_alignment import (
    STRENGTHS,
    AdversarialAlignment,
    AdversarialAlignmentOptions,
)
from fairseq_ext.losses.cycle_consistency import CycleConsistency, CycleConsistencyOptions
from fairseq_ext.losses.triplet_ranking import triplet_ranking
from fairseq_ext.modules.discriminator import BOUNDS, Discriminator
from fairseq_ext.modules.similarity import pooled_similarity
from fairseq_ext.tasks.base import BaseTask
from fairseq_ext.tasks.improvements import Improvements
from tests.fairseq_ext.sentence_pairs import SIZES, outputs_of, pair_batch, pair_vectors
from tests.fairseq_ext.test_sentence_losses import make_batch, make_criterion, make_model

WIDTH = SIZES.sentence_width


def make(**options) -> AdversarialAlignment:
    torch.manual_seed(1)
    return AdversarialAlignment(AdversarialAlignmentOptions(**options), SIZES)


def random_vectors(seed: int, count: int = 64, shift: float = 0.0, width: int = WIDTH) -> Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed)) + shift


def weights_of(module: nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def assert_same(found: list[Tensor], expected: list[Tensor]) -> None:
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


# --- the loss of the encoder


def test_adversarial_alignment_is_the_equation():
    """L_adv = - sum (d(y_i) - d(y_j)); the discriminator gets no gradient of it."""
    (u, v), loss = pair_vectors(), make(weight=2.0, bound="none")
    (layer,) = loss.discriminator.layers
    term = loss(outputs_of(u, v), pair_batch())
    d_u, d_v = ([layer.weight[0] @ y.float() + layer.bias[0] for y in side] for side in (u, v))
    expected = -sum(d_u[row] - d_v[row] for row in range(3))
    torch.testing.assert_close(term.value, expected.detach())
    assert term.count == 3
    term.loss.backward()
    torch.testing.assert_close(u.grad, -2 * layer.weight.double().expand(3, -1))
    torch.testing.assert_close(v.grad, 2 * layer.weight.double().expand(3, -1))
    assert all(parameter.grad is None for parameter in loss.discriminator.parameters())


def test_fairseq_trains_nothing_of_the_discriminator():
    loss = make(hidden=4)
    trained = [name for name, parameter in loss.named_parameters() if parameter.requires_grad]
    assert trained == ["nothing"]
    u, v = pair_vectors()
    loss(outputs_of(u, v), pair_batch()).loss.backward()
    assert loss.nothing.grad == 0


# --- the discriminator


def reference_steps(discriminator: Discriminator, low: Tensor, high: Tensor, steps: int, clip=None) -> list:
    """Weights after steps of torch's Adam on mean(d(low)) - mean(d(high))."""
    layers = copy.deepcopy(discriminator.layers).requires_grad_()
    net = nn.Sequential(layers[0], nn.ReLU(), layers[1]) if len(layers) > 1 else layers[0]
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(steps):
        optimizer.zero_grad()
        (net(low).mean() - net(high).mean()).backward()
        optimizer.step()
        for parameter in net.parameters() if clip else ():
            parameter.data.clamp_(-clip, clip)
    return weights_of(net)


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize(("bound", "clip"), [("none", None), ("clipping", 0.01)])
def test_after_an_update_the_discriminator_takes_kappa_steps_of_adam(hidden, bound, clip):
    loss = make(steps=3, hidden=hidden, bound=bound)
    low, high = random_vectors(1, 6), random_vectors(2, 6)
    expected = reference_steps(loss.discriminator, low, high, 3, clip)
    for rows in (slice(0, 4), slice(4, 6)):  # two accumulated batches
        loss(outputs_of(low[rows], high[rows]), pair_batch()).loss.backward()
    before = weights_of(loss.discriminator)
    loss.after_update(None, 1)
    assert loss.seen == []
    for found, other in zip(weights_of(loss.discriminator), expected, strict=True):
        torch.testing.assert_close(found, other)
    assert not torch.equal(weights_of(loss.discriminator)[0], before[0])


def test_the_gradient_penalty_reaches_all_layers():
    """Steps of Adam on the loss in a loop, whose slope is the chain rule's: those weights of the second layer
    whose units are on, times the first.
    """
    torch.manual_seed(1)
    found = Discriminator(WIDTH, 5, lr=0.01, bound="gradient-penalty", strength=10.0)
    low, high = random_vectors(1, 6), random_vectors(2, 6)
    hidden, top = copy.deepcopy(found.layers).requires_grad_()
    optimizer = torch.optim.Adam([*hidden.parameters(), *top.parameters()], lr=0.01)
    torch.manual_seed(2)
    for _ in range(3):
        loss, shares = 0, torch.rand(6, 1)
        for share, one, other in zip(shares, low, high, strict=True):
            between = (1 - share) * one + share * other
            slope = (top.weight[0] * (hidden(between) > 0)) @ hidden.weight
            scores = [top(hidden(vector).relu())[0] for vector in (one, other)]
            loss = loss + scores[0] - scores[1] + 10 * (slope.square().sum().sqrt() - 1) ** 2
        optimizer.zero_grad()
        (loss / 6).backward()
        optimizer.step()
    torch.manual_seed(2)
    found.learn(low, high, 3)
    for one, other in zip(weights_of(found), [*hidden.parameters(), *top.parameters()], strict=True):
        torch.testing.assert_close(one, other.detach())


@pytest.mark.parametrize("hidden", [0, 5])
def test_dropout_is_of_what_the_layers_return(hidden):
    """Of the score a half is 0 and a half is doubled; in validation all are as they are."""
    loss = make(hidden=hidden, dropout=0.5)
    low = random_vectors(1, 2000)
    whole = loss.eval().discriminator(low)
    found = loss.train().discriminator(low)
    assert float(found.eq(0).float().mean()) == pytest.approx(0.5, abs=0.05)
    if not hidden:
        kept = found.ne(0)
        torch.testing.assert_close(found[kept], 2 * whole[kept])
        return
    layers = []
    loss.discriminator.dropout.register_forward_hook(lambda module, given, found: layers.append(found))
    loss.discriminator(low)
    units, scores = layers
    active = loss.discriminator.layers[0](low) > 0
    assert float(units[active].eq(0).float().mean()) == pytest.approx(0.5, abs=0.05)
    assert scores.shape == (2000, 1)


def test_with_dropout_it_learns_from_the_scores_that_are_kept():
    """Linear, whose bias gets no gradient of all: Adam's first steps are of the vectors that are kept."""
    loss = make(dropout=0.5, bound="none", steps=1)
    low, high = random_vectors(1, 6), random_vectors(2, 6)
    layer = copy.deepcopy(loss.discriminator.layers[0]).requires_grad_()
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.001)
    torch.manual_seed(3)
    kept = [loss.discriminator.dropout(torch.ones(6, 1)) for _ in range(2)]
    ((kept[0] * layer(low)).mean() - (kept[1] * layer(high)).mean()).backward()
    optimizer.step()
    loss.seen.append((low, high))
    torch.manual_seed(3)
    loss.after_update(None, 1)
    for found, expected in zip(weights_of(loss.discriminator), weights_of(layer), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_gradient_penalty_is_of_the_whole_score():
    """Of equal slopes, as of a linear score, it is as without dropout, wherever it is measured."""
    steps = []
    for dropout in (0.0, 0.5):
        loss = make(dropout=dropout, bound="gradient-penalty", strength=1e6)
        before = weights_of(loss.discriminator)[0]
        loss.discriminator.learn(random_vectors(1), random_vectors(2), 1)
        moments = loss.discriminator.optimizer.state[loss.discriminator.layers[0].weight]
        assert not torch.equal(weights_of(loss.discriminator)[0], before)
        steps.append(moments["exp_avg"])
    torch.testing.assert_close(*steps, rtol=1e-4, atol=1)


@cache
def trained(bound: str, hidden: int, shift: float) -> Discriminator:
    """On fresh vectors in every step, of which the high ones are shifted."""
    torch.manual_seed(1)
    found = Discriminator(WIDTH, hidden, lr=0.05, bound=bound, strength=STRENGTHS.get(bound, 1.0))
    for step in range(60):
        found.learn(random_vectors(2 * step), random_vectors(2 * step + 1, shift=shift), 1)
    return found


def accuracy(discriminator: Discriminator, shift: float) -> float:
    """Of new vectors, half of them of either kind: share of those on the right side of the median."""
    low, high = random_vectors(10_001, 2000), random_vectors(10_002, 2000, shift)
    scores = discriminator(torch.cat([low, high]))
    is_high = scores > scores.median()
    return float((is_high[2000:].float().mean() + (~is_high[:2000]).float().mean()) / 2)


@pytest.mark.parametrize(("bound", "hidden"), [*((bound, 0) for bound in BOUNDS), ("spectral-norm", 8)])
def test_equal_distributions_teach_no_direction_and_different_ones_do(bound, hidden):
    """Both judge vectors that differ: what learned from equal ones cannot know how."""
    assert accuracy(trained(bound, hidden, shift=1.0), 1.0) > 0.85
    assert accuracy(trained(bound, hidden, shift=0.0), 1.0) < 0.8


def sides(seed: int, shift: float, count: int = 64) -> tuple[Tensor, Tensor]:
    """Fresh vectors of two distributions, which are equal without a shift; their means are not 0, so that
    factors show.
    """
    return random_vectors(2 * seed, count, 1.0), random_vectors(2 * seed + 1, count, 1.0 + shift)


def taught(seed: int, shift: float, **options) -> AdversarialAlignment:
    """The loss after 60 updates in which it has seen fresh vectors."""
    torch.manual_seed(seed)
    loss = AdversarialAlignment(AdversarialAlignmentOptions(steps=1, lr=0.05, **options), SIZES)
    for step in range(60):
        loss(outputs_of(*sides(1000 * seed + step, shift)), pair_batch())
        loss.after_update(None, step)
    return loss


def judged(loss: AdversarialAlignment, shift: float) -> tuple[float, float]:
    """Of fresh vectors, as the loss itself compares them: share of those on the right side of the median,
    and the mean of d(y_j) - d(y_i), the loss.
    """
    scores, low_and_high = [], sides(100_000, shift, 4000)
    hook = loss.discriminator.register_forward_hook(lambda module, given, found: scores.append(found))
    value = float(loss.eval()(outputs_of(*low_and_high), pair_batch()).value) / 4000
    hook.remove()
    high, low = scores
    assert float((high - low).mean()) == pytest.approx(value, rel=1e-3, abs=1e-5)
    median = torch.cat(scores).median()
    return float(((high > median).float().mean() + (low <= median).float().mean()) / 2), value


@pytest.mark.parametrize(("bound", "hidden"), [*((bound, 0) for bound in BOUNDS), ("spectral-norm", 8)])
def test_at_chance_on_equal_distributions(bound, hidden):
    """Of fresh vectors, beside what a discriminator of shifted ones finds; and over the seeds what it learned
    has no direction, though of one seed it has.
    """
    directions = []
    for seed in range(8):
        equal, shifted = (taught(seed, shift, bound=bound, hidden=hidden) for shift in (0.0, 1.0))
        right, difference = judged(shifted, 1.0)
        assert right > 0.85 and difference > 0
        chance, nothing = judged(equal, 0.0)
        assert abs(chance - 0.5) < 0.03
        assert abs(nothing) < 0.05 * difference
        directions.append(judged(equal, 1.0)[1] / difference)
    assert abs(sum(directions) / len(directions)) < 0.4


@pytest.mark.parametrize("hidden", [0, 8])
def test_the_same_vectors_on_both_sides_teach_nothing(hidden):
    found = Discriminator(WIDTH, hidden, lr=0.05, bound="none", strength=1.0)
    before = weights_of(found)
    found.learn(random_vectors(1), random_vectors(1), 3)
    assert_same(weights_of(found), before)
    found.learn(random_vectors(1), random_vectors(1, shift=0.1), 1)
    assert not torch.equal(weights_of(found)[0], before[0])


def test_bounds_hold():
    assert max(weight.abs().max() for weight in trained("clipping", 0, 1.0).parameters()) <= 0.01
    for layer in trained("spectral-norm", 8, 1.0).layers:
        assert torch.linalg.matrix_norm(layer.weight, ord=2) == pytest.approx(1, abs=0.02)
    steep = [trained(bound, 0, 1.0).layers[0].weight.norm() for bound in ("gradient-penalty", "none")]
    best = 1 + WIDTH**0.5 / (2 * STRENGTHS["gradient-penalty"])  # of |w| |shift| - 10 (|w| - 1)^2
    assert steep[0] == pytest.approx(best, abs=0.2)
    assert steep[1] > 3


def test_a_bound_that_nothing_reaches_changes_nothing():
    """Smaller singular values than the largest that is allowed stay as they are."""
    found = []
    for bound, strength in (("none", 1.0), ("spectral-norm", 100.0), ("clipping", 100.0)):
        torch.manual_seed(1)
        found.append(Discriminator(WIDTH, 4, lr=0.05, bound=bound, strength=strength))
        found[-1].learn(random_vectors(1), random_vectors(2), 3)
    for bounded in found[1:]:
        assert_same(weights_of(bounded), weights_of(found[0]))


def test_it_stays_in_single_precision():
    discriminator = Discriminator(WIDTH, 4, 0.001, "spectral-norm", 1.0).half()
    tensors = (*discriminator.parameters(), *discriminator.buffers())
    assert {tensor.dtype for tensor in tensors} == {torch.float32}
    before = weights_of(discriminator)
    discriminator.learn(random_vectors(1).half(), random_vectors(2).half(), 1)
    assert not torch.equal(weights_of(discriminator)[0], before[0])
    assert discriminator(random_vectors(1).half()).dtype == torch.float32


# --- in training


class Task(BaseTask):
    """Our task's steps without its data."""

    def __init__(self, criterion):
        self.cfg = SimpleNamespace(autocast_bf16=False, max_update=0)
        self.after_update = criterion.after_update
        self.improvements = Improvements("")


def make_training(**options):
    model = make_model()
    criterion = make_criterion(
        "adversarial_alignment,cycle_consistency", model, adversarial_alignment_hidden=4, **options
    )
    return model, criterion, criterion.losses["adversarial_alignment"]


def update(model, criterion, number: int, dummy: bool = False) -> None:
    torch.manual_seed(number)  # as fairseq's trainer does
    parts = [p for part in (model, criterion) for p in part.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(parts, lr=0.01)
    optimizer.zero_grad()
    optimizer.backward = lambda loss: loss.backward()
    Task(criterion).train_step(make_batch(), model, criterion.train(), optimizer, number, ignore_grad=dummy)
    assert criterion.training
    if not dummy:
        Task(criterion).optimizer_step(optimizer, model=model, update_num=number)


def test_validation_and_batches_in_place_of_empty_ones_teach_it_nothing():
    model, criterion, loss = make_training()
    update(model, criterion, 1, dummy=True)
    Task(criterion).valid_step(make_batch(), model, criterion.eval())
    assert loss.seen == []
    update(model, criterion, 1)
    expected = weights_of(loss.discriminator)
    model, criterion, loss = make_training()
    update(model, criterion, 1)
    assert_same(weights_of(loss.discriminator), expected)


def test_a_process_without_a_batch_takes_the_same_steps():
    """Of its own it adds nothing; there are no others here."""
    loss = make()
    before = weights_of(loss.discriminator)
    loss.after_update(None, 1)
    assert_same(weights_of(loss.discriminator), before)


@pytest.mark.parametrize("bound", BOUNDS)
def test_it_goes_on_exactly_from_its_state(bound):
    """Weights, Adam's moments and the singular vectors."""
    model, criterion, loss = make_training(adversarial_alignment_bound=bound)
    for number in (1, 2):
        update(model, criterion, number)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "criterion": criterion.state_dict()}, file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    model_again, criterion_again, loss_again = make_training(adversarial_alignment_bound=bound)
    update(model_again, criterion_again, 5)  # another past
    model_again.load_state_dict(state["model"])
    criterion_again.load_state_dict(state["criterion"])
    for number in (3, 4):
        update(model, criterion, number)
        update(model_again, criterion_again, number)
    assert_same(weights_of(loss_again), weights_of(loss))
    assert_same(weights_of(model_again), weights_of(model))


def test_the_learning_rate_is_that_of_the_options_when_a_training_goes_on():
    """Adam's moments are the checkpoint's."""
    first, again = make(lr=0.05, bound="none"), make(lr=0.001, bound="none")
    for loss in (first, again):
        loss.discriminator.learn(random_vectors(1), random_vectors(2), 1)
    again.load_state_dict(copy.deepcopy(first.state_dict()))
    (group,) = again.discriminator.optimizer.param_groups
    assert group["lr"] == 0.001
    before = weights_of(again.discriminator)
    first.discriminator.learn(random_vectors(3), random_vectors(4), 1)
    again.discriminator.learn(random_vectors(3), random_vectors(4), 1)
    for start, far, near in zip(
        before, weights_of(first.discriminator), weights_of(again.discriminator), strict=True
    ):
        torch.testing.assert_close(near - start, (far - start) / 50, rtol=1e-3, atol=1e-7)


def make_ahead() -> AdversarialAlignment:
    """A discriminator that has learned, so that a step of Adam has more of the vectors than signs."""
    loss = make(bound="none", hidden=4)
    loss.discriminator.learn(random_vectors(7), random_vectors(8), 2)
    return loss


def test_an_update_that_was_given_up_teaches_it_nothing():
    """After an overflow fairseq forgets the gradients, and begins an update with the next batches."""
    loss, expected = make_ahead(), make_ahead()
    lost, *kept = [(random_vectors(seed, 4), random_vectors(seed + 1, 4)) for seed in (1, 3, 5)]
    loss(outputs_of(*lost), pair_batch()).loss.backward()
    loss.zero_grad()
    for sides in kept:
        for each in (loss, expected):
            each(outputs_of(*sides), pair_batch()).loss.backward()
    for each in (loss, expected):
        each.after_update(None, 1)
    assert_same(weights_of(loss.discriminator), weights_of(expected.discriminator))


def test_vectors_that_are_not_finite_teach_it_nothing():
    """The gradient of a linear score is finite whatever the vector, and fairseq updates."""
    loss, expected = make_ahead(), make_ahead()
    low, high = random_vectors(1, 6), random_vectors(2, 6)
    expected(outputs_of(low[1:5], high[1:5]), pair_batch())
    low[0, 0], high[5, 1] = math.inf, math.nan
    loss(outputs_of(low, high), pair_batch())
    for each in (loss, expected):
        each.after_update(None, 1)
    assert_same(weights_of(loss.discriminator), weights_of(expected.discriminator))


# --- the extraction module

EXTRACTION = {"freeze_encoder": True, "pooling": "sum", "pooling_layer": "mix", "sentence_width": 12}


def test_the_extraction_module_is_the_equation():
    """3.1: weighted average of the layers, sum over tokens, linear map."""
    model, text = make_model(**EXTRACTION).eval(), make_batch()["net_input"]["src_tokens"]
    encoder = model.encoder
    encoder.layer_weights.data = torch.tensor([0.5, -1.0, 0.2])
    layers = encoder(text, return_all_hiddens=True)["encoder_states"]
    weights = [math.exp(x) / sum(map(math.exp, (0.5, -1.0, 0.2))) for x in (0.5, -1.0, 0.2)]
    for row, tokens in enumerate(text):
        total = sum(
            weight * layer[position, row]
            for weight, layer in zip(weights, layers, strict=True)
            for position in range(int(tokens.ne(SIZES.padding).sum()))
        )
        expected = encoder.sentence_map.weight @ total + encoder.sentence_map.bias
        torch.testing.assert_close(encoder(text)["sentence_vectors"][row], expected)


@pytest.mark.parametrize("losses", ["adversarial_alignment,cycle_consistency", "triplet_ranking"])
def test_below_it_everything_stays_to_the_last_bit(losses):
    model = make_model(dropout=0.3, **EXTRACTION)
    criterion = make_criterion(losses, model)
    before = copy.deepcopy(model.state_dict())
    for number in (1, 2):
        update(model, criterion, number)
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed == {
        f"encoder.{name}" for name in ("layer_weights", "sentence_map.weight", "sentence_map.bias")
    }
    assert all(p.grad is None for name, p in model.named_parameters() if name not in changed)


# --- cycle consistency


def cosine(a: Tensor, b: Tensor) -> Tensor:
    return a @ b / (a.norm() * b.norm())


def h_in_a_loop(a: list[Tensor], b: list[Tensor], margin: float) -> Tensor:
    """3.2 with the hardest negatives."""
    total = 0
    for i in range(len(a)):
        others = [n for n in range(len(a)) if n != i]
        right = cosine(a[i], b[i])
        for wrong in (
            max((cosine(a[n], b[i]) for n in others), key=lambda x: x.item()),
            max((cosine(a[i], b[n]) for n in others), key=lambda x: x.item()),
        ):
            total = total + (margin - right + wrong).clamp(min=0)
    return total


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_cycle_consistency_is_the_equation(margin):
    torch.manual_seed(1)
    loss = CycleConsistency(CycleConsistencyOptions(margin=margin), SIZES).double()
    u, v = pair_vectors()
    inputs = [u, v, *loss.parameters()]
    term = loss(outputs_of(u, v), pair_batch())
    forth = [loss.forth.weight @ y + loss.forth.bias for y in u]
    back = [loss.back.weight @ y + loss.back.bias for y in v]
    there_and_back = [loss.back.weight @ y + loss.back.bias for y in forth]
    back_and_there = [loss.forth.weight @ y + loss.forth.bias for y in back]
    expected = h_in_a_loop(list(u), there_and_back, margin) + h_in_a_loop(back_and_there, list(v), margin)
    assert expected > 0
    torch.testing.assert_close(term.value, expected.detach())
    assert term.count == 3
    gradients = (torch.autograd.grad(each, inputs) for each in (term.loss, 5 * expected))
    for found, plain in zip(*gradients, strict=True):
        torch.testing.assert_close(found, plain)


@pytest.mark.parametrize("loss_type, options", [
    (AdversarialAlignment, AdversarialAlignmentOptions), (CycleConsistency, CycleConsistencyOptions),
])  # fmt: skip
def test_unit_vectors_are_what_both_losses_see(loss_type, options):
    """Whatever the length of the encoder's; the discriminator learns from them, too."""
    torch.manual_seed(1)
    loss = loss_type(options(unit_vectors=True), SIZES)
    plain = loss_type(options(), SIZES)
    plain.load_state_dict(loss.state_dict())
    u, v = (side.detach().float() for side in pair_vectors())
    units = [side / side.norm(dim=1, keepdim=True) for side in (u, v)]
    expected = plain(outputs_of(*units), pair_batch())
    for scale in (1, 100):
        term = loss(outputs_of(scale * u, v / scale), pair_batch())
        torch.testing.assert_close(term.value, expected.value)
    if loss_type is AdversarialAlignment:
        torch.testing.assert_close(loss.seen[-1], tuple(units))
    assert not torch.isclose(plain(outputs_of(100 * u, v), pair_batch()).value, expected.value)


def test_dropout_is_of_what_both_maps_return():
    """The maps return the vectors here: a quarter of the numbers is left, four times as large."""
    loss = CycleConsistency(CycleConsistencyOptions(dropout=0.5), SIZES)
    vectors, same = random_vectors(1, 2000), nn.Identity()
    found = loss.cycle(vectors, same, same)
    kept = found.ne(0)
    assert float(kept.float().mean()) == pytest.approx(0.25, abs=0.03)
    torch.testing.assert_close(found[kept], 4 * vectors[kept])
    assert torch.equal(loss.eval().cycle(vectors, same, same), vectors)
    with pytest.raises(InputError, match=r"--cycle-consistency-dropout -0\.1: expected"):
        CycleConsistency(CycleConsistencyOptions(dropout=-0.1), SIZES)


@pytest.mark.parametrize("option", ["hardest_without_hinge", "mean_of_triplets"])
def test_which_triplets_count_in_a_cycle(option):
    torch.manual_seed(1)
    loss = CycleConsistency(CycleConsistencyOptions(margin=0.1, **{option: True}), SIZES).double()
    u, v = pair_vectors()
    cycles = (u, loss.back(loss.forth(u))), (loss.forth(loss.back(v)), v)
    expected = sum(
        triplet_ranking(pooled_similarity(*sides), 0.1, **{option: True}) for sides in cycles
    ).detach()
    torch.testing.assert_close(loss(outputs_of(u, v), pair_batch()).value, expected)
    without = sum(triplet_ranking(pooled_similarity(*sides), 0.1) for sides in cycles)
    assert not torch.isclose(expected, without)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "--adversarial-alignment-steps 0: expected a number above 0"),
        ({"lr": math.inf}, "--adversarial-alignment-lr inf: expected a number above 0"),
        ({"dropout": 1.0}, "--adversarial-alignment-dropout 1.0: expected a number from 0 to below 1"),
        ({"hidden": -1}, "--adversarial-alignment-hidden -1: expected a number, 0 or above"),
        ({"strength": -1.0}, "--adversarial-alignment-strength -1.0: expected a number, 0 or above"),
        (
            {"strength": 2.0, "bound": "none"},
            "--adversarial-alignment-strength 2.0: expected none, as --adversarial-alignment-bound none",
        ),
    ],
)
def test_options_that_mean_nothing(options, message):
    with pytest.raises(InputError, match=message):
        make(**options)
