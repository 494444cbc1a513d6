"""`improvements`, for early stopping with several measures (thesis 4.4.3)."""

import json
import math
import random
from argparse import Namespace
from pathlib import Path
from unittest import mock

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.dataclass.configs import CheckpointConfig
from fairseq.logging import metrics
from fairseq_cli import train

from command_line.errors import InputError
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.tasks.improvements import NAME, Improvements
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
from tests.fairseq_ext.folders import write_toy_folder
from tests.fairseq_ext.models import SIZES, build


def sequence_of(seed: int) -> list[tuple[int, int]]:
    """(accuracy, perplexity) of validations that tend to become better."""
    draw = random.Random(seed).randint
    return [(draw(0, 6 + step), draw(0, 30 - step)) for step in range(20)]


SEQUENCES = [sequence_of(seed) for seed in range(20)]


def by_hand(sequence) -> list[float]:
    """The count after every validation, a half less after one that is no improvement: (accuracy, perplexity)
    must both beat the last improvement's.
    """
    found, count, best = [], 0, None
    for accuracy, perplexity in sequence:
        improved = best is None or (accuracy > best[0] and perplexity < best[1])
        best = (accuracy, perplexity) if improved else best
        count += improved
        found.append(count if improved else count - 0.5)
    return found


def validate(improvements: Improvements, accuracy, perplexity) -> float:
    """As fairseq does: numbers are asked for several times, and there is a second validation set."""
    stats = {"accuracy": accuracy, "ppl": perplexity}
    improvements.begin()
    found = {improvements.after(stats.__getitem__) for _ in range(3)}
    improvements.validated(stats)
    improvements.validated({"accuracy": 100, "ppl": 0})
    (count,) = found
    return count


@pytest.mark.parametrize("interrupted", [False, True])
def test_counts_validations_that_improve_on_all_measures(interrupted):
    seen = set()
    for sequence in SEQUENCES:
        improvements, found = Improvements("accuracy,ppl"), []
        for number, (accuracy, perplexity) in enumerate(sequence):
            if interrupted and number == 7:
                state = json.loads(json.dumps(improvements.state_dict()))
                improvements = Improvements("accuracy, ppl")
                improvements.load_state_dict(state)
            found.append(validate(improvements, accuracy, perplexity))
        assert found == by_hand(sequence)
        seen.add(found[-1])
    assert len(seen) > 2


def test_the_best_checkpoint_is_that_of_the_last_improvement(tmp_path, monkeypatch):
    """fairseq takes the newer of two that are equally good."""
    cfg = CheckpointConfig(
        save_dir=str(tmp_path), best_checkpoint_metric=NAME, maximize_best_checkpoint_metric=True
    )
    monkeypatch.delattr(checkpoint_utils.save_checkpoint, "best", raising=False)
    improvements = Improvements("accuracy,ppl")
    for epoch, (accuracy, perplexity) in enumerate([(10, 9), (20, 8), (30, 8.5), (15, 7), (20, 8)], start=1):
        trainer = mock.MagicMock(data_parallel_rank=0, checkpoint_suffix="", is_fsdp=False)
        trainer.get_num_updates.return_value = epoch
        trainer.save_checkpoint.side_effect = lambda path, extra, epoch=epoch: Path(path).write_text(
            str(epoch)
        )
        epochs = mock.MagicMock(epoch=epoch)
        epochs.end_of_epoch.return_value = True
        checkpoint_utils.save_checkpoint(cfg, trainer, epochs, validate(improvements, accuracy, perplexity))
    assert (tmp_path / "checkpoint_best.pt").read_text() == "2"
    assert (tmp_path / "checkpoint_last.pt").read_text() == "5"
    monkeypatch.delattr(checkpoint_utils.save_checkpoint, "best", raising=False)


def test_batches_without_a_measure_are_no_error_and_a_validation_without_it_is():
    """fairseq asks after every batch; one of zero-shot directions has no accuracy."""
    improvements = Improvements("accuracy,ppl")
    with metrics.aggregate() as batch:
        metrics.log_scalar("loss", 0)
        improvements.log()
    assert math.isnan(batch.get_smoothed_values()[NAME])
    with metrics.aggregate() as whole:
        metrics.log_scalar("accuracy", 50)
        metrics.log_scalar("ppl", 9.0)
        improvements.log()
    assert whole.get_smoothed_values()[NAME] == 1
    improvements.begin()
    with pytest.raises(InputError, match=r"validation does not log 'accuracy'$"):
        improvements.validated({"loss": 1.0})


@pytest.mark.parametrize("name", ["bleu", "zero_shot_bleu", "retrieval_de-en", "effective_rank"])
def test_more_is_better_of_scores(name):
    improvements, counts = Improvements(name), []
    for value in (10.0, 20.0, 15.0, 21.0):
        improvements.begin()
        improvements.validated({name: value})
        counts.append(improvements.count)
    assert counts == [1, 2, 2, 3]


def test_one_measure_alone_does_not_count():
    improvements = Improvements("accuracy,ppl")
    counts = [
        validate(improvements, *each) for each in ((10, 5.0), (11, 5.0), (11, 4.0), (12, 3.0), (12, 2.0))
    ]
    assert counts == [1, 0.5, 2, 3, 2.5]


@pytest.mark.parametrize("diverged", [math.nan, math.inf])
def test_a_validation_that_diverged_is_no_improvement_and_none_is_measured_by_it(diverged):
    improvements = Improvements("accuracy,ppl")
    sequence = ((10, diverged), (10, 9.0), (11, diverged), (diverged, 8.0), (12, 8.0))
    assert [validate(improvements, *each) for each in sequence] == [0, 1, 0.5, 0.5, 2]


def test_fairseqs_patience_counts_from_the_last_improvement(monkeypatch):
    monkeypatch.setattr(train.should_stop_early, "best", None, raising=False)
    monkeypatch.setattr(train.should_stop_early, "num_runs", 0, raising=False)
    checkpoint = Namespace(patience=3, maximize_best_checkpoint_metric=True)
    improvements, stopped = Improvements("accuracy,ppl"), []
    # perplexity goes on falling: patience with --best-checkpoint-metric ppl would never end this
    for number, accuracy in enumerate((10, 20, 15, 30, 30, 29, 28, 27)):
        count = validate(improvements, accuracy, 10.0 - number)
        stopped.append(train.should_stop_early(Namespace(checkpoint=checkpoint), count))
        if stopped[-1]:
            break
    assert stopped == [False] * 6 + [True]


def test_other_measures_than_the_checkpoints_begin_anew():
    first = Improvements("ppl")
    first.begin()
    first.validated({"ppl": 3.0})
    second = Improvements("accuracy")
    second.load_state_dict(first.state_dict())
    assert (second.count, Improvements("").state_dict()) == (0, {})


def test_a_measure_that_is_not_logged_is_refused():
    with pytest.raises(InputError, match=r"validation does not log 'accuracy'$"):
        Improvements("accuracy,ppl").after({"ppl": 3.0}.__getitem__)
    with pytest.raises(InputError, match=r"validation does not log 'blue'$"):
        Improvements("blue").after({}.__getitem__)


def test_the_task_logs_it_and_keeps_it_in_the_checkpoint(tmp_path):
    folder = write_toy_folder(tmp_path / "data")

    def make_task():
        cfg = MultilingualNmtConfig(
            data=str(folder), lang_pairs="de-en,en-de", improvement_metrics="accuracy,ppl", max_update=0
        )
        return MultilingualNmtTask.setup_task(cfg)

    task = make_task()
    task.load_dataset("valid")
    dataset = task.dataset("valid")
    model = build(MnmtTransformerModel, task.dictionary, **{**SIZES, "encoder_layers": 1})
    criterion = LabelSmoothedCrossEntropyCriterion(task, False, 0.1, report_accuracy=True)

    def validated(better: bool) -> dict:
        criterion.eval()
        task.begin_valid_epoch(1, model)
        with metrics.aggregate(new_root=True) as logged:
            for index in range(len(dataset)):
                _, _, log = task.valid_step(dataset.collater([dataset[index]]), model, criterion)
                log |= {"n_correct": torch.tensor(int(log["ntokens"] * better))}
                task.reduce_metrics([log], criterion)
        stats = logged.get_smoothed_values()
        task.post_validate(model, stats, logged)
        return stats

    first, second = validated(better=False), validated(better=True)
    assert (first[NAME], second[NAME]) == (1, 0.5)  # accuracy rose, perplexity is what it was
    with torch.no_grad():
        model.decoder.output_projection.weight.mul_(0.5)  # flatter: of an untrained model the better
    other = make_task()
    other.load_state_dict(json.loads(json.dumps(task.state_dict())))
    task = other
    third = validated(better=True)
    assert (third[NAME], third["ppl"] < second["ppl"]) == (2, True)
    assert task.state_dict()[NAME]["best"] == {"accuracy": 100.0, "ppl": third["ppl"]}

    optimizer = Namespace(backward=lambda loss: None)
    sample = dataset.collater([dataset[0]])
    task.train_step(sample, model, criterion, optimizer, 5)
    assert task.improvements.count == 2
    task.train_step(sample, model, criterion, optimizer, 0)  # --finetune-from-model: a training of its own
    assert (task.improvements.count, task.improvements.best) == (0, {})
