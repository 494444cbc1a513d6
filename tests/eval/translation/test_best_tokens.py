"""The best next tokens against a sort of the whole vocabulary."""

import pytest
import torch

from eval.translation import best_tokens
from eval.translation.best_tokens import BLOCK, NextTokens


@pytest.fixture(autouse=True)
def _several_chunks(monkeypatch):
    monkeypatch.setitem(best_tokens.LOGITS_PER_CHUNK, "cpu", 5 * 4 * BLOCK)


@pytest.mark.parametrize("vocabulary", [11, BLOCK, BLOCK + 1, 4 * BLOCK])
@pytest.mark.parametrize("rows", [1, 5, 13])
def test_best_are_those_of_a_sorted_vocabulary(vocabulary, rows):
    torch.manual_seed(vocabulary + rows)
    features, projection = torch.randn(rows, 6), torch.randn(vocabulary, 6)
    log_p = (features @ projection.t()).log_softmax(dim=1)
    values, tokens = NextTokens([projection], never=[1]).best(features, 10)
    log_p[:, 1] = -torch.inf  # still part of the normalizer
    expected, order = log_p.sort(dim=1, descending=True)
    torch.testing.assert_close(values, expected[:, :10])
    assert torch.equal(tokens, order[:, :10])


def test_best_tokens_may_share_a_block():
    projection = torch.zeros(8 * BLOCK, 1)
    projection[BLOCK : BLOCK + 10, 0] = torch.arange(10, 0, -1.0)
    _, tokens = NextTokens([projection], never=[]).best(torch.ones(1, 1), 10)
    assert tokens[0].tolist() == list(range(BLOCK, BLOCK + 10))


def test_log_p_of_given_tokens():
    torch.manual_seed(1)
    features, projection = torch.randn(12, 6), torch.randn(100, 6)
    tokens = torch.randint(100, (12, 2))
    expected = (features @ projection.t()).log_softmax(dim=1).gather(1, tokens)
    torch.testing.assert_close(NextTokens([projection], never=[1]).log_p(features, tokens), expected)
