"""Momentum contrast and translation language modelling, against plain loops over their equations."""

import copy
import dataclasses
import io
import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from command_line.errors import InputError
from fairseq_ext.losses.momentum_contrast import MomentumContrast, MomentumContrastOptions
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.translation_language_modelling import TranslationLanguageModelling, joined, stacked
from fairseq_ext.losses.weighted_loss import ModelSizes
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.modules.moving_average import MovingAverage
from tests.fairseq_ext.models import build
from tests.fairseq_ext.test_sentence_losses import (
    DICTIONARY,
    assert_close,
    make_batch,
    make_criterion,
    make_model,
    run,
)

QUEUE, DIM, MOMENTUM, TEMPERATURE = 7, 4, 0.6, 0.2
BATCHES = [[(0, 1), (2,)], [(3, 4, 1)], [(2, 0), (4, 3)], [(1,)]]  # of four updates, some of two batches
PAD, BOS, EOS = DICTIONARY.pad(), DICTIONARY.bos(), DICTIONARY.eos()


def contrast(model, cached_gradients: int = 0, **options):
    own = {"queue": QUEUE, "dim": DIM, "momentum": MOMENTUM, "temperature": TEMPERATURE, **options}
    named = {f"momentum_contrast_{name}": value for name, value in own.items()}
    return make_criterion("momentum_contrast", model, cached_gradients=cached_gradients, **named)


def learn(model, criterion) -> None:
    """A step down the gradient, and what follows an update."""
    with torch.no_grad():
        for parameter in [*model.parameters(), *criterion.parameters()]:
            parameter -= 0.1 * parameter.grad
    criterion.after_update(model, 1)


# --- momentum contrast


def z_of(model, layers, side, any_length: bool):
    """Equation 2, sentence by sentence."""
    found = []
    for row in side["src_tokens"]:
        tokens = row[row.ne(PAD)][None]
        h = model.encoder(tokens)["sentence_vectors"][0]
        h = h / h.norm()
        z = layers[2].weight @ (layers[0].weight @ h).clamp(min=0) if layers else h
        found.append(z if any_length else z / z.norm())
    return found


@pytest.mark.parametrize("options", [{}, {"dim": 0}, {"any_length": True}], ids=str)
def test_momentum_contrast_is_the_equations_over_several_updates(options):
    model = make_model()
    criterion = contrast(model, **options)
    loss = criterion.losses["momentum_contrast"]
    slow = copy.deepcopy((model, loss.projection))
    queue, any_length = [row.clone() for row in loss.queue], bool(options.get("any_length"))
    for batches in BATCHES:
        model.zero_grad()
        criterion.zero_grad()
        terms, keys = [], []
        for rows in batches:
            batch = make_batch(rows)
            found, size, log = criterion(model, batch)
            with torch.no_grad():
                own_keys = z_of(*slow, batch["mirror"], any_length)
            queries = z_of(model, loss.projection, batch["net_input"], any_length)
            for z, key in zip(queries, own_keys, strict=True):
                scores = [math.exp(float(z @ other) / TEMPERATURE) for other in [key, *queue]]
                terms.append(-math.log(scores[0] / sum(scores)))
            keys += own_keys
            assert log["momentum_contrast:sum"].item() == pytest.approx(sum(terms[-len(rows) :]), rel=1e-4)
            assert found.item() == pytest.approx(sum(terms[-len(rows) :]), rel=1e-4)
            assert size == log["momentum_contrast:count"] == len(rows)
            found.backward()
        learn(model, criterion)
        queue = [*queue, *keys][-QUEUE:]  # the first in is the first out
        for one, other in zip(slow, (model, loss.projection), strict=True):
            for old, new in zip(*(each.parameters() if each else () for each in (one, other)), strict=True):
                old.data = MOMENTUM * old.data + (1 - MOMENTUM) * new.data
    order = [(loss.place + number) % QUEUE for number in range(QUEUE)]
    torch.testing.assert_close(loss.queue[order], torch.stack(queue), atol=1e-5, rtol=1e-4)


def test_its_gradient_is_that_of_the_equation_and_keys_have_none():
    model = make_model()
    criterion = contrast(model)
    loss, batch = criterion.losses["momentum_contrast"], make_batch()
    *_, gradients = run(criterion, model, batch)
    model.zero_grad()
    criterion.zero_grad()
    keys = [key.detach() for key in z_of(model, loss.projection, batch["mirror"], False)]
    total = 0
    for z, key in zip(z_of(model, loss.projection, batch["net_input"], False), keys, strict=True):
        scores = torch.stack([z @ other for other in [key, *loss.queue]]) / TEMPERATURE
        total = total - scores.log_softmax(0)[0]
    total.backward()
    assert_close(gradients, [each.grad for each in [*model.parameters(), *criterion.parameters()]])


def test_cached_gradients_bound_what_the_slow_encoder_reads_at_a_time():
    model, batch = make_model().eval(), make_batch()
    expected, *_, gradients = run(contrast(model).eval(), model, batch)
    read = []
    model.encoder.register_forward_hook(
        lambda module, given, found: read.append(len(found["sentence_vectors"]))
    )
    found, *_, others = run(contrast(model, cached_gradients=2).eval(), model, batch)
    assert sum(read) == 10 and max(read) == 2  # of both sides
    torch.testing.assert_close(found, expected)
    assert_close(others, gradients)


def test_a_batch_that_is_larger_than_the_queue_leaves_its_last_sentences():
    model = make_model()
    criterion = contrast(model, queue=3)
    run(criterion, model, make_batch())
    (encoded,) = criterion.losses["momentum_contrast"].encoded
    learn(model, criterion)
    found = criterion.losses["momentum_contrast"]
    assert torch.equal(found.queue[[found.place, (found.place + 1) % 3, (found.place + 2) % 3]], encoded[2:])


def test_validation_leaves_queue_and_slow_encoder_as_they_are():
    model = make_model()
    criterion = contrast(model)
    run(criterion, model, make_batch())
    learn(model, criterion)
    loss = criterion.losses["momentum_contrast"]
    before = copy.deepcopy(loss.get_extra_state())
    with torch.no_grad():
        criterion.eval()(model.eval(), make_batch((2, 3)))
    assert loss.encoded == []
    assert_same_state(loss.get_extra_state(), before)


def assert_same_state(found: dict, expected: dict) -> None:
    assert found["place"] == expected["place"] and torch.equal(found["queue"], expected["queue"])
    assert found["weights"].keys() == expected["weights"].keys()
    assert all(torch.equal(found["weights"][name], of) for name, of in expected["weights"].items())


def trained_once():
    model = make_model()
    criterion = contrast(model)
    run(criterion, model, make_batch())
    learn(model, criterion)
    stream = io.BytesIO()
    torch.save({"model": model.state_dict(), "criterion": criterion.state_dict()}, stream)
    stream.seek(0)
    return model, criterion, torch.load(stream, weights_only=True)


def test_a_training_that_goes_on_has_queue_and_slow_encoder():
    model, criterion, state = trained_once()
    again = make_model(seed=5)
    other = contrast(again)
    again.load_state_dict(state["model"])
    other.load_state_dict(state["criterion"])
    expected, *_, gradients = run(criterion, model, make_batch((2, 3)))
    found, *_, others = run(other, again, make_batch((2, 3)))
    assert torch.equal(found, expected) and all(map(torch.equal, others, gradients))
    learn(model, criterion)
    learn(again, other)
    assert_same_state(
        other.losses["momentum_contrast"].get_extra_state(),
        criterion.losses["momentum_contrast"].get_extra_state(),
    )


@pytest.mark.parametrize(("options", "found"), [({"queue": 9}, "9 x 4"), ({"dim": 0}, "7 x 32")])
def test_another_queue_than_that_of_the_checkpoint_is_refused(options, found):
    *_, state = trained_once()
    del state["criterion"]["losses.momentum_contrast.projection.0.weight"]
    with pytest.raises(InputError, match=f"the checkpoint has a queue of 7 x 4, the options {found}"):
        contrast(make_model(), **options).losses["momentum_contrast"].set_extra_state(
            state["criterion"]["losses.momentum_contrast._extra_state"]
        )


def test_averages_are_of_what_is_trained_and_do_not_stand_still_in_half_precision():
    """A step of 1e-4 is nothing beside 1 in float16."""
    layer = torch.nn.Linear(1, 1).half()
    layer.bias.requires_grad_(False)
    torch.nn.init.ones_(layer.weight)
    average = MovingAverage(0.9999)
    assert average.of("x", layer).keys() == {"weight"}
    torch.nn.init.constant_(layer.weight, 2.0)
    for _ in range(100):
        average.update("x", layer)
    assert average.weights["x.weight"].item() == pytest.approx(2 - 0.9999**100, abs=1e-5)
    assert average.of("x", layer)["weight"].dtype == torch.float16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "--momentum-contrast-temperature 0.0: expected a number above 0"),
        ({"momentum": 1.0}, "--momentum-contrast-momentum 1.0: expected a number from 0 to below 1"),
        ({"queue": 0}, "--momentum-contrast-queue 0: expected a number above 0"),
        ({"dim": -1}, "--momentum-contrast-dim -1: expected a number above 0, or 0"),
    ],
)
def test_nonsense_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        MomentumContrast(MomentumContrastOptions(**options), ModelSizes.of(make_model(), DICTIONARY))


# --- translation language modelling


def modelling(model, seed: int = 1, **options):
    named = {f"translation_language_modelling_{name}": value for name, value in options.items()}
    return make_criterion("translation_language_modelling", model, seed, **named)


def test_sentences_are_joined_without_the_padding_between_them():
    first = torch.tensor([[5, 6, EOS], [7, EOS, PAD]])
    second = torch.tensor([[8, EOS, PAD, PAD], [9, 10, 11, EOS]])
    assert stacked(first, second, PAD).tolist() == [
        [5, 6, EOS, PAD], [7, EOS, PAD, PAD], [8, EOS, PAD, PAD], [9, 10, 11, EOS]
    ]  # fmt: skip
    assert joined(first, second, PAD).tolist() == [[5, 6, EOS, 8, EOS, PAD], [7, EOS, 9, 10, 11, EOS]]


@pytest.mark.parametrize(("pooling", "apart"), [("mean", False), ("cls", False), ("cls", True)])
def test_chosen_tokens_are_predicted_from_both_sentences(pooling, apart):
    """Pair by pair (or sentence by sentence), without padding, and token by token."""
    model, batch = make_model(pooling=pooling).eval(), make_batch()
    criterion = modelling(model, mask_rate=0.5, weight=3.0, apart=apart).eval()
    loss = criterion.losses["translation_language_modelling"]
    value, size, log, gradients = run(criterion, model, batch)
    model.zero_grad()
    criterion.zero_grad()
    sides = batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"]
    tokens = stacked(*sides, PAD) if apart else joined(*sides, PAD)
    chosen, read = loss.masked(tokens, torch.Generator().manual_seed(0))
    embeddings, terms = model.encoder.embed_tokens.weight, []
    dense, _, norm = loss.head
    for row in range(len(tokens)):
        seen = read[row][tokens[row].ne(PAD)][None]
        states = model.encoder(seen)["token_states"][0][:, 0]
        for place in chosen[row].nonzero().flatten():
            h = norm(F.gelu(dense.weight @ states[place] + dense.bias))
            scores = torch.stack([e @ h + b for e, b in zip(embeddings, loss.bias, strict=True)])
            terms.append(-scores.log_softmax(0)[tokens[row, place]])
    assert len(terms) > 10 and log["translation_language_modelling:count"] == len(terms)
    torch.testing.assert_close(log["translation_language_modelling:sum"], sum(terms), atol=1e-4, rtol=1e-5)
    expected = 3 * 5 * sum(terms) / len(terms)  # a mean over tokens, for each of the pairs
    torch.testing.assert_close(value, expected.detach(), atol=1e-4, rtol=1e-5)
    assert size == 5
    expected.backward()
    assert_close(gradients, [each.grad for each in [*model.parameters(), *criterion.parameters()]])


def test_what_is_masked_and_how():
    """15% of the words; 80% of these are the mask, 10% any word, 10% the word itself; never a tag."""
    sizes = ModelSizes(8, None, vocabulary=100, padding=PAD, languages=3, mask=50)
    loss = TranslationLanguageModelling(TranslationLanguageModelling.Options(), sizes)
    tokens = torch.arange(4, 100).repeat(2000, 1)
    tokens[:, :3] = torch.tensor([BOS, EOS, PAD])
    torch.manual_seed(1)
    chosen, read = loss.masked(tokens, None)
    words = (tokens >= 4) & (tokens < 97)
    assert not chosen[~words].any() and torch.equal(read[~chosen], tokens[~chosen])
    count, of = int(chosen.sum()), int(words.sum())
    assert count / of == pytest.approx(0.15, abs=0.004)
    now, before = read[chosen], tokens[chosen]
    assert ((now == 50) & (before != 50)).sum() / count == pytest.approx(0.8 + 0.1 / 93, abs=0.015)
    assert (now == before).sum() / count == pytest.approx(0.1 + 0.9 / 93, abs=0.01)
    others = now[(now != before) & (now != 50)]
    assert others.min() == 3 and others.max() == 96  # the unknown word is one, a tag is none
    again = [loss.masked(tokens[:5], torch.Generator().manual_seed(0))[1] for _ in range(2)]
    assert torch.equal(*again)


def test_an_encoder_whose_vocabulary_has_no_mask_reads_the_symbol_that_sentences_do_not_have():
    loss = modelling(make_model()).losses["translation_language_modelling"]
    assert loss.mask == BOS


def test_pairs_that_the_encoder_cannot_read_have_no_share_in_it():
    """Longer than 12 tokens are the first pair, and the fourth."""
    model, batch = make_model(max_source_positions=12).eval(), make_batch()
    sums = [side.ne(PAD).sum(1) for side in (batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"])]
    fitting = ((sums[0] + sums[1]) <= 12).nonzero().flatten().tolist()
    assert 0 < len(fitting) < 5
    criterion = modelling(model, mask_rate=0.9).eval()
    log = run(criterion, model, batch)[2]
    tokens = joined(batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"], PAD)[fitting]
    loss = criterion.losses["translation_language_modelling"]
    chosen, _ = loss.masked(tokens, torch.Generator().manual_seed(0))
    assert log["translation_language_modelling:count"] == chosen.sum() > 10


def test_without_a_pair_that_fits_every_parameter_of_the_loss_has_a_gradient():
    model, batch = make_model(max_source_positions=12), make_batch((0,))
    criterion = modelling(model)
    sides = [batch[name]["src_tokens"] for name in ("net_input", "mirror")]
    assert sum(side.shape[1] for side in sides) > 12
    loss, _, log = criterion(model, batch)
    assert loss.item() == 0 and log["translation_language_modelling:count"] == 0
    loss.backward()
    trained = [*criterion.named_parameters(), *model.named_parameters()]
    assert [name for name, parameter in trained if parameter.grad is None] == []


def test_sentences_with_tags_are_not_joined():
    """A tag in the middle would be read as a word, or as the language of both."""
    model = build(MnmtTransformerModel, DICTIONARY)
    with pytest.raises(InputError, match="translation_language_modelling: needs a sentence encoder"):
        modelling(model)


def test_both_objectives_add_up_and_the_mirror_is_not_encoded(monkeypatch):
    """Equation 4."""
    model, batch = make_model().eval(), make_batch()
    criterion = make_criterion("momentum_contrast,translation_language_modelling", model).eval()
    assert not criterion.looks_at_mirror
    loss, size, log, _ = run(criterion, model, batch)
    words = log["translation_language_modelling:sum"] / log["translation_language_modelling:count"]
    torch.testing.assert_close(loss / size, log["momentum_contrast:sum"] / 5 + words)


# --- the page


def test_the_page_has_the_options_and_their_defaults():
    page = (Path(__file__).parents[2] / "docs/post_pretraining.md").read_text(encoding="utf-8")
    for name in ("momentum_contrast", "translation_language_modelling"):
        (item,) = re.findall(rf"^- `{name}`: (.*(?:\n  .*)*)", page, flags=re.M)
        shown = dict(re.findall(r"`-([a-z-]+)(?: ([\w.]+))?`", item))
        fields = dataclasses.fields(LOSSES[name].Options)
        assert {option: float(default or 0) for option, default in shown.items()} == {
            field.name.replace("_", "-"): float(field.default) for field in fields
        }
