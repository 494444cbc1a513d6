"""`weighted_losses`: what it adds to the translation loss, what it leaves alone, and what it is without."""

import copy
import math
import re
from argparse import Namespace
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics
from fairseq.models import FairseqEncoderModel
from fairseq.models.transformer import TransformerConfig, TransformerModelBase, base_architecture
from torch import nn

from command_line.errors import InputError
from fairseq_ext.criterions.fused_label_smoothed_cross_entropy import FusedLabelSmoothedCrossEntropyCriterion
from fairseq_ext.criterions.options_of_losses import WeightedLossesConfig
from fairseq_ext.criterions.weighted_losses import WeightedLosses, observed
from fairseq_ext.data.batch_fields import FIELDS
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import ModelOutputs, ModelSizes, Term, WeightedLoss, states_of
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.tasks.improvements import Improvements
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtTask
from tests.fairseq_ext.encodings import random_tokens, word_alignments
from tests.fairseq_ext.models import SIZES, ToyTask, build, random_batch, toy_dictionary

DICTIONARY = toy_dictionary()
NAMES = ("word_contrastive", "sentence_contrastive", "attention_alignment")  # these need no other model
ALL_THREE = ",".join(NAMES)
ROWS = [
    (0, (0, 2), (1, 2), (1, 2)),
    (0, (4, 5), (2, 4), (2, 4)),
    (1, (1, 2), (0, 1), (0, 1)),
    (2, (0, 1), (0, 1), (0, 1)),
]


def make_model(model_class=MnmtTransformerModel, dropout: float = 0.0, **options):
    options = {**SIZES, "encoder_layers": 2, "dropout": dropout, **options}
    if model_class is not TransformerModelBase:
        return build(model_class, DICTIONARY, **options)
    arguments = Namespace(**options)
    base_architecture(arguments)
    torch.manual_seed(1)
    return model_class.build_model(TransformerConfig.from_namespace(arguments), ToyTask(DICTIONARY))


def make_criterion(
    losses: str = "", seed: int = 1, model=None, translation: bool = True, **options
) -> WeightedLosses:
    names = ",".join(filter(None, ["translation" if translation else "", losses]))
    cfg = WeightedLossesConfig(label_smoothing=0.1, sentence_avg=False, losses=names, word_contrastive_dim=8)
    for name, value in options.items():
        assert hasattr(cfg, name)
        setattr(cfg, name, value)
    sizes = ModelSizes.of(model or make_model(), DICTIONARY)
    task = SimpleNamespace(target_dictionary=DICTIONARY, model_sizes=sizes)
    torch.manual_seed(seed)
    return WeightedLosses.build_criterion(cfg, task)


def make_batch(rows=ROWS) -> dict:
    """Sources of 7, 4 and 1 words, targets of 5, 6 and 1."""
    mirror = random_tokens((6, 7, 2), seed=5)
    return {
        **random_batch(DICTIONARY),
        "mirror": {"src_tokens": mirror, "src_lengths": torch.tensor([6, 7, 2])},
        "word_alignments": word_alignments(rows),
    }


def run(criterion, model, batch, reduce: bool = True, seed: int = 7):
    """Loss, sample size, logs, and the gradients of the model."""
    torch.manual_seed(seed)
    model.zero_grad()
    loss, size, log = criterion(model, batch, reduce=reduce)
    loss.sum().backward()
    return loss, size, log, [parameter.grad.clone() for parameter in model.parameters()]


def assert_same(found, expected) -> None:
    assert torch.equal(found[0], expected[0])
    assert found[1] == expected[1]
    for name, value in expected[2].items():
        assert torch.equal(torch.as_tensor(found[2][name]), torch.as_tensor(value)), name
    assert all(torch.equal(one, other) for one, other in zip(found[3], expected[3], strict=True))


# --- the dropout of the model (thesis 5.2.3)


@pytest.mark.parametrize("model_class", [MnmtTransformerModel, TransformerModelBase])
def test_the_dropout_of_a_model_trained_with_a_loss(model_class):
    """As if the model had been built with it; the dropout of attention and activations is another one."""
    others = {"attention_dropout": 0.1, "activation_dropout": 0.1}
    criterion = make_criterion("word_contrastive", word_contrastive_model_dropout=0.2)
    given, asked, kept = (
        run(each, make_model(model_class, dropout=dropout, **others).train(), make_batch())
        for each, dropout in (
            (criterion, 0.3),
            (make_criterion("word_contrastive"), 0.2),
            (make_criterion("word_contrastive"), 0.3),
        )
    )
    assert_same(given, asked)
    assert not torch.equal(given[0], kept[0])


def test_a_model_dropout_out_of_range_is_refused():
    with pytest.raises(InputError, match=r"--word-contrastive-model-dropout 1\.0: expected a number from 0"):
        make_criterion("word_contrastive", word_contrastive_model_dropout=1.0)


# --- the translation loss is left alone


@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize(
    ("fused", "plain"),
    [(False, LabelSmoothedCrossEntropyCriterion), (True, FusedLabelSmoothedCrossEntropyCriterion)],
)
def test_alone_translation_is_the_translation_loss_to_the_last_bit(fused, plain, reduce):
    model, criterion = make_model(dropout=0.3).train(), make_criterion(fused_vocabulary_loss=fused)
    found, expected = (
        run(each, model, make_batch(), reduce) for each in (criterion, plain(criterion.task, False, 0.1))
    )
    assert_same(found, expected)
    assert found[2].keys() == expected[2].keys()
    assert not list(criterion.parameters())
    assert criterion.batch_fields == ()


@pytest.mark.parametrize("fused", [False, True])
def test_weight_zero_is_the_translation_loss_to_the_last_bit(fused):
    """Also with dropout: the mirror comes after the translation loss."""
    weights = {f"{name}_weight": 0.0 for name in NAMES[:2]}
    model = make_model(dropout=0.3).train()
    criterion = make_criterion(
        "word_contrastive,sentence_contrastive", fused_vocabulary_loss=fused, **weights
    )
    plain = make_criterion(fused_vocabulary_loss=fused)
    assert_same(run(criterion, model, make_batch()), run(plain, model, make_batch()))


def test_supervised_attention_does_not_change_the_translation_loss():
    model, batch = make_model(dropout=0.3).train(), make_batch()
    found = run(make_criterion("attention_alignment", attention_alignment_weight=0.0), model, batch)
    expected = run(make_criterion(), model, batch)
    assert_same((*found[:3], []), (*expected[:3], []))
    for one, other in zip(found[3], expected[3], strict=True):
        torch.testing.assert_close(one, other)


def test_losses_per_token_are_those_of_translation():
    model, batch = make_model(), make_batch()
    found = run(make_criterion(ALL_THREE), model, batch, reduce=False)
    assert torch.equal(found[0], run(make_criterion(), model, batch, reduce=False)[0])


# --- the sum


def terms_by_hand(criterion, model, batch) -> dict:
    """Every loss from its own call of the model, without hooks."""
    source = model.encoder(**{name: batch["net_input"][name] for name in ("src_tokens", "src_lengths")})
    mirror = model.encoder(**batch["mirror"])
    _, extra = model.decoder(
        batch["net_input"]["prev_output_tokens"], encoder_out=source, **criterion.decoder_arguments
    )
    outputs = ModelOutputs(source, mirror, extra)
    return {name: loss(outputs, batch) for name, loss in criterion.losses.items()}


@pytest.mark.parametrize("model_class", [MnmtTransformerModel, TransformerModelBase])
@pytest.mark.parametrize("losses", [*NAMES, ALL_THREE])
def test_the_loss_is_the_sum_of_its_terms(model_class, losses):
    """Also with fairseq's own model."""
    model, batch = make_model(model_class).eval(), make_batch()
    criterion = make_criterion(losses, model=model).eval()
    translation = run(make_criterion(), model, batch)
    found = run(criterion, model, batch)
    model.zero_grad()
    terms = terms_by_hand(criterion, model, batch)
    torch.testing.assert_close(found[0], translation[0] + sum(term.loss for term in terms.values()))
    assert torch.equal(found[2]["nmt_loss"], translation[2]["loss"])
    assert torch.equal(found[2]["loss"], found[0].data)
    assert found[1] == translation[1]
    for name, term in terms.items():
        torch.testing.assert_close(found[2][f"{name}:sum"], term.value)
        assert found[2][f"{name}:count"] == term.count > 0
        assert term.value > 0
    sum(term.loss for term in terms.values()).backward()
    others = [
        torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for parameter in model.parameters()
    ]
    for total, one, other in zip(found[3], translation[3], others, strict=True):
        torch.testing.assert_close(total, one + other, atol=1e-4, rtol=1e-4)


def test_the_encoder_learns_through_both_sentences():
    """Words that only one of the sentences has get a gradient from the added loss alone."""
    model, batch = make_model(share_all_embeddings=False).eval(), make_batch()
    batch["net_input"]["src_tokens"][0, 0] = 30  # in the first span of the source, and nowhere else
    batch["mirror"]["src_tokens"][0, 1] = 31
    criterion = make_criterion("word_contrastive", model=model)
    model.zero_grad()
    terms_by_hand(criterion, model, batch)["word_contrastive"].loss.backward()
    gradient = model.encoder.embed_tokens.weight.grad
    assert gradient[30].any()
    assert gradient[31].any()
    assert all(parameter.grad.any() for parameter in criterion.parameters())


def test_full_context_attention_is_that_of_a_second_pass():
    """The attention of fairseq's decoder without its causal mask; the translation loss stays as it is."""
    stock = make_model(TransformerModelBase).eval()
    model = make_model().eval()
    model.load_state_dict(stock.state_dict())
    batch = make_batch()
    criterion = make_criterion("attention_alignment", attention_alignment_full_context=True, model=model)
    found = run(criterion, model, batch)
    translation = run(make_criterion(), model, batch)
    attention = stock.decoder(
        batch["net_input"]["prev_output_tokens"],
        encoder_out=stock.encoder(batch["net_input"]["src_tokens"], batch["net_input"]["src_lengths"]),
        alignment_layer=0,
        alignment_heads=1,
        full_context_alignment=True,
    )[1]
    assert not torch.allclose(attention["attn"][0], stock(**batch["net_input"])[1]["attn"][0])
    term = criterion.losses["attention_alignment"](ModelOutputs({}, None, attention), batch)
    torch.testing.assert_close(found[0], translation[0] + term.loss)
    assert torch.equal(found[2]["nmt_loss"], translation[2]["loss"])
    assert not all(torch.equal(one, other) for one, other in zip(found[3], translation[3], strict=True))


def test_options_go_to_their_loss():
    criterion = make_criterion(
        ALL_THREE,
        word_contrastive_temperature=0.7,
        sentence_contrastive_weight=3.0,
        attention_alignment_layer=1,
    )
    assert criterion.losses["word_contrastive"].options.temperature == 0.7
    assert criterion.losses["sentence_contrastive"].options.weight == 3.0
    assert criterion.decoder_arguments["alignment_layer"] == 0
    assert criterion.batch_fields == ("mirror", "word_alignments")
    assert make_criterion("sentence_contrastive").batch_fields == ("mirror",)


def test_every_loss_declares_itself():
    for name, loss in LOSSES.items():
        assert name == loss.name
        assert set(loss.batch_fields) <= set(FIELDS)
        assert hasattr(loss.Options(), "weight")


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ("nonsense", "--losses translation,nonsense: no loss 'nonsense'; expected translation, word_con"),
        ("word_contrastive,word_contrastive", "'word_contrastive' occurs twice"),
    ],
)
def test_bad_names(losses, message):
    with pytest.raises(InputError, match=message):
        make_criterion(losses)


def test_another_task():
    cfg = WeightedLossesConfig(sentence_avg=False, losses="word_contrastive")
    message = "--losses word_contrastive: need --task multilingual_nmt or sentence_embedding"
    with pytest.raises(InputError, match=message):
        WeightedLosses.build_criterion(cfg, SimpleNamespace(target_dictionary=DICTIONARY))


def same(first, second) -> bool:
    """Whether two batches, or parts of them, are equal, tensor by tensor."""
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def test_neither_batch_nor_model_is_changed():
    model, batch = make_model(), make_batch()
    before, weights = copy.deepcopy(batch), copy.deepcopy(model.state_dict())
    run(make_criterion(ALL_THREE), model, batch)
    assert same(batch, before)
    assert same(dict(model.state_dict()), dict(weights))
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


def test_hooks_do_not_survive_an_error():
    model = make_model()
    with pytest.raises(KeyError), observed(model, {}):
        assert any(module._forward_hooks for module in model.modules())
        raise KeyError
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


# --- batches


def test_no_aligned_words_touch_all_parameters():
    model, criterion = make_model(), make_criterion(ALL_THREE)
    run(criterion, model, make_batch(rows=[]))
    assert all(parameter.grad is not None for parameter in criterion.parameters())
    assert not any(parameter.grad.any() for parameter in criterion.parameters())


def test_two_accumulated_batches_are_the_sum_of_their_losses():
    """Not that of the joint batch for the contrastive losses, which would have more negatives."""
    model, criterion = make_model().eval(), make_criterion(ALL_THREE).eval()
    first, second = make_batch(), make_batch(rows=ROWS[:2])
    one, other = run(criterion, model, first), run(criterion, model, second)
    criterion.zero_grad()
    model.zero_grad()
    for batch in (first, second):
        criterion(model, batch)[0].backward()
    for parameter, a, b in zip(model.parameters(), one[3], other[3], strict=True):
        torch.testing.assert_close(parameter.grad, a + b, atol=1e-4, rtol=1e-4)


# --- logs


def logged(logs: list[dict]) -> dict:
    with metrics.aggregate(new_root=True) as aggregate:
        WeightedLosses.reduce_metrics(logs)
    return aggregate.get_smoothed_values()


@pytest.mark.parametrize("training", [True, False])
def test_every_term_is_logged_in_bits_per_unit(training):
    model, criterion = make_model().train(training), make_criterion(ALL_THREE).train(training)
    logs = [run(criterion, model, make_batch(rows))[2] for rows in (ROWS, [], ROWS[:2])]
    found = logged(logs)
    for name in NAMES:
        value, count = (sum(log[f"{name}:{part}"] for log in logs) for part in ("sum", "count"))
        assert found[name] == pytest.approx(float(value) / count / math.log(2), abs=1e-3)
    tokens = sum(log["sample_size"] for log in logs)
    for name in ("loss", "nmt_loss"):
        assert found[name] == pytest.approx(
            float(sum(log[name] for log in logs)) / tokens / math.log(2), abs=1e-3
        )
    assert found["loss"] > found["nmt_loss"]
    assert [*map(list, logs)] == [list(logs[0])] * 3  # fairseq adds the logs of processes name by name
    kinds = [[torch.is_tensor(value) for value in log.values()] for log in logs]
    assert kinds == [kinds[0]] * 3


@pytest.mark.parametrize(("name", "unit"), [("word_contrastive", math.log(2)), ("interlingua_alignment", 1)])
def test_batches_that_are_logged_one_by_one_weigh_as_much_as_they_have(name, unit):
    """As fairseq logs those of a validation."""
    with metrics.aggregate(new_root=True) as aggregate:
        for value, count in ((3.0, 2), (1.0, 6)):
            log = {"loss": value, "nmt_loss": value, "sample_size": count}
            WeightedLosses.reduce_metrics([{**log, f"{name}:sum": value, f"{name}:count": count}])
    found = aggregate.get_smoothed_values()
    assert found[name] == pytest.approx((3 + 1) / (2 + 6) / unit, abs=1e-3)
    for each in ("loss", "nmt_loss"):
        assert found[each] == pytest.approx((3 + 1) / (2 + 6) / math.log(2), abs=1e-3)


def test_no_units_are_not_logged():
    found = logged([run(make_criterion("word_contrastive"), make_model(), make_batch(rows=[]))[2]])
    assert "word_contrastive" not in found
    assert {"loss", "nmt_loss", "nll_loss"} <= found.keys()
    assert "nmt_loss" not in logged([run(make_criterion(), make_model(), make_batch())[2]])


# --- checkpoints


def test_the_parameters_travel_in_its_state():
    criterion, other = make_criterion(ALL_THREE), make_criterion(ALL_THREE, seed=2)
    state = criterion.state_dict()
    assert sorted(state) == ["losses.word_contrastive.hidden.weight", "losses.word_contrastive.output.weight"]
    assert not torch.equal(state["losses.word_contrastive.hidden.weight"], next(other.parameters()))
    other.load_state_dict(state)
    assert all(torch.equal(a, b) for a, b in zip(criterion.parameters(), other.parameters(), strict=True))


def test_a_checkpoint_with_another_loss_leaves_its_parameters_out(caplog):
    before = make_criterion("word_contrastive", seed=2).state_dict()
    criterion = make_criterion("word_contrastive")
    criterion.load_state_dict(before | {"losses.sentence_contrast.first.weight": torch.ones(3)})
    assert "has parameters of sentence_contrast, which are not trained here" in caplog.text
    assert all(torch.equal(value, before[name]) for name, value in criterion.state_dict().items())


@pytest.mark.parametrize("state", [None, {}])
def test_a_checkpoint_without_the_loss_leaves_it_untrained(state, caplog):
    criterion = make_criterion("word_contrastive")
    before = [parameter.clone() for parameter in criterion.parameters()]
    criterion.load_state_dict(state)
    assert all(torch.equal(a, b) for a, b in zip(criterion.parameters(), before, strict=True))
    assert "the checkpoint lacks the parameters of word_contrastive" in caplog.text


def test_a_state_that_does_not_fit_is_refused():
    state = make_criterion("word_contrastive").state_dict()
    with pytest.raises(RuntimeError, match="size mismatch"):
        make_criterion("word_contrastive", word_contrastive_dim=9).load_state_dict(state)
    state.pop("losses.word_contrastive.output.weight")
    with pytest.raises(RuntimeError, match="Missing key"):
        make_criterion("word_contrastive").load_state_dict(state)


# --- any number of losses, translation being one of them


def make_encoder() -> FairseqEncoderModel:
    """A model without a decoder."""
    return FairseqEncoderModel(make_model().encoder).eval()


def test_a_model_without_a_decoder():
    """Its loss, gradients and logs are those of the loss itself; nothing of a decoder is asked for."""
    model, batch = make_encoder(), make_batch()
    criterion = make_criterion("sentence_contrastive", model=model, translation=False)
    found = run(criterion, model, batch)
    model.zero_grad()
    given = {name: batch["net_input"][name] for name in ("src_tokens", "src_lengths")}
    outputs = ModelOutputs(model.encoder(**given), model.encoder(**batch["mirror"]))
    term = criterion.losses["sentence_contrastive"](outputs, batch)
    term.loss.backward()
    assert torch.equal(found[0], term.loss)
    for gradient, parameter in zip(found[3], model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)
    assert found[1] == batch["ntokens"]
    assert logged([found[2]]) == {
        name: pytest.approx(value.item() / count / math.log(2), abs=1e-3)
        for name, value, count in (
            ("loss", term.loss, batch["ntokens"]),
            ("sentence_contrastive", term.value, term.count),
        )
    }


def test_sentences_divide_where_they_do_in_translation():
    model, batch = make_encoder(), make_batch()
    options = {"model": model, "translation": False, "sentence_avg": True}
    assert run(make_criterion("sentence_contrastive", **options), model, batch)[1] == 3


@pytest.mark.parametrize(
    ("losses", "translation"), [("sentence_contrastive", True), ("attention_alignment", False)]
)
def test_a_loss_that_needs_a_decoder_is_refused_without_one(losses, translation):
    with pytest.raises(InputError, match=r"--losses \w+: needs a model with a decoder"):
        make_criterion(losses, model=make_encoder(), translation=translation)


def test_a_decoder_is_there_without_the_translation_loss():
    model, batch = make_model().eval(), make_batch()
    criterion = make_criterion("attention_alignment", model=model, translation=False)
    (term,) = terms_by_hand(criterion, model, batch).values()
    found = criterion(model, batch)
    torch.testing.assert_close(found[0], term.loss)
    assert "nmt_loss" not in found[2]


def test_the_weight_of_translation():
    model, batch = make_model().eval(), make_batch()
    translation = run(make_criterion(), model, batch)
    half = run(make_criterion(translation_weight=0.5), model, batch)
    torch.testing.assert_close(half[0], 0.5 * translation[0])
    assert torch.equal(half[2]["nmt_loss"], translation[2]["loss"])
    added = run(make_criterion("sentence_contrastive"), model, batch)
    both = run(make_criterion("sentence_contrastive", translation_weight=0.5), model, batch)
    torch.testing.assert_close(both[0], added[0] - 0.5 * translation[0])
    with pytest.raises(InputError, match=r"--translation-weight -1: expected a number, 0 or above"):
        make_criterion(translation_weight=-1)


def test_losses_per_token_without_translation_are_refused():
    criterion = make_criterion("sentence_contrastive", translation=False)
    with pytest.raises(InputError, match="losses per token are those of translation"):
        criterion(make_model(), make_batch(), reduce=False)


@pytest.mark.parametrize("losses", ["", " , "])
def test_no_loss_at_all(losses):
    cfg = WeightedLossesConfig(sentence_avg=False, losses=losses)
    with pytest.raises(InputError, match="--losses: names none; expected some of translation, word_contr"):
        WeightedLosses.build_criterion(cfg, SimpleNamespace(target_dictionary=DICTIONARY))


@pytest.mark.parametrize(("weight", "is_unequal"), [(1.0, False), (1e6, True), (1e-6, True)])
def test_a_loss_beside_which_another_counts_for_nothing_is_warned_of_once(caplog, weight, is_unequal):
    """Whichever of both it is; nothing is said in validation."""
    criterion = make_criterion("sentence_contrastive", translation_weight=weight)
    model, batch = make_model(), make_batch()
    criterion.eval()
    criterion(model, batch)
    assert "hardly be learned" not in caplog.text
    criterion.train()
    for _ in range(2):
        criterion(model, batch)
    warnings = [
        record.getMessage() for record in caplog.records if "hardly be learned" in record.getMessage()
    ]
    assert len(warnings) == is_unequal
    if is_unequal:
        names = ["translation", "sentence_contrastive"][:: 1 if weight > 1 else -1]
        assert re.search(
            rf"--losses: with its weight, {names[0]} is [\d,]+ times {names[1]}, which", warnings[0]
        )


def test_a_default_that_an_encoder_cannot_learn_says_that_it_is_the_default():
    cfg = WeightedLossesConfig(sentence_avg=False)
    task = SimpleNamespace(target_dictionary=DICTIONARY, model_sizes=SimpleNamespace(has_decoder=False))
    with pytest.raises(InputError, match=r"--losses translation, the default: needs .* sentence_contrastive"):
        WeightedLosses.build_criterion(cfg, task)


# --- a loss that moves along with the model


@dataclass
class DiscriminatorOptions:
    weight: float = 1.0
    momentum: float = 0.5


class Discriminator(WeightedLoss):
    """The encoder hides from a discriminator, with an optimizer of its own, which side a sentence is on; its
    second matrix follows the first.
    """

    name = "discriminator"
    Options = DiscriminatorOptions
    batch_fields = ("mirror",)

    def __init__(self, options, sizes):
        super().__init__(options, sizes)
        self.weight = nn.Parameter(torch.zeros(sizes.encoder_width), requires_grad=False)
        self.average = nn.Parameter(torch.zeros(sizes.encoder_width), requires_grad=False)
        self.optimizer = torch.optim.SGD([self.weight], lr=0.1, momentum=0.9)
        self.updates, self.seen = [], []

    def forward(self, outputs, batch) -> Term:
        sides = [states_of(encoded).mean(0) for encoded in (outputs.source, outputs.mirror)]  # B x C
        if self.training:
            self.seen += [torch.stack(sides).detach()]
        value = -((sides[0] - sides[1]) @ self.weight).sum()
        return Term(self.options.weight * value, value.detach(), len(sides[0]))

    def after_update(self, model, updates):
        self.updates.append(updates)
        sides = torch.cat(self.seen, dim=1)
        self.seen.clear()
        self.weight.grad = -(sides[0] - sides[1]).mean(0)
        self.optimizer.step()
        self.average.lerp_(self.weight, 1 - self.options.momentum)

    def get_extra_state(self):
        return self.optimizer.state_dict()

    def set_extra_state(self, state):
        self.optimizer.load_state_dict(state)


@pytest.fixture
def discriminator(monkeypatch):
    monkeypatch.setitem(LOSSES, "discriminator", Discriminator)
    for name, value in vars(DiscriminatorOptions()).items():
        monkeypatch.setattr(WeightedLossesConfig, f"discriminator_{name}", value, raising=False)


class TaskWithCriterion(MultilingualNmtTask):
    """Our task's steps without its data."""

    def __init__(self, criterion):
        self.cfg = SimpleNamespace(autocast_bf16=False, max_update=0)
        self.after_update = criterion.after_update
        self.improvements = Improvements("")


def train(model, criterion, updates: range) -> None:
    """With two accumulated batches each, as fairseq's trainer calls the task."""
    task = TaskWithCriterion(criterion)
    trained = [p for part in (model, criterion) for p in part.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.01)
    optimizer.backward = lambda loss: loss.backward()
    for update in updates:
        optimizer.zero_grad()
        for rows in (ROWS, ROWS[:2]):
            task.train_step(make_batch(rows), model, criterion.train(), optimizer, update)
        task.optimizer_step(optimizer, model=model, update_num=update)


def test_a_loss_learns_by_itself_after_every_update(discriminator, tmp_path):
    """Once per update, also with accumulation; it goes on after a restart as if there had been none."""
    model, criterion = make_model(), make_criterion("discriminator")
    loss = criterion.losses["discriminator"]
    train(model, criterion, range(2))
    assert loss.updates == [1, 2]
    assert loss.weight.any()
    torch.save({"model": model.state_dict(), "criterion": criterion.state_dict()}, tmp_path / "x.pt")
    train(model, criterion, range(2, 4))
    state = torch.load(tmp_path / "x.pt", weights_only=True)
    again, resumed = make_model(), make_criterion("discriminator")
    again.load_state_dict(state["model"])
    resumed.load_state_dict(state["criterion"])
    train(again, resumed, range(2, 4))
    for name in ("weight", "average"):
        assert torch.equal(getattr(resumed.losses["discriminator"], name), getattr(loss, name))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
