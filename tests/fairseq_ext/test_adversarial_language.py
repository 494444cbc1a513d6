"""The language classifier with gradient reversal, against plain loops over its equation."""

import io
import math

import pytest
import torch
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.losses.adversarial_language import AdversarialLanguage, AdversarialLanguageOptions
from fairseq_ext.losses.weighted_loss import ModelOutputs
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.modules.gradient_reversal import reverse_gradient
from tests.fairseq_ext.models import build, random_batch, toy_dictionary
from tests.fairseq_ext.sentence_pairs import SIZES
from tests.fairseq_ext.test_sentence_losses import make_model

DICTIONARY = toy_dictionary()
LANGUAGES = {"source": [0, 1, 3], "target": [2, 0, 1]}
LENGTHS = [4, 2, 3]  # of three sentences
TARGET_TOKENS = 12


def make(**options) -> AdversarialLanguage:
    torch.manual_seed(1)
    return AdversarialLanguage(AdversarialLanguageOptions(**options), SIZES).double()


def random_states(seed: int = 1) -> Tensor:
    """T x B x C, more than noise at padding."""
    generator = torch.Generator().manual_seed(seed)
    shape = (max(LENGTHS), len(LENGTHS), SIZES.encoder_width)
    return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def outputs_of(states: Tensor, rows=slice(None)) -> ModelOutputs:
    padding = torch.tensor([[place >= length for place in range(max(LENGTHS))] for length in LENGTHS])
    return ModelOutputs({"encoder_out": [states[:, rows]], "encoder_padding_mask": [padding[rows]]})


def make_batch(rows=slice(None)) -> dict:
    languages = {f"{side}_languages": torch.tensor(numbers[rows]) for side, numbers in LANGUAGES.items()}
    return {**languages, "ntokens": TARGET_TOKENS}


def loss_in_a_loop(loss: AdversarialLanguage, states: Tensor, kind: str, sides: list[str]) -> Tensor:
    """- sum_i log p(l_i | h_i), without any reversal."""
    total = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate(LENGTHS):
        tokens = [states[place, row] for place in range(length)]
        for h in tokens if kind == "tokens" else [sum(tokens) / length]:
            for side in sides:
                scores = loss.classifiers[side](h)
                right = scores[LANGUAGES[side][row]]
                total = total - (right - sum(score.exp() for score in scores).log())
    return total


@pytest.mark.parametrize("kind", ["pooled", "tokens"])
@pytest.mark.parametrize(
    ("predicts", "sides"), [("source", ["source"]), ("target", ["target"]), ("both", ["source", "target"])]
)
@pytest.mark.parametrize("hidden", [0, 5])
def test_the_classifier_lowers_the_loss_that_the_encoder_raises(kind, predicts, sides, hidden):
    """Its parameters have the gradient of the equation, the states that times -lambda."""
    loss, states = (
        make(weight=2.0, reversal=0.3, states=kind, predicts=predicts, hidden=hidden),
        random_states(),
    )
    term = loss(outputs_of(states), make_batch())
    expected = loss_in_a_loop(loss, states, kind, sides)
    scale = 2.0 * (TARGET_TOKENS / len(LENGTHS) if kind == "pooled" else 1)
    torch.testing.assert_close(term.value, expected.detach())
    torch.testing.assert_close(term.loss, scale * expected)
    assert term.count == (sum(LENGTHS) if kind == "tokens" else len(LENGTHS))
    inputs = [states, *loss.parameters()]
    found, plain = (torch.autograd.grad(each, inputs) for each in (term.loss, expected))
    assert plain[0].abs().max() > 0
    torch.testing.assert_close(found[0], -0.3 * scale * plain[0])
    for one, other in zip(found[1:], plain[1:], strict=True):
        torch.testing.assert_close(one, scale * other)


def test_reversed_is_the_identity_with_the_opposite_gradient():
    states = random_states()
    found = reverse_gradient(states, torch.tensor(0.5))
    assert torch.equal(found, states)
    (gradient,) = torch.autograd.grad(found.square().sum(), states)
    torch.testing.assert_close(gradient, -0.5 * 2 * states.detach())


def test_tokens_of_two_half_batches_are_those_of_the_whole():
    loss, states = make(states="tokens"), random_states()
    whole = loss(outputs_of(states), make_batch()).loss
    halves = [loss(outputs_of(states, rows), make_batch(rows)).loss for rows in (slice(0, 2), slice(2, 3))]
    torch.testing.assert_close(sum(halves), whole)


def test_lambda_rises_with_the_updates_and_goes_on_from_a_checkpoint():
    loss = make(warmup_updates=100, reversal=0.5)

    def reversal(of: AdversarialLanguage) -> float:
        states = random_states()
        (plain,) = torch.autograd.grad(loss_in_a_loop(of, states, "pooled", ["source"]), states)
        (found,) = torch.autograd.grad(of(outputs_of(states), make_batch()).loss, states)
        return -float((found / plain)[0, 0, 0]) / (TARGET_TOKENS / len(LENGTHS))

    assert reversal(loss) == 0
    for updates in (1, 30, 100, 2000):
        loss.after_update(None, updates)
        progress = min(1, updates / 100)
        assert reversal(loss) == pytest.approx(0.5 * (2 / (1 + math.exp(-10 * progress)) - 1))
    loss.after_update(None, 30)
    file = io.BytesIO()
    torch.save(loss.state_dict(), file)
    file.seek(0)
    again = make(warmup_updates=100, reversal=0.5)
    again.load_state_dict(torch.load(file, weights_only=True))
    assert reversal(again) == reversal(loss)


# --- with a model


def model_and_batch():
    model = build(MnmtTransformerModel, DICTIONARY, encoder_layers=3)
    batch = random_batch(DICTIONARY, lengths=((7, 5), (4, 6), (3, 3)))
    for row, word in enumerate((10, 11, 12)):  # a word that says the language
        batch["net_input"]["src_tokens"][row, 0] = word
    return model.eval(), {**batch, **make_batch()}


def classifier_of(model, **options) -> AdversarialLanguage:
    torch.manual_seed(1)
    sizes = SIZES.of(model, DICTIONARY, ["cs", "de", "en", "fr"])
    return AdversarialLanguage(AdversarialLanguageOptions(hidden=8, **options), sizes)


@pytest.mark.parametrize("kind", ["pooled", "tokens"])
def test_in_training_each_gets_its_way(kind):
    """Steps of the classifier alone make it better, steps of the encoder alone make it worse, along the same
    gradient of the loss.
    """
    model, batch = model_and_batch()
    loss = classifier_of(model, states=kind)

    def steps(trained, count: int) -> tuple[float, float]:
        values = []
        optimizer = torch.optim.Adam(trained, lr=0.003)
        for _ in range(count):
            source = model.encoder(**{k: batch["net_input"][k] for k in ("src_tokens", "src_lengths")})
            term = loss(ModelOutputs(source), batch)
            values.append(float(term.value) / term.count)
            optimizer.zero_grad()
            term.loss.backward()
            optimizer.step()
        return values[0], values[-1]

    at_chance, learned = steps(list(loss.parameters()), 100)
    assert at_chance == pytest.approx(math.log(4), abs=0.5)
    assert learned < 0.2
    before, hidden = steps(list(model.encoder.parameters()), 30)
    assert before < 0.2
    assert hidden > 1


def test_the_states_of_a_layer():
    model, batch = model_and_batch()
    tokens = {name: batch["net_input"][name] for name in ("src_tokens", "src_lengths")}
    encoded = model.encoder(**tokens, return_all_hiddens=True)
    for layer in range(4):
        top = {**encoded, "encoder_out": [encoded["encoder_states"][layer]]}
        found = classifier_of(model, layer=layer)(ModelOutputs(encoded), batch)
        expected = classifier_of(model)(ModelOutputs(top), batch)
        assert torch.equal(found.value, expected.value)
    assert torch.equal(found.value, classifier_of(model)(ModelOutputs(encoded), batch).value)  # PostNorm
    with pytest.raises(InputError, match=r"^--adversarial-language-layer 4: expected a layer from 0 to 3$"):
        classifier_of(model, layer=4)(ModelOutputs(encoded), batch)
    with pytest.raises(
        InputError, match="-layer 1: expected no layer: the model gives the states of its top"
    ):
        classifier_of(model, layer=1)(ModelOutputs(model.encoder(**tokens)), batch)


@pytest.mark.parametrize("kind", ["pooled", "tokens"])
def test_what_an_encoder_puts_in_front_of_a_sentence_is_not_classified(kind):
    model = make_model(pooling="cls").eval()
    batch = {**random_batch(DICTIONARY, lengths=((7, 5), (4, 6), (3, 3))), **make_batch()}
    tokens = batch["net_input"]["src_tokens"]
    encoded = model.encoder(tokens, batch["net_input"]["src_lengths"], return_all_hiddens=True)
    for layer, states in enumerate(encoded["encoder_states"]):
        assert len(states) == tokens.size(1) + 1  # of `<s>`, the first
        own = {"encoder_out": [states[1:]], "encoder_padding_mask": [tokens.eq(DICTIONARY.pad())]}
        found = classifier_of(model, layer=layer, states=kind)(ModelOutputs(encoded), batch)
        expected = classifier_of(model, states=kind)(ModelOutputs(own), batch)
        assert torch.equal(found.value, expected.value) and found.count == expected.count


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": -1.0}, "--adversarial-language-weight -1.0: expected a number, 0 or above"),
        ({"reversal": -1.0}, "--adversarial-language-reversal -1.0: expected a number, 0 or above"),
        ({"reversal": math.nan}, "--adversarial-language-reversal nan: expected a number, 0 or above"),
        ({"warmup_updates": -1}, "--adversarial-language-warmup-updates -1: expected a number, 0 or above"),
        ({"hidden": -5}, "--adversarial-language-hidden -5: expected a number, 0 or above"),
        ({"layer": -1}, "--adversarial-language-layer -1: expected a number, 0 or above"),
    ],
)
def test_options_that_mean_nothing(options, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        make(**options)


def test_one_language_is_nothing_to_tell_apart():
    sizes = SIZES.of(build(MnmtTransformerModel, DICTIONARY), DICTIONARY, ["de"])
    with pytest.raises(InputError, match=r"^--losses adversarial_language: 1 languages, expected 2 or more"):
        AdversarialLanguage(AdversarialLanguageOptions(), sizes)
