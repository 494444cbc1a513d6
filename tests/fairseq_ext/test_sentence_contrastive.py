"""`sentence_contrastive` against loops over the formula of Pan et al. (2021)."""

import pytest
import torch
import torch.nn.functional as F

from command_line.errors import InputError
from fairseq_ext.losses.sentence_contrastive import SentenceContrastive, SentenceContrastiveOptions
from fairseq_ext.losses.weighted_loss import ModelOutputs
from tests.fairseq_ext.encodings import SIZES, pad_further, random_encoding, random_outputs

BATCH = {"ntokens": 11}


def make(**options) -> SentenceContrastive:
    return SentenceContrastive(SentenceContrastiveOptions(**options), SIZES)


def by_formula(outputs, tokens: int, weight: float = 1.0, temperature: float = 0.1) -> torch.Tensor:
    def mean(encoding, sentence):
        states, padding = encoding["encoder_out"][0], encoding["encoder_padding_mask"][0]
        kept = [states[t, sentence] for t in range(len(states)) if not padding[sentence, t]]
        return sum(kept) / len(kept)

    x, y = ([mean(side, i) for i in range(3)] for side in (outputs.source, outputs.mirror))
    loss = 0
    for i in range(3):
        similar = [(F.cosine_similarity(x[i], y[j], dim=0) / temperature).exp() for j in range(3)]
        loss = loss - (similar[i] / sum(similar)).log()
    return weight * tokens / 3 * loss


@pytest.mark.parametrize("options", [{}, {"temperature": 0.5, "weight": 0.2}], ids=str)
def test_equals_the_formula(options):
    loss, outputs = make(**options), random_outputs()
    states = [outputs.source["encoder_out"][0], outputs.mirror["encoder_out"][0]]
    expected, term = by_formula(outputs, 11, **options), loss(outputs, BATCH)
    torch.testing.assert_close(term.loss, expected)
    torch.testing.assert_close(term.value * loss.options.weight * 11 / term.count, term.loss)
    assert term.count == 3
    for found, reference in zip(
        torch.autograd.grad(term.loss, states), torch.autograd.grad(expected, states), strict=True
    ):
        torch.testing.assert_close(found, reference)
        assert found.any()


def test_padding_adds_nothing():
    outputs = random_outputs()
    wider = ModelOutputs(pad_further(outputs.source), pad_further(outputs.mirror))
    torch.testing.assert_close(make()(wider, BATCH).loss, make()(outputs, BATCH).loss)


def test_a_sentence_alone_has_nothing_to_learn():
    outputs = ModelOutputs(random_encoding((4,)), random_encoding((3,), seed=2))
    term = make()(outputs, BATCH)
    assert term.loss.item() == pytest.approx(0)
    term.loss.backward()


def test_it_has_no_parameters_and_refuses_bad_options():
    assert not list(make().parameters())
    with pytest.raises(InputError, match="--sentence-contrastive-temperature -1: expected a number above 0"):
        make(temperature=-1)
