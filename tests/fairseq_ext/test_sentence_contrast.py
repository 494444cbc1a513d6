"""`sentence_contrast` and `additive_margin` against loops over equations 2.8 to 2.11, 3.1 and 3.2."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from command_line.errors import InputError
from fairseq_ext.losses.additive_margin import AdditiveMargin
from fairseq_ext.losses.sentence_contrast import SentenceContrast
from fairseq_ext.modules.surface_hashes import sentence_hashes
from tests.fairseq_ext.sentence_pairs import (
    EOS,
    PAD,
    SIZES,
    SOURCES,
    TARGETS,
    outputs_of,
    padded,
    pair_batch,
    pair_vectors,
)

SCALED = {"temperature": 0.1, "dim": 5}
SYSTEMS = [
    (SentenceContrast, {"dim": 5}),
    (SentenceContrast, {"dim": 0, "temperature": 0.5, "weight": 2.0}),
    (AdditiveMargin, {}),
    (AdditiveMargin, SCALED),
    (AdditiveMargin, {"margin": 0.7}),
]


def make(loss=SentenceContrast, seed: int = 1, **options):
    torch.manual_seed(seed)
    return loss(loss.Options(**options), SIZES).double()


def h(loss, vector):
    """2.10"""
    if not loss.options.dim:
        return vector
    second, _, first = loss.projection
    return first.weight @ (second.weight @ vector + second.bias).clamp(min=0) + first.bias


def by_equations(loss, u, v, margin: float = 0.0, negatives=lambda j, k: True):
    """2.8, with the similarity of the positive less the margin of 3.2; `negatives` says which pairs are."""
    pairs, temperature = range(len(u)), loss.options.temperature
    phi = [[F.cosine_similarity(h(loss, u[j]), h(loss, v[k]), dim=0) for k in pairs] for j in pairs]
    total = 0
    for j in pairs:
        right = ((phi[j][j] - margin) / temperature).exp()
        others = [k for k in pairs if k != j and negatives(j, k)]
        total = total - (right / (right + sum((phi[j][k] / temperature).exp() for k in others))).log()
        total = total - (right / (right + sum((phi[k][j] / temperature).exp() for k in others))).log()
    return total


@pytest.mark.parametrize(("kind", "options"), SYSTEMS, ids=str)
def test_equals_the_equations(kind, options):
    loss, (u, v) = make(kind, **options), pair_vectors()
    inputs = [u, v, *loss.parameters()]
    expected = by_equations(loss, u, v, getattr(loss.options, "margin", 0.0))
    term = loss(outputs_of(u, v), pair_batch())
    torch.testing.assert_close(term.value, expected.detach())
    torch.testing.assert_close(term.loss, loss.options.weight * expected)
    assert (term.count, term.value.requires_grad) == (6, False)
    for found, reference in zip(
        torch.autograd.grad(term.loss, inputs),
        torch.autograd.grad(loss.options.weight * expected, inputs),
        strict=True,
    ):
        torch.testing.assert_close(found, reference)


def test_defaults_are_the_thesis():
    options = SentenceContrast.Options()
    assert (options.weight, options.temperature, options.dim) == (1.0, 0.1, 128)
    shapes = {name: tuple(each.shape) for name, each in make().named_parameters()}
    assert shapes == {
        "projection.0.weight": (6, 6), "projection.0.bias": (6,),
        "projection.2.weight": (128, 6), "projection.2.bias": (128,),
    }  # fmt: skip
    vanilla = AdditiveMargin.Options()
    assert (vanilla.margin, vanilla.temperature, vanilla.dim) == (0.3, 1.0, 0)
    assert not list(make(AdditiveMargin).parameters())


def test_a_margin_of_zero_is_the_contrast_without():
    u, v = pair_vectors()
    with_margin = make(AdditiveMargin, margin=0.0, **SCALED)(outputs_of(u, v), pair_batch())
    torch.testing.assert_close(with_margin.loss, make(**SCALED)(outputs_of(u, v), pair_batch()).loss)


@pytest.mark.parametrize("kind", [SentenceContrast, AdditiveMargin])
def test_the_order_of_the_batch_changes_nothing(kind):
    loss, (u, v) = make(kind, drop_duplicates=True), pair_vectors()
    found = loss(outputs_of(u, v), pair_batch(more=2)).loss
    order = [2, 0, 1]
    torch.testing.assert_close(loss(outputs_of(u, v, rows=order), pair_batch(order)).loss, found)


def test_a_pair_alone_has_nothing_to_learn():
    u, v = pair_vectors(1)
    term = make()(outputs_of(u, v), pair_batch((0,)))
    assert term.loss.item() == pytest.approx(0)
    term.loss.backward()


# --- duplicates


@pytest.mark.parametrize("kind", [SentenceContrast, AdditiveMargin])
def test_pairs_that_share_a_sentence_are_no_negatives(kind):
    """0 and 3 have the same source, 1 and 4 the same target, 2 and 5 are equal, the target of 6 is the source
    of 7, 8 shares nothing.
    """
    sources = [*SOURCES, SOURCES[0], [20, EOS], SOURCES[2], [21, 22, EOS], [24, EOS], [26, EOS]]
    targets = [*TARGETS, [23, EOS], TARGETS[1], TARGETS[2], [24, EOS], [25, EOS], [27, EOS]]
    batch = pair_batch_of(sources, targets)
    u, v = pair_vectors(9)
    loss = make(kind, drop_duplicates=True)
    same = {frozenset(pair) for pair in ((0, 3), (1, 4), (2, 5), (6, 7))}
    margin = getattr(loss.options, "margin", 0.0)
    expected = by_equations(loss, u, v, margin, lambda j, k: frozenset((j, k)) not in same)
    found = loss(outputs_of(u, v), batch)
    torch.testing.assert_close(found.loss, expected)
    for gradient, reference in zip(
        torch.autograd.grad(found.loss, (u, v)), torch.autograd.grad(expected, (u, v)), strict=True
    ):
        torch.testing.assert_close(gradient, reference)
    kept = make(kind)(outputs_of(u, v), batch)
    torch.testing.assert_close(kept.loss, by_equations(loss, u, v, margin))
    assert kept.loss > found.loss


def pair_batch_of(sources, targets) -> dict:
    return {"net_input": {"src_tokens": padded(sources)}, "mirror": {"src_tokens": padded(targets)}}


def test_a_batch_of_equal_pairs_has_nothing_to_learn():
    u, v = pair_vectors()
    batch = pair_batch_of([SOURCES[0]] * 3, [TARGETS[0]] * 3)
    assert make(drop_duplicates=True)(outputs_of(u, v), batch).value.item() == pytest.approx(0)


def test_sentences_are_compared_by_their_tokens():
    sentences = [[5, 6, EOS], [6, 5, EOS], [5, 6, EOS], [5, 6, 6, EOS], [EOS]]
    right = padded(sentences, more=2)
    left = torch.stack([row.roll(int(row.eq(PAD).sum())) for row in right])
    hashes = sentence_hashes(right, PAD)
    assert [hashes.tolist().index(each) for each in hashes.tolist()] == [0, 1, 0, 3, 4]
    assert torch.equal(hashes, sentence_hashes(left, PAD))
    assert torch.equal(hashes, sentence_hashes(padded(sentences), PAD))


# --- options


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            SentenceContrast,
            {"temperature": 0},
            "--sentence-contrast-temperature 0: expected a number above 0",
        ),
        (SentenceContrast, {"dim": -1}, "--sentence-contrast-dim -1: expected a number above 0, or 0 for no"),
        (AdditiveMargin, {"margin": -0.1}, "--additive-margin-margin -0.1: expected a number, 0 or above"),
        (AdditiveMargin, {"margin": float("inf")}, "--additive-margin-margin inf: expected a number"),
        (
            AdditiveMargin,
            {"temperature": float("nan")},
            "--additive-margin-temperature nan: expected a number",
        ),
        (AdditiveMargin, {"weight": float("inf")}, "--additive-margin-weight inf: expected a number, 0 or"),
    ],
)
def test_nonsense_is_refused(kind, options, message):
    with pytest.raises(InputError) as error:
        make(kind, **options)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_any_encoder_will_do():
    """The vector of one that makes none is the mean of its states."""
    loss = SentenceContrast(SentenceContrast.Options(), dataclasses.replace(SIZES, sentence_width=None))
    assert loss.projection[0].in_features == SIZES.encoder_width


@pytest.mark.parametrize("kind", [SentenceContrast, AdditiveMargin])
def test_nested_widths_are_a_sum_over_shorter_vectors(kind):
    """Against the equations, of vectors that are cut."""
    u, v = pair_vectors()
    loss = make(kind, dim=0, nested_widths="2,3")
    margin = getattr(loss.options, "margin", 0.0)
    expected = sum(by_equations(loss, u[:, :width], v[:, :width], margin) for width in (2, 3, u.shape[1]))
    term = loss(outputs_of(u, v), pair_batch())
    torch.testing.assert_close(term.loss, expected)
    assert term.count == 2 * len(u)
    found = torch.autograd.grad(term.loss, [u, v])
    for one, other in zip(found, torch.autograd.grad(expected, [u, v]), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("widths", ["3,2", "0", "x", "²", "٣", "2,2", "6", "-1"])
def test_other_nested_widths_are_refused(widths):
    with pytest.raises(InputError, match=r"nested-widths .*: expected ascending numbers between 1 and 5"):
        make(dim=0, nested_widths=widths)
    with pytest.raises(InputError, match="nested-widths 2: expected none, or dim 0"):
        make(nested_widths="2")
