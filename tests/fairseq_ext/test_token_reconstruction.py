"""`token_reconstruction` and `unified_generation` against loops over equations 2.2 to 2.7 of the thesis."""

import dataclasses
from collections import Counter

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext.losses.token_reconstruction import TokenReconstruction, TokenReconstructionOptions
from fairseq_ext.losses.unified_generation import UnifiedGeneration
from fairseq_ext.modules import token_distributions
from tests.fairseq_ext.allocations import LargestTensor
from tests.fairseq_ext.sentence_pairs import (
    EOS,
    PAD,
    SIZES,
    SOURCE_LANGUAGES,
    SOURCES,
    TARGET_LANGUAGES,
    TARGETS,
    outputs_of,
    pair_batch,
    pair_vectors,
    random_embeddings,
)

OPTIONS = [
    {},
    {"without_language": True},
    {"shared_embedding": True},
    {"shared_embedding": True, "without_language": True},
    {"without_eos": True, "language_dim": 5, "weight": 0.5},
]


def make(loss=TokenReconstruction, sizes=SIZES, seed: int = 1, **options):
    torch.manual_seed(seed)
    return loss(TokenReconstructionOptions(**{"language_dim": 3, **options}), sizes).double()


def bag(sentence, without_eos: bool) -> dict:
    """p of 2.7."""
    tokens = [token for token in sentence if not (without_eos and token == EOS)]
    return {word: count / len(tokens) for word, count in Counter(tokens).items()}


def divergence_by_hand(loss, vector, language, p: dict, embeddings):
    """D_KL(p || q) with q of 2.4, word by word."""
    if loss.language_embedding is not None:
        vector = torch.cat([loss.language_embedding.weight[language], vector])
    x = loss.hidden.weight @ vector + loss.hidden.bias
    x = x * (1 / (1 + (-x).exp()))  # swish
    q = ((loss.output.weight if loss.output is not None else embeddings) @ x).exp()
    q = q / q.sum()
    return sum(share * (share / q[word]).log() for word, share in p.items())


def by_equations(loss, u, v, embeddings, sources=SOURCES, targets=TARGETS):
    """2.6 pair by pair."""
    total = 0
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        p, p_other = (bag(sentence, loss.options.without_eos) for sentence in (source, target))
        total = total + divergence_by_hand(loss, u[i], TARGET_LANGUAGES[i], p_other, embeddings)
        total = total + divergence_by_hand(loss, v[i], SOURCE_LANGUAGES[i], p, embeddings)
    return total


@pytest.mark.parametrize("block", [7, 40, None])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equals_the_equations(options, block, monkeypatch):
    """Also for the word that a sentence has three times, and with the vocabulary in blocks."""
    if block:
        monkeypatch.setattr(token_distributions, "LOGITS_PER_BLOCK", block)
    loss, (u, v), embeddings = make(**options), pair_vectors(), random_embeddings()
    inputs = [u, v, *loss.parameters(), *([embeddings] if loss.output is None else [])]
    expected = by_equations(loss, u, v, embeddings)
    term = loss(outputs_of(u, v, embeddings), pair_batch())
    torch.testing.assert_close(term.value, expected.detach())
    torch.testing.assert_close(term.loss, loss.options.weight * expected)
    assert (term.count, term.value.requires_grad) == (6, False)
    for found, reference in zip(
        torch.autograd.grad(term.loss, inputs),
        torch.autograd.grad(loss.options.weight * expected, inputs),
        strict=True,
    ):
        torch.testing.assert_close(found, reference)
        assert found.any()


def test_defaults_are_the_thesis():
    loss = TokenReconstruction(TokenReconstructionOptions(), dataclasses.replace(SIZES, sentence_width=None))
    assert {name: tuple(each.shape) for name, each in loss.named_parameters()} == {
        "language_embedding.weight": (4, 128),  # W_la, of the languages that are used
        "hidden.weight": (136, 136),  # (d_la + d) x (d_la + d)
        "hidden.bias": (136,),
        "output.weight": (30, 136),  # d_vcb x (d_la + d)
    }
    assert loss.options.weight == 1
    assert not loss.options.without_eos


def test_a_shared_embedding_is_no_parameter_of_the_loss():
    shapes = {name: tuple(each.shape) for name, each in make(shared_embedding=True).named_parameters()}
    assert shapes == {"language_embedding.weight": (4, 3), "hidden.weight": (8, 9), "hidden.bias": (8,)}


def test_the_language_is_that_of_the_other_sentence():
    loss, (u, v) = make(), pair_vectors()
    batch = pair_batch(rows=(0,))  # from language 0 to language 2
    loss(outputs_of(u, v, rows=(0,)), batch).loss.backward()
    assert loss.language_embedding.weight.grad.abs().sum(1).gt(0).tolist() == [True, False, True, False]
    features = loss.features(torch.cat([u[:1], v[:1]]), batch)
    other = loss.features(torch.cat([u[:1], v[:1]]), {**batch, "target_languages": torch.tensor([3])})
    assert not torch.equal(features[0], other[0])
    assert torch.equal(features[1], other[1])


def test_without_language_none_is_needed():
    loss = make(without_language=True, sizes=dataclasses.replace(SIZES, languages=0))
    assert loss.batch_fields == ("mirror",)
    assert "source_languages" in make().batch_fields


@pytest.mark.parametrize("loss", [TokenReconstruction, UnifiedGeneration])
def test_padding_and_the_order_of_the_batch_change_nothing(loss):
    xtr, (u, v) = make(loss).eval(), pair_vectors()
    batch = pair_batch()
    hidden = {"tokens": torch.tensor([6, 14, PAD]), "in_mirror": torch.tensor([False, True, False])}
    found = xtr(outputs_of(u, v), {**batch, "hidden_words": hidden})
    wider = xtr(outputs_of(u, v), {**pair_batch(more=3), "hidden_words": hidden})
    order = [2, 0, 1]
    moved = {name: each[order] for name, each in hidden.items()}
    turned = xtr(outputs_of(u, v, rows=order), {**pair_batch(order), "hidden_words": moved})
    for other in (wider, turned):
        torch.testing.assert_close(other.loss, found.loss)


def test_half_batches_add_up_to_the_whole():
    loss, (u, v) = make(), pair_vectors()
    whole = loss(outputs_of(u, v), pair_batch()).loss
    halves = [loss(outputs_of(u, v, rows=rows), pair_batch(rows)).loss for rows in ((0, 1), (2,))]
    torch.testing.assert_close(sum(halves), whole)


def test_a_sentence_without_tokens_teaches_nothing():
    loss, (u, v) = make(without_eos=True), pair_vectors()
    batch = pair_batch(sources=[[EOS], *SOURCES[1:]])
    term = loss(outputs_of(u, v), batch)
    expected = by_equations(loss, u, v, None, [[EOS], *SOURCES[1:]])
    torch.testing.assert_close(term.loss, expected)
    gradient = torch.autograd.grad(term.loss, v)[0]
    assert not gradient[0].any()
    assert gradient[1].any()


@pytest.mark.parametrize("training", [True, False])
def test_the_softmax_never_exists_for_the_whole_batch(training, monkeypatch):
    """Largest are parameters and their gradients, V x C, not 2 B x V."""
    monkeypatch.setattr(token_distributions, "LOGITS_PER_BLOCK", 5000)
    vocabulary, pairs = 2000, 40
    loss = make(sizes=dataclasses.replace(SIZES, vocabulary=vocabulary)).float()
    u, v = (vector.float() for vector in pair_vectors(pairs))
    batch = pair_batch([0, 1, 2] * 13 + [0])
    with LargestTensor() as watched, torch.set_grad_enabled(training):
        term = loss(outputs_of(u, v), batch)
        if training:
            term.loss.backward()
    assert watched.numbers <= vocabulary * 9 < 2 * pairs * vocabulary


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language_dim": 0}, "--token-reconstruction-language-dim 0: expected a number above 0"),
        ({"weight": -1.0}, "--token-reconstruction-weight -1.0: expected a number, 0 or above"),
        ({"weight": float("nan")}, "--token-reconstruction-weight nan: expected a number, 0 or above"),
    ],
)
def test_nonsense_is_refused(options, message):
    with pytest.raises(InputError) as error:
        make(**options)
    assert str(error.value) == message


def test_a_task_without_languages_is_refused():
    with pytest.raises(InputError, match="--token-reconstruction-without-language False: expected True with"):
        make(sizes=dataclasses.replace(SIZES, languages=0))


# --- the unified generative task


def test_one_word_of_each_pair_is_hidden_from_the_model():
    loss, batch = make(UnifiedGeneration), pair_batch([0, 1, 2] * 40)
    torch.manual_seed(3)
    seen = loss.model_batch(batch)
    places = []
    for row, (word, in_mirror) in enumerate(zip(*seen["hidden_words"].values(), strict=True)):
        sides = [
            (seen[side]["src_tokens"][row] != batch[side]["src_tokens"][row]).nonzero().flatten().tolist()
            for side in ("net_input", "mirror")
        ]
        assert len(sides[0]) + len(sides[1]) == 1
        assert bool(sides[1]) == in_mirror
        side, (place,) = ("mirror", sides[1]) if in_mirror else ("net_input", sides[0])
        assert batch[side]["src_tokens"][row, place] == word
        assert seen[side]["src_tokens"][row, place] == SIZES.bos
        assert word not in (PAD, EOS)
        places.append((bool(in_mirror), row % 3, place))
    every = {(False, row, place) for row, each in enumerate(SOURCES) for place in range(len(each) - 1)}
    every |= {(True, row, place) for row, each in enumerate(TARGETS) for place in range(len(each) - 1)}
    assert set(places) == every
    assert torch.equal(batch["net_input"]["src_tokens"][0], pair_batch()["net_input"]["src_tokens"][0])


def test_the_draw_is_another_in_each_update_and_the_same_in_validation():
    loss, batch = make(UnifiedGeneration), pair_batch([0, 1, 2] * 4)
    draws = [loss.model_batch(batch)["hidden_words"]["tokens"].tolist() for _ in range(4)]
    assert any(draw != draws[0] for draw in draws)
    loss.eval()
    state = torch.get_rng_state()
    draws = [loss.model_batch(batch)["hidden_words"]["tokens"].tolist() for _ in range(4)]
    assert draws == [draws[0]] * 4
    assert torch.equal(torch.get_rng_state(), state)


def test_half_of_what_is_learned_is_the_hidden_word():
    """A word of the first source is hidden, one of the second target, none of the third pair."""
    loss, (u, v) = make(UnifiedGeneration), pair_vectors()
    hidden = {"tokens": torch.tensor([5, 13, PAD]), "in_mirror": torch.tensor([False, True, True])}
    expected = 0
    for i in range(3):
        p, p_other = bag(SOURCES[i], False), bag(TARGETS[i], False)
        if i == 0:
            p_other = Counter({5: 0.5}) + Counter({word: share / 2 for word, share in p_other.items()})
        if i == 1:
            p = Counter({13: 0.5}) + Counter({word: share / 2 for word, share in p.items()})
        expected = expected + divergence_by_hand(loss, u[i], TARGET_LANGUAGES[i], p_other, None)
        expected = expected + divergence_by_hand(loss, v[i], SOURCE_LANGUAGES[i], p, None)
    term = loss(outputs_of(u, v), {**pair_batch(), "hidden_words": hidden})
    torch.testing.assert_close(term.loss, expected)


def test_an_empty_sentence_hides_nothing():
    loss = make(UnifiedGeneration)
    batch = pair_batch(sources=[[EOS]] * 3, targets=[[EOS]] * 3)
    seen = loss.model_batch(batch)
    assert torch.equal(seen["mirror"]["src_tokens"], batch["mirror"]["src_tokens"])
    assert seen["hidden_words"]["tokens"].tolist() == [PAD] * 3
    u, v = pair_vectors()
    assert (
        loss(outputs_of(u, v), {**batch, "hidden_words": seen["hidden_words"]}).value > 0
    )  # </s> is learned
