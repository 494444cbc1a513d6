"""A stage of tuning: what an update learns from, where it goes on, what it changes."""

import copy
import json
import math
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy

from command_line.errors import InputError
from llm.language_model import load_model
from llm.tuning import training
from llm.tuning.answers import AnswerTokens
from llm.tuning.examples import IGNORED, Examples, Padding
from llm.tuning.model import tuned_model
from llm.tuning.training import Course, Stage, tune_stage
from llm.tuning.validation import validate
from tests.llm.tiny_model import write_bloom
from tests.llm.toy_text import WORDS
from tests.llm.tuning.jobs import toy_records, tuning_job

NO_DROPOUT = ("--lora-dropout", 0, "--warmup-ratio", 0, "--learning-rate", 1e-2)


@pytest.fixture
def tune(bloom, tokenizer, tmp_path):
    """Train on toy instructions; the folder of the result, in which all is written that came of it."""

    def call(name: str, *words, before: Path | None = None, records=None, examples=None) -> Path:
        job = tuning_job(bloom, *words)
        held_out = Examples(records or toy_records(), tokenizer, 99, 99)
        target = tmp_path / name
        stage = Stage("stage 1 of 1, MT", examples or held_out, {"mt": held_out}, before)
        tune_stage(job, stage, tokenizer, job.learning_rate[0], tmp_path / f"{name}-state", target)
        return target

    return call


def adapter(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "adapter_model.safetensors")


def validation(folder: Path) -> dict:
    return json.loads((folder / "validation.json").read_text())


def assert_same(first: Path, second: Path, **tolerances) -> None:
    torch.testing.assert_close(adapter(first), adapter(second), **(tolerances or {"rtol": 0, "atol": 0}))


@pytest.fixture
def first_models(monkeypatch) -> list:
    """The models that stages began with, as they were then."""
    models = []

    def recording(job, before):
        model = tuned_model(job, before)
        models.append((model, copy.deepcopy(model.state_dict())))
        return model

    monkeypatch.setattr(training, "tuned_model", recording)
    return models


def test_batches_of_an_update_are_one_batch(tune):
    """Although their answers have other numbers of tokens."""
    together = tune("one", *NO_DROPOUT, "--batch-sentences", 4)
    two = tune("two", *NO_DROPOUT, "--batch-sentences", 2, "--batches-per-update", 2)
    assert validation(together)["updates"] == validation(two)["updates"] == 2
    assert validation(together)["instructions_per_update"] == validation(two)["instructions_per_update"] == 4
    assert validation(together)["epochs"][0]["loss"] == pytest.approx(
        validation(two)["epochs"][0]["loss"], 1e-5
    )
    assert_same(together, two, rtol=1e-3, atol=1e-5)


def test_an_update_follows_the_mean_over_the_tokens_of_its_answers(tune, bloom, tokenizer, monkeypatch):
    """The gradient, against transformers' own loss of all instructions at once."""
    gradients = {}

    def keep(self, settings, state, control, model=None, **kwargs):
        gradients.update({name: weight.grad.clone() for name, weight in model.named_parameters()})

    monkeypatch.setattr(Course, "on_pre_optimizer_step", keep, raising=False)
    whole = ("--lora-rank", 0, "--batch-sentences", 2, "--batches-per-update", 4)
    tune("out", *whole)
    model = load_model(bloom, "float32").train()
    examples = Examples(toy_records(), tokenizer, 99, 99)
    model(**Padding(3)([examples[number] for number in range(8)])).loss.backward()
    norm = torch.stack([parameter.grad.norm() for parameter in model.parameters()]).norm()
    clipped = min(1.0, 1.0 / norm.item())  # as the trainer does
    for name, weight in model.named_parameters():
        torch.testing.assert_close(gradients[name], weight.grad * clipped, rtol=1e-3, atol=1e-6, msg=name)


def test_a_device_has_its_part_of_the_sum_as_gradients_of_devices_are_averaged():
    answers = lambda model, inputs: (torch.zeros(3, 4), torch.tensor([0, 1, 2]))  # noqa: E731
    trainer = SimpleNamespace(answers=answers, args=SimpleNamespace(world_size=2))
    loss = training.AnswerTrainer.compute_loss(trainer, None, {}, num_items_in_batch=12)
    assert loss.item() == pytest.approx(2 * 3 * math.log(4) / 12)


def test_recomputed_activations_change_nothing(tune):
    plain = tune("one", *NO_DROPOUT)
    assert_same(plain, tune("two", *NO_DROPOUT, "--gradient-checkpointing"), rtol=1e-4, atol=1e-6)


def test_the_seed_is_that_of_adapters_order_and_dropout(tune):
    """Whatever has been drawn before."""
    first = tune("one", "--learning-rate", 1e-3)
    torch.manual_seed(77)
    assert_same(first, tune("two", "--learning-rate", 1e-3))
    other = tune("three", "--learning-rate", 1e-9, "--seed", 2)
    for name, value in adapter(other).items():
        if "lora_A" in name:
            assert not torch.allclose(value, adapter(first)[name], atol=1e-2)


def test_weights_of_the_model_stay(tune, bloom, first_models):
    folder = tune("out", "--learning-rate", 1e-2)
    (model, before), after = first_models[0], first_models[0][0].state_dict()
    changed = {name for name in before if not before[name].equal(after[name].cpu())}
    assert changed and all(".lora_" in name for name in changed)
    plain = load_model(bloom, "float32").state_dict()
    for name, value in model.get_base_model().state_dict().items():
        if ".lora_" not in name:
            assert value.equal(plain[name.replace(".base_layer", "")]), name
    assert not (folder / "model.safetensors").exists()


MOMENTS = {
    "in an epoch": (2, "step", 5),
    "validating": (4, "validation", 1),
    "validating last": (9, "validation", 2),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_goes_on_where_it_was_killed(tune, monkeypatch, moment):
    """Four updates an epoch; behind a state in an epoch, at the end of the first, and of the last one."""
    save, kind, number = MOMENTS[moment]
    words = ("--epochs", 2, "--save-updates", save, "--learning-rate", 1e-2, "--lora-dropout", 0.3)
    whole = tune("whole", *words)
    measure, calls = training.validate, []

    def killed(*arguments):
        calls.append(1)
        if kind == "validation" and len(calls) == number:
            raise KeyboardInterrupt
        return measure(*arguments)

    def on_step_end(self, settings, state, control, **kwargs):
        if kind == "step" and state.global_step == number:
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "validate", killed)
    monkeypatch.setattr(Course, "on_step_end", on_step_end)
    with pytest.raises(KeyboardInterrupt):
        tune("killed", *words)
    monkeypatch.undo()
    torch.manual_seed(5)
    continued = tune("killed", *words)
    assert validation(continued) == validation(whole)
    assert [epoch["epoch"] for epoch in validation(whole)["epochs"]] == [1, 2]
    assert_same(whole, continued)


def test_a_next_stage_begins_with_the_adapter_of_the_one_before(tune, bloom, tokenizer, first_models):
    first = tune("first", *NO_DROPOUT)
    second = tune("second", *NO_DROPOUT, before=first)
    begun = {
        name.replace(".default", ""): weight for name, weight in first_models[1][1].items() if "lora_" in name
    }
    torch.testing.assert_close(begun, adapter(first), rtol=0, atol=0)
    model = tuned_model(tuning_job(bloom), first)
    examples = Examples(toy_records(), tokenizer, 99, 99)
    found = validate(model, AnswerTokens(model), {"mt": examples}, Padding(3), 3, Accelerator(cpu=True))
    assert found["mt"]["loss"] == pytest.approx(validation(first)["loss"], rel=1e-5)
    assert validation(second)["loss"] < validation(first)["loss"]


def test_without_an_adapter_all_weights_learn_the_answers(tune, tokenizer, tmp_path):
    lines = [" ".join(words) for words in WORDS.values()]
    wider = write_bloom(tmp_path / "wider", lines, 300, width=32, layers=1)
    whole = ("--model", wider, "--lora-rank", 0, "--learning-rate", 2e-2, "--batch-sentences", 8)
    folder = tune("out", *whole, "--epochs", 80)
    epochs = validation(folder)["epochs"]
    assert epochs[-1]["loss"] < 0.1 < 2 < epochs[0]["loss"]
    assert epochs[-1]["objectives"]["mt"]["accuracy"] == 1.0
    assert validation(folder)["trained_parameters"] == load_model(wider, "float32").num_parameters()
    again = tune("again", *whole, "--learning-rate", 1e-9, before=folder)
    assert validation(again)["loss"] == pytest.approx(epochs[-1]["loss"], rel=1e-3)


def test_half_precision(tune, first_models, monkeypatch):
    """Of the weights that stay, and of the arithmetic, also of float32 adapters."""
    dtypes, right = [], training.AnswerTrainer.compute_loss

    def compute_loss(self, model, *args, **kwargs):
        dtypes.append(torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu"))
        return right(self, model, *args, **kwargs)

    monkeypatch.setattr(training.AnswerTrainer, "compute_loss", compute_loss)
    half, full = (validation(tune(name, "--precision", name))["loss"] for name in ("bfloat16", "float32"))
    assert set(dtypes[: len(dtypes) // 2]) == {torch.bfloat16} and set(dtypes[len(dtypes) // 2 :]) == {False}
    assert half == pytest.approx(full, abs=0.05) and half != full
    kinds = [
        {weight.dtype for name, weight in begun.items() if ".lora_" not in name} for _, begun in first_models
    ]
    assert kinds == [{torch.bfloat16}, {torch.float32}]


def test_a_loss_that_is_no_number(tune, monkeypatch):
    right = training.AnswerTrainer.compute_loss
    monkeypatch.setattr(
        training.AnswerTrainer, "compute_loss", lambda *args, **kwargs: right(*args, **kwargs) * float("nan")
    )
    with pytest.raises(InputError, match=r"--learning-rate 0\.0003: the loss is nan at update 1; expected a"):
        tune("out")


LONG = {"input": "Say x:", "output": "house " * 50}


def test_an_update_of_nothing_but_skipped_instructions_changes_nothing(tune, tokenizer):
    folder = tune("out", *NO_DROPOUT, examples=Examples([LONG] * 4, tokenizer, 99, 20, skip_overlong=True))
    assert validation(folder)["updates"] == 2
    assert not any(value.any() for name, value in adapter(folder).items() if "lora_B" in name)


def test_an_update_is_that_of_the_instructions_that_are_not_skipped(tune, tokenizer):
    few = toy_records(3)
    skipping = Examples([few[0], LONG, *few[1:], LONG], tokenizer, 99, 20, skip_overlong=True)
    skipped = tune("one", *NO_DROPOUT, "--batch-sentences", 1, "--batches-per-update", 5, examples=skipping)
    two = tune("two", *NO_DROPOUT, "--batch-sentences", 3, records=few)
    assert distance(skipped, two) < 0.05  # Adam makes much of the rounding of gradients near 0
    everything = Examples(skipping.instructions, tokenizer, 99, 20)
    assert distance(tune("three", *NO_DROPOUT, "--batch-sentences", 5, examples=everything), two) > 0.2


def distance(first: Path, second: Path) -> float:
    """Of two adapters, as a share of the second one's size, where they differ most."""
    ours, theirs = adapter(first), adapter(second)
    return max(float((ours[name] - theirs[name]).norm() / theirs[name].norm()) for name in theirs)


# --- validation


class AlwaysTrue(torch.nn.Module):
    """After whatever it is asked, the likeliest tokens are those of " True" and the end."""

    def __init__(self, tokenizer):
        super().__init__()
        ids = [*tokenizer(" True")["input_ids"], tokenizer.eos_token_id]
        self.following = dict(pairwise(ids))
        self.first, self.size = ids[0], len(tokenizer)
        self.head = torch.nn.Identity()

    def get_output_embeddings(self):
        return self.head

    def forward(self, input_ids, attention_mask, use_cache):
        following = torch.full_like(input_ids, self.first)
        for token, then in self.following.items():
            following[input_ids == token] = then
        scores = torch.nn.functional.one_hot(following, self.size).float()
        return type("Output", (), {"logits": self.head(scores)})


def validated(model, held_out, batch: int = 3) -> dict:
    return validate(model, AnswerTokens(model), held_out, Padding(3), batch, Accelerator(cpu=True))


@pytest.mark.parametrize("batch", [1, 3, 100])
@pytest.mark.parametrize("skipped", [0, 2])
def test_accuracy_is_the_share_of_answers_that_are_right_to_the_end(tokenizer, batch, skipped):
    answers = ["True", "False", "True", "Tru", "True enough", "True", "False"]
    records = [{"input": f"{number} is it", "output": answer} for number, answer in enumerate(answers)]
    examples = Examples([LONG] * skipped + records, tokenizer, 99, 20, skip_overlong=True)
    validation = validated(AlwaysTrue(tokenizer), {"align": examples}, batch)
    assert validation["align"]["accuracy"] == pytest.approx(3 / 7)
    assert validation["align"]["instructions"] == 7


def test_the_loss_is_the_mean_over_the_tokens_of_answers(bloom, tokenizer):
    model = load_model(bloom, "float32").train()
    examples = Examples(toy_records(7), tokenizer, 99, 99)
    nats, tokens = 0.0, 0
    for number in range(7):
        row = examples[number]
        logits = model(torch.tensor([row["input_ids"]])).logits[0].detach()
        for place, label in enumerate(row["labels"]):
            if label != IGNORED:
                nats += cross_entropy(logits[place - 1 : place], torch.tensor([label])).item()
                tokens += 1
    losses = validated(model, {"mt": examples, "align": Examples(toy_records(2), tokenizer, 99, 99)})
    assert losses["mt"]["loss"] == pytest.approx(nats / tokens, rel=1e-5)
    assert list(losses) == ["mt", "align"] and losses["align"]["instructions"] == 2
    assert model.training


def test_validation_draws_nothing(bloom, tokenizer):
    """Else what comes after it would depend on whether it was done again."""
    model = load_model(bloom, "float32")
    before = torch.get_rng_state()
    validated(model, {"mt": Examples(toy_records(), tokenizer, 99, 99)})
    assert torch.get_rng_state().equal(before)
