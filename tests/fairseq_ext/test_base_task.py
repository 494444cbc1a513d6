"""`BaseTask`: a task of sentence pairs without a decoder is what it shares, and little more."""

import contextlib
import dataclasses
import math
import re
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from fairseq.logging import metrics
from fairseq.models import FairseqEncoderModel

from command_line.errors import InputError
from data_prep.formats.dictionary import load_shared_dictionary
from data_prep.formats.sentences import load_pair
from fairseq_ext.criterions.options_of_losses import WeightedLossesConfig
from fairseq_ext.criterions.weighted_losses import WeightedLosses
from fairseq_ext.data.batch_fields import FIELDS, FieldSource
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.tasks.base import BaseTask
from fairseq_ext.tasks.generating import GeneratingTask
from fairseq_ext.tasks.linguistic_pretraining import LinguisticPretrainingTask
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtTask
from fairseq_ext.tasks.shared_options import SharedTaskConfig, languages_with_tag
from tests.fairseq_ext.folders import write_pair, write_toy_folder
from tests.fairseq_ext.models import build

DIRECTION = ("de", "en")


class PairTask(BaseTask):
    """Pairs of one direction for a sentence encoder."""

    def __init__(self, cfg, dictionary):
        super().__init__(cfg, dictionary)
        self.add_tags(DIRECTION, "none")

    def make_dataset(self, folder, name, is_training, **options):
        sides = load_pair(folder, name, DIRECTION)
        part = DirectionData.with_tags(self.tags, DIRECTION, *sides, *(side.sizes for side in sides))
        for field in self.batch_fields:
            part.fields[field] = FIELDS[field](FieldSource(part, self.tags, folder, name))
        return MultilingualDataset([part], **options)


class SearchingTask(PairTask, GeneratingTask):
    """The same with the step of a search."""


def make_task(folder, kind: type[PairTask], **options) -> PairTask:
    write_toy_folder(folder)
    needed = {"train_subset": "train", "seed": 1, "max_update": 0, "update_freq": [1]}
    cfg = SharedTaskConfig(data=str(folder), **needed | options)
    return kind(cfg, load_shared_dictionary(folder, DIRECTION))


@pytest.fixture
def task(tmp_path) -> PairTask:
    return make_task(tmp_path / "data", PairTask)


def make_encoder(task) -> FairseqEncoderModel:
    encoder = build(MnmtTransformerModel, task.dictionary).encoder
    with mock.patch("fairseq.models.build_model", lambda cfg, task, _: FairseqEncoderModel(encoder)):
        return task.build_model(None)


def make_criterion(task) -> WeightedLosses:
    cfg = WeightedLossesConfig(losses="sentence_contrastive", sentence_avg=True)
    with mock.patch(
        "fairseq.criterions.build_criterion",
        lambda cfg, task, from_checkpoint: WeightedLosses.build_criterion(cfg, task),
    ):
        return task.build_criterion(cfg)


class Optimizer(torch.optim.SGD):
    def backward(self, loss):
        loss.backward()


def test_a_sentence_encoder_learns_and_is_validated(task):
    torch.manual_seed(1)
    model = make_encoder(task)
    criterion = make_criterion(task)
    assert not task.model_sizes.has_decoder
    assert task.batch_fields == ("mirror",)
    for split in ("train", "valid"):
        task.load_dataset(split)
    dataset = task.dataset("train")
    batch = dataset.collater([dataset[index] for index in range(4)])
    optimizer, losses = Optimizer(model.parameters(), lr=0.01), []
    for update in range(10):
        optimizer.zero_grad()
        loss, size, _ = task.train_step(batch, model, criterion, optimizer, update)
        task.optimizer_step(optimizer, model=model, update_num=update)
        losses.append(loss.item())
    assert size == 4
    assert losses[-1] < losses[0]
    valid = task.dataset("valid")
    sample = valid.collater([valid[index] for index in range(2)])
    loss, _, log = task.valid_step(sample, model, criterion.eval())
    with metrics.aggregate(new_root=True) as found:
        task.reduce_metrics([log], criterion)
    assert found.get_smoothed_values()["loss"] == pytest.approx(loss.item() / 2 / math.log(2), abs=1e-3)
    assert set(task.state_dict()) == {"languages", "dictionary_sha256", "initialized_from"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"amp": True}, "--amp: is not for these tasks; expected --autocast-bf16 or --fp16"),
        ({"autocast_bf16": True, "fp16": True}, "--autocast-bf16 --fp16: are 2 kinds"),
        ({"bf16": True}, "--bf16: is for TPUs in fairseq, which looks for one; expected --autocast-bf16"),
        ({"autocast_bf16": True, "bf16": True}, "--bf16: is for TPUs"),
        ({"ddp_backend": "fully_sharded"}, "--ddp-backend fully_sharded"),
        ({"fp16": True, "cpu": True}, "--fp16: needs a GPU"),
        ({"store_ema": True}, "--store-ema: nothing reads these weights"),
        ({"valid_subset": "valid,train"}, "--valid-subset valid,train: train is what is trained on"),
        (
            {"best_checkpoint_metric": "accuracy", "maximize_best_checkpoint_metric": False},
            "--best-checkpoint-metric accuracy: more is better; add",
        ),
        (
            {
                "best_checkpoint_metric": "improvements",
                "maximize_best_checkpoint_metric": False,
                "improvement_metrics": "ppl",
            },
            "--best-checkpoint-metric improvements: more is better; add",
        ),
        ({"best_checkpoint_metric": "bleu_de-en"}, "bleu_de-en is not measured without --eval-bleu"),
        ({"improvement_metrics": "ppl, retrieval"}, "retrieval is not measured without --eval-retrieval"),
        (
            {"best_checkpoint_metric": "improvements"},
            "improvements is not measured without --improvement-metrics",
        ),
        (
            {"best_checkpoint_metric": "loss_de-en", "maximize_best_checkpoint_metric": True},
            "--best-checkpoint-metric loss_de-en: less is better; leave out",
        ),
        ({"virtual_epoch_updates": 2, "skip_remainder_batch": True}, "--skip-remainder-batch: counts epochs"),
        ({"virtual_epoch_updates": 2, "curriculum": 1}, "--curriculum: counts epochs"),
        ({"virtual_epoch_updates": 2, "update_freq": [4, 2]}, "--update-freq 4,2: counts epochs"),
    ],
)
def test_what_no_training_has_is_refused(tmp_path, options, message):
    task = make_task(tmp_path / "data", PairTask, **options)
    with pytest.raises(InputError, match=re.escape(message)):
        make_encoder(task)


@pytest.mark.parametrize(
    "options",
    [
        {"best_checkpoint_metric": "loss", "maximize_best_checkpoint_metric": False},
        {"best_checkpoint_metric": "accuracy", "maximize_best_checkpoint_metric": True},
        {"virtual_epoch_updates": 2, "skip_remainder_batch": False, "curriculum": 0, "update_freq": [4]},
        {"valid_subset": "valid,train1", "fp16": False, "cpu": True, "autocast_bf16": True},
    ],
)
def test_what_goes_together_is_not_refused(tmp_path, options):
    make_encoder(make_task(tmp_path / "data", PairTask, **options))


def test_a_training_of_which_nothing_is_left(task):
    """Sentences that are too long, for instance; fairseq says it in many lines."""
    task.load_dataset("train")
    message = "nothing to train on: no example of the set train is within --max-tokens, --max-source-pos"
    with pytest.raises(InputError, match=message):
        task.get_batch_iterator(task.dataset("train"), max_positions=(1, 1), ignore_invalid_inputs=True)


def lengths_of(task, split: str, most: int, **options) -> list[int]:
    """Source lengths of all examples in the batches of a set."""
    iterator = task.get_batch_iterator(
        task.dataset(split), max_sentences=1, max_positions=(most, most), **options
    )
    return sorted(task.dataset(split).size(index)[0] for (index,) in iterator.frozen_batches)


@pytest.fixture
def task_with_long_examples(tmp_path) -> PairTask:
    task = make_task(tmp_path / "data", PairTask)
    for split in ("train", "valid"):
        sources = [[4, 5, 2], [4, 5, 6, 7, 2], [4, 2], [5] * 9 + [2]]
        write_pair(tmp_path / "data", split, "de-en", sources, [[4, 2]] * 4)
        task.load_dataset(split)
    return task


@pytest.mark.parametrize("split", ["train", "valid"])
def test_examples_that_are_too_long_are_left_out_and_counted_once(task_with_long_examples, caplog, split):
    task = task_with_long_examples
    make_encoder(task)
    make_criterion(task)
    for _ in range(2):
        assert lengths_of(task, split, 5) == [2, 3, 5]
    (said,) = [record.getMessage() for record in caplog.records if "longer than" in record.getMessage()]
    assert said == (
        f"{split}: 1 of 4 examples are longer than 5 source or 5 target tokens (--max-source-positions,"
        " --max-target-positions); they are left out"
    )
    assert lengths_of(task, split, 10) == [2, 3, 5, 10]


def test_a_generation_does_not_lose_lines_unasked(task_with_long_examples):
    task = task_with_long_examples
    message = (
        r"valid: 2 of 4 examples .* 3 source or 3 target tokens .*; `python -m eval translate` cuts them"
    )
    with pytest.raises(InputError, match=message):
        lengths_of(task, "valid", 3)
    assert lengths_of(task, "valid", 3, ignore_invalid_inputs=True) == [2, 3]


def test_a_validation_set_of_which_nothing_is_left(task_with_long_examples):
    task = task_with_long_examples
    make_encoder(task)
    make_criterion(task)
    with pytest.raises(InputError, match=r"valid: 4 of 4 examples .* nothing is left to measure"):
        lengths_of(task, "valid", 1)


def test_sets_are_validated_one_by_one_and_whole(task):
    with pytest.raises(InputError, match="--combine-valid-subsets: sets are measured one by one"):
        task.load_dataset("valid", combine=True)
    task.load_dataset("train", combine=True)


def test_a_training_does_not_measure_some_of_its_directions_only(task):
    """Another training's option, which fairseq-validate finds in its checkpoint, is none of a validation."""
    task.cfg.max_valid_steps = 3
    task.load_dataset("valid")
    task.begin_epoch(1, None)  # of one part, whose first batches are a sample
    task.datasets["valid"] = SimpleNamespace(parts=[1, 2])
    with pytest.raises(InputError, match="--max-valid-steps 3: would measure the first parts of valid only"):
        task.begin_epoch(1, None)


@pytest.mark.parametrize(
    ("backend", "finds_unused", "refused"),
    [
        ("pytorch_ddp", None, True),
        ("c10d", False, True),
        ("pytorch_ddp", True, False),
        ("legacy_ddp", None, False),
    ],
)
def test_a_decoder_that_nobody_trains(tmp_path, monkeypatch, backend, finds_unused, refused):
    """Refused where gradients are waited for, when a training begins: fairseq-validate has none."""
    task = make_task(tmp_path / "data", PairTask, ddp_backend=backend, find_unused_parameters=finds_unused)
    make_encoder(task)
    task.model_sizes = dataclasses.replace(task.model_sizes, has_decoder=True)
    monkeypatch.setattr("fairseq_ext.tasks.base.world_size", lambda: 2)
    make_criterion(task)
    message = "--losses sentence_contrastive: leave parts of the decoder without"
    with pytest.raises(InputError, match=message) if refused else contextlib.nullcontext():
        task.begin_epoch(1, None)


def test_validation_has_the_criterion_where_the_batch_is(task):
    """fairseq-validate leaves it on the processor."""
    moved = []

    class Criterion(torch.nn.Module):
        def to(self, device):
            moved.append(device)

        def forward(self, model, sample):
            return torch.zeros(()), 1, {}

    batch = {"net_input": {"src_tokens": torch.ones(1, 1, dtype=torch.long, device="meta")}}
    task.valid_step(batch, torch.nn.Linear(1, 1), Criterion())
    assert moved == [torch.device("meta")]


@pytest.mark.parametrize(("asked", "expected"), [(False, torch.float32), (True, torch.bfloat16)])
def test_products_of_every_step_are_bfloat16_where_asked_for(tmp_path, asked, expected):
    """In training, validation and search; not outside of these, and weights stay what they are."""
    task = make_task(tmp_path / "data", SearchingTask, autocast_bf16=asked)
    found = {}

    class Linear(torch.nn.Linear):
        def set_num_updates(self, number: int) -> None:
            pass

    class Criterion(torch.nn.Module):
        def forward(self, model, sample):
            product = model(torch.ones(1, 3))
            found["train" if model.training else "valid"] = product.dtype
            return product.sum(), 1, {}

    class Generator:
        def generate(self, models, sample, **options):
            found["search"] = models[0](torch.ones(1, 3)).dtype

    model, batch = Linear(3, 2), {"net_input": {"src_tokens": torch.ones(1, 1, dtype=torch.long)}}
    task.train_step(batch, model, Criterion(), Optimizer(model.parameters(), lr=0.01), 0)
    task.valid_step(batch, model, Criterion())
    task.inference_step(Generator(), [model], batch, prefix_tokens=torch.ones(1, 0, dtype=torch.long))
    assert found == dict.fromkeys(("train", "valid", "search"), expected)
    assert model(torch.ones(1, 3)).dtype == model.weight.dtype == model.weight.grad.dtype == torch.float32


def test_no_task_inherits_what_it_does_not_use():
    """Pre-training neither searches nor has directions."""
    assert LinguisticPretrainingTask.__mro__[1] is GeneratingTask.__mro__[1] is BaseTask
    assert MultilingualNmtTask.__mro__[1] is GeneratingTask
    assert not {"inference_step", "build_generator", "build_dataset_for_inference"} & set(vars(BaseTask))


def test_languages_with_a_tag():
    cfg = SharedTaskConfig(langs="")
    assert languages_with_tag(cfg, ["en", "de", "en"], "--pairs") == ["de", "en"]
    cfg.langs = "en,fr,de"
    assert languages_with_tag(cfg, ["de"], "--pairs") == ["en", "fr", "de"]
    with pytest.raises(InputError, match="--langs en,fr,de: lacks cs, which --pairs uses"):
        languages_with_tag(cfg, ["de", "cs"], "--pairs")
