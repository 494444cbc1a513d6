"""BERT-score and normalization against plain loops over the equations."""

import pytest
import torch
from torch import Tensor

from fairseq_ext.modules import similarity
from fairseq_ext.modules.similarity import (
    Tokens,
    TokenStates,
    bert_score,
    bert_scores,
    normalized,
    pooled_similarity,
)
from tests.fairseq_ext.allocations import LargestTensor

B, T, C = 4, 5, 3


def random_side(seed: int, sentences: int = B, longest: int = T) -> tuple[Tensor, Tensor]:
    """States, B x T x C, and padding, B x T, of sentences of random lengths."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(sentences, longest, C, generator=generator, dtype=torch.float64)
    lengths = torch.randint(1, longest + 1, (sentences,), generator=generator)
    return states.requires_grad_(), torch.arange(longest) >= lengths[:, None]


def loop(source: list[Tensor], target: list[Tensor]) -> list[list[tuple[Tensor, Tensor]]]:
    """P and R of 2.2 for all pairs of sentences, each T x C."""
    return [
        [
            (
                sum(max((si @ tj for si in s), key=float) for tj in t) / len(t),
                sum(max((si @ tj for tj in t), key=float) for si in s) / len(s),
            )
            for t in target
        ]
        for s in source
    ]


def unpadded(states: Tensor, padding: Tensor) -> list[Tensor]:
    return [sentence[~pad] for sentence, pad in zip(states, padding, strict=True)]


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_bert_score_is_the_equation(seed, cosine):
    sides = [random_side(seed), random_side(seed + 10, sentences=B - 1, longest=T + 2)]
    scores = bert_score(*(TokenStates.of(*side, cosine=cosine) for side in sides))
    plain = [unpadded(*side) for side in sides]
    if cosine:
        plain = [[s / s.norm(dim=1, keepdim=True) for s in side] for side in plain]
    for scored, looped in zip(
        zip(*map(torch.Tensor.flatten, scores), strict=True),
        [pair for row in loop(*plain) for pair in row],
        strict=True,
    ):
        precision, recall = looped
        expected = 2 * precision * recall / (precision + recall) if min(looped) > 0 else min(looped)
        torch.testing.assert_close(torch.stack(scored), torch.stack([precision, recall, expected]))


def test_its_gradient_is_that_of_the_equation():
    sides = [random_side(1), random_side(2, sentences=B - 1)]
    weights = torch.randn(3, B, B - 1, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    inputs = [states for states, _ in sides]
    scores = torch.stack(list(bert_score(*(TokenStates.of(*side) for side in sides))))
    found = torch.autograd.grad((weights * scores).sum(), inputs)
    total = 0
    for m, row in enumerate(loop(*(unpadded(*side) for side in sides))):
        for n, (precision, recall) in enumerate(row):
            f = (
                2 * precision * recall / (precision + recall)
                if min(precision, recall) > 0
                else min(precision, recall)
            )
            total = total + (weights[:, m, n] * torch.stack([precision, recall, f])).sum()
    for mine, plain in zip(found, torch.autograd.grad(total, inputs), strict=True):
        torch.testing.assert_close(mine, plain)


@pytest.mark.parametrize("block", [1, T * T, 3 * T * T, 7 * T * T, 1 << 20])
def test_blocks_change_nothing(block):
    sides = [random_side(4), random_side(5)]
    inputs = [states for states, _ in sides]
    results = []
    for size in (None, block):
        scores = bert_score(*(TokenStates.of(*side) for side in sides), block=size)
        results.append((*scores, *torch.autograd.grad(scores.f.square().sum(), inputs)))
    for whole, blocked in zip(*results, strict=True):
        torch.testing.assert_close(blocked, whole, rtol=1e-12, atol=1e-12)


def test_products_of_all_tokens_never_exist():
    sentences, length, width = 24, 40, 8
    sides = [torch.randn(sentences, length, width, requires_grad=True) for _ in range(2)]
    padding = torch.zeros(sentences, length, dtype=torch.bool)

    states = [TokenStates.of(side, padding) for side in sides]
    with LargestTensor() as watched:
        bert_score(*states, block=2 * length * length).f.sum().backward()
    matches = 2 * sentences * sentences * length
    assert watched.numbers <= matches < (sentences * length) ** 2


def test_special_tokens_are_matched_but_do_not_count():
    states = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    none = torch.zeros(1, 2, dtype=torch.bool)
    special = torch.tensor([[False, True]])
    target = TokenStates.of(torch.tensor([[[0.0, 4.0], [0.0, 3.0]]]), none)
    scores = bert_score(TokenStates.of(states, none, special), target)
    assert [float(score) for score in scores] == [3.5, 0.0, 0.0]
    alone = bert_score(TokenStates.of(states[:, 1:], none[:, 1:], special[:, 1:]), target)
    assert [float(score) for score in alone[:2]] == [3.5, 4.0]


def test_one_long_sentence_does_not_make_all_of_its_text_long(monkeypatch):
    made = []
    real = similarity.bert_score
    monkeypatch.setattr(
        similarity,
        "bert_score",
        lambda *sides: made.append([side.shares.numel() for side in sides]) or real(*sides),
    )
    text = [
        Tokens(torch.randn(length, C), torch.zeros(length, dtype=torch.bool)) for length in [90, *[3] * 200]
    ]
    scores = bert_scores(text, text[:150])
    assert sum(rows * columns for rows, columns in made) < (201 * 90) * (150 * 90) / 50
    assert (scores.diagonal() > 0.999).all()


def test_f_has_no_pole_where_precision_and_recall_cancel():
    none = torch.zeros(1, 2, dtype=torch.bool)
    source = torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]], requires_grad=True)
    for opposite in (-1.0, -0.999, -1.001):
        target = torch.tensor([[[0.5, 1.0], [opposite, 0.0]]])
        scores = bert_score(
            TokenStates.of(source[:, :1], none[:, :1]), TokenStates.of(target[:, 1:], none[:, 1:])
        )
        assert float(scores.f) == pytest.approx(opposite)
        assert torch.autograd.grad(scores.f.sum(), source)[0].abs().max() < 2
    mixed = bert_score(
        TokenStates.of(torch.tensor([[[1.0]]]), none[:, :1]),
        TokenStates.of(torch.tensor([[[1.0], [-1.1]]]), none),
    )
    assert float(mixed.precision) == pytest.approx(-0.05) and float(mixed.recall) == 1
    assert float(mixed.f) == pytest.approx(-0.05)


def test_half_precision_is_compared_in_single():
    states = torch.randn(2, 3, C, dtype=torch.bfloat16)
    padding = torch.zeros(2, 3, dtype=torch.bool)
    assert bert_score(*[TokenStates.of(states, padding)] * 2).f.dtype == torch.float32
    assert pooled_similarity(states[:, 0], states[:, 0]).dtype == torch.float32


def test_pooled_similarity():
    source, target = torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    assert pooled_similarity(source, target, cosine=False).tolist() == [[3.0, 8.0]]
    assert pooled_similarity(source, target).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]


def normalized_in_a_loop(scores: Tensor, alpha: float) -> Tensor:
    """s_ij of 2.2, with the term of footnote 3."""
    rows, columns = scores.shape
    every = sum(scores[m, n] for m in range(rows) for n in range(columns)) / (rows * columns)
    return torch.stack(
        [
            torch.stack(
                [
                    scores[i, j]
                    - alpha * (sum(scores[i]) / columns + sum(scores[:, j]) / rows)
                    + (2 * alpha - 1) * every
                    for j in range(columns)
                ]
            )
            for i in range(rows)
        ]
    )


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.75, 1.0])
def test_normalization_and_its_gradient_are_the_equation(alpha):
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(4, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    results = []
    for function in (normalized, normalized_in_a_loop):
        result = function(scores, alpha)
        results.append((result, *torch.autograd.grad((weights * result).sum(), scores)))
    for mine, plain in zip(*results, strict=True):
        torch.testing.assert_close(mine, plain)
    assert float(results[0][0].mean()) == pytest.approx(0, abs=1e-12)


def test_normalization_by_tiles():
    scores = torch.randn(5, 7, generator=torch.Generator().manual_seed(1))
    tiled = normalized(scores, 0.75, batch=3)
    torch.testing.assert_close(tiled[:3, :3], normalized(scores[:3, :3], 0.75))
    torch.testing.assert_close(tiled[3:, 5:], normalized(scores[3:, 5:], 0.75))
    torch.testing.assert_close(normalized(scores, 0.75, batch=7), normalized(scores, 0.75))


def test_normalization_demotes_a_popular_sentence():
    scores = torch.tensor([[0.8, 0.7, 0.9], [0.6, 0.8, 0.9], [0.5, 0.6, 1.0]])
    assert scores.argmax(dim=1).tolist() == [2, 2, 2]
    assert normalized(scores, 0.75).argmax(dim=1).tolist() == [0, 1, 2]
