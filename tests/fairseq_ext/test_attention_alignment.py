"""`attention_alignment` against loops over the loss of Garg et al. (2019)."""

import dataclasses

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext.losses.attention_alignment import (
    AttentionAlignment,
    AttentionAlignmentOptions,
    aligned_cells,
)
from fairseq_ext.losses.weighted_loss import ModelOutputs
from tests.fairseq_ext.encodings import ALIGNED, SIZES, word_alignments

# the third pair repeats a token of the first one and adds another
OVERLAPPING = [(0, (0, 1), (0, 1), (0, 2)), (1, (1, 2), (0, 1), (0, 1)), (1, (1, 3), (0, 1), (0, 1))]


def make(layers: int = 6, **options) -> AttentionAlignment:
    sizes = dataclasses.replace(SIZES, decoder_layers=layers)
    return AttentionAlignment(AttentionAlignmentOptions(**options), sizes)


def random_attention(shape=(3, 5, 6), seed: int = 1) -> torch.Tensor:
    """B x T x S, rows add up to one."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).softmax(-1).requires_grad_()


def by_formula(attention, rows) -> torch.Tensor:
    G = torch.zeros(attention.shape)
    for sentence, source, _, target in rows:
        for t in range(*target):
            for s in range(*source):
                G[sentence, t, s] = 1
    loss = torch.zeros(())
    for b in range(G.size(0)):
        for t in range(G.size(1)):
            for s in range(G.size(2)):
                if G[b, t, s]:
                    loss = loss - G[b, t, s] / G[b, t].sum() * attention[b, t, s].log()
    return loss


def term_of(loss, attention, rows):
    return loss(ModelOutputs({}, None, {"attn": [attention]}), {"word_alignments": word_alignments(rows)})


@pytest.mark.parametrize("rows", [ALIGNED, OVERLAPPING, ALIGNED[:1]], ids=["disjoint", "overlapping", "one"])
def test_equals_the_formula(rows):
    attention = random_attention()
    expected, term = by_formula(attention, rows), term_of(make(weight=0.3), attention, rows)
    torch.testing.assert_close(term.value, expected)
    torch.testing.assert_close(term.loss, 0.3 * expected)
    assert term.count == len({(row[0], t) for row in rows for t in range(*row[3])})
    for found, reference in zip(
        torch.autograd.grad(term.loss, attention), torch.autograd.grad(0.3 * expected, attention), strict=True
    ):
        torch.testing.assert_close(found, reference)


def test_cells_by_hand():
    """Sentence 1, target tokens 0 and 1, source token 2 of 4: rows 2 and 3 of two per sentence."""
    rows, cells = aligned_cells(word_alignments([(1, (2, 3), (0, 1), (0, 2))]), 2, 4)
    assert (rows.tolist(), cells.tolist()) == ([2, 3], [10, 14])


def test_the_batch_is_the_sum_of_its_sentences():
    attention = random_attention()
    whole = term_of(make(), attention, ALIGNED)
    parts = [term_of(make(), attention, [row for row in ALIGNED if row[0] == number]) for number in range(3)]
    torch.testing.assert_close(sum(part.loss for part in parts), whole.loss)
    assert sum(part.count for part in parts) == whole.count


def test_no_aligned_word_is_a_zero():
    attention = random_attention()
    term = term_of(make(), attention, [])
    term.loss.backward()
    assert (term.loss.item(), term.count) == (0, 0)
    assert not attention.grad.any()


def test_attention_that_has_vanished_is_not_infinite():
    attention = torch.tensor([[[0.0, 1.0]]], requires_grad=True)
    term = term_of(make(), attention, [(0, (0, 1), (0, 1), (0, 1))])
    term.loss.backward()
    assert torch.isfinite(term.loss)
    assert torch.isfinite(attention.grad).all()


def test_the_penultimate_layer_and_one_head_by_default():
    assert AttentionAlignmentOptions().weight == 0.05
    assert make().decoder_arguments == {"alignment_layer": 4, "alignment_heads": 1}
    assert make(layers=1).decoder_arguments["alignment_layer"] == 0
    assert make(layer=6).decoder_arguments["alignment_layer"] == 5


def test_full_context_decodes_again():
    loss = make(full_context=True, layer=2)
    assert loss.decodes_again
    assert loss.decoder_arguments == {
        "alignment_layer": 1,
        "alignment_heads": 1,
        "full_context_alignment": True,
    }
    assert not make().decodes_again


@pytest.mark.parametrize("layer", [0, 7, -1])
def test_layers_that_the_decoder_lacks(layer):
    message = f"--attention-alignment-layer {layer}: expected a decoder layer between 1 and 6"
    with pytest.raises(InputError, match=message):
        make(layer=layer)


def test_attention_to_an_interlingua_is_refused():
    outputs = ModelOutputs({"token_states": []}, None, {"attn": [random_attention()]})
    with pytest.raises(InputError, match="--losses attention_alignment: not with --arch interling"):
        make()(outputs, {"word_alignments": word_alignments()})
