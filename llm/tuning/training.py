"""One stage of tuning by `transformers.Trainer`, on one or more devices; it goes on where it was killed."""

import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from command_line.outputs import scratch_folder, write_json
from command_line.records import read_json
from data_prep.transformers_trainer import QUIET, Diverged, Progress, go_on
from llm.tuning.answers import AnswerTokens
from llm.tuning.examples import Examples, Padding
from llm.tuning.model import trained_parameters, tuned_model
from llm.tuning.options import VALIDATION, Tuning
from llm.tuning.validation import validate


@dataclass(frozen=True)
class Stage:
    """What a stage is trained on.

    Attributes:
        title: "stage 1 of 2, MT+Align", for messages.
        held_out: objective -> instructions for validation.
        before: folder of the stage that it goes on from; None for the first one.
    """

    title: str
    training: Examples
    held_out: dict[str, Examples]
    before: Path | None


def tune_stage(job: Tuning, stage: Stage, tokenizer, rate: float, state: Path, target: Path) -> None:
    """Train a stage with one learning rate, or go on, and write the adapter (or model) and its validation.

    Args:
        target: folder of the result, which appears whole.

    Raises:
        Diverged: the loss is no number any more.
        InputError: the model cannot be adapted.
    """
    set_seed(job.seed)  # of a new adapter, which is made before the trainer does it
    model = tuned_model(job, stage.before)
    arguments = training_arguments(job, rate, state)
    padding = Padding(tokenizer.pad_token_id)
    trainer = AnswerTrainer(
        model=model,
        args=arguments,
        train_dataset=stage.training,
        data_collator=padding,
        callbacks=[Progress(f"tune: {stage.title}", "a larger --warmup-ratio")],
    )

    def measure() -> dict:
        batch = job.batch_sentences
        return validate(model, trainer.answers, stage.held_out, padding, batch, trainer.accelerator)

    course = Course(stage.title, state, measure, stage.training if rate == job.learning_rate[0] else None)
    trainer.add_callback(course)
    go_on(trainer, state)
    record = {
        "learning_rate": rate,
        "updates": trainer.state.global_step,
        "instructions_per_update": job.batch_sentences * job.batches_per_update * arguments.world_size,
        "trained_parameters": trained_parameters(model),
        "epochs": course.epochs,
        "loss": course.epochs[-1]["loss"],
    }
    if trainer.is_world_process_zero():
        with scratch_folder(target.parent) as scratch:
            made = scratch / target.name
            model.save_pretrained(made)
            if not job.lora.lora_rank:
                tokenizer.save_pretrained(made)
            write_json(made / VALIDATION, record)
            os.replace(made, target)
    trainer.accelerator.wait_for_everyone()


def training_arguments(job: Tuning, rate: float, state: Path) -> TrainingArguments:
    """How `transformers` is to train."""
    arguments = TrainingArguments(
        output_dir=str(state),
        num_train_epochs=job.epochs,
        per_device_train_batch_size=job.batch_sentences,
        gradient_accumulation_steps=job.batches_per_update,
        learning_rate=rate,
        warmup_ratio=job.warmup_ratio,
        lr_scheduler_type="linear",
        save_steps=job.save_updates,
        **QUIET,
        bf16=job.precision == "bfloat16",
        fp16=job.precision == "float16",
        gradient_checkpointing=job.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False} if job.gradient_checkpointing else None,
        dataloader_num_workers=job.loader_workers,
        ddp_find_unused_parameters=False,
        use_cpu=job.cpu or not torch.cuda.is_available(),
        seed=job.seed,
    )
    # A process has one device; several are several processes of torchrun.
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments


class AnswerTrainer(Trainer):
    """Learns answers. An update's loss is the mean over the tokens of all its answers, whatever batches and
    devices they are on.
    """

    def __init__(self, model, **arguments):
        super().__init__(model, **arguments)
        self.answers = AnswerTokens(model)
        self.model_accepts_loss_kwargs = True  # the trainer counts the tokens of an update

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        scores, tokens = self.answers(model, inputs)
        # Gradients of devices are averaged.
        count = max(num_items_in_batch, 1)  # there is none where all instructions of an update are skipped
        return cross_entropy(scores, tokens, reduction="sum") / count * self.args.world_size


class Course(TrainerCallback):
    """Validates after every epoch; what was measured before a kill is kept beside the trainer's state.

    Args:
        training: the instructions, of whose lengths it warns after the first epoch; None to warn of none.
    """

    def __init__(self, title: str, state: Path, measure, training: Examples | None = None):
        self.title, self.file, self.measure, self.training = title, state / VALIDATION, measure, training
        self.epochs: list[dict] = []

    def on_train_begin(self, settings, state, control, **kwargs):
        if not state.global_step:
            return
        if self.file.is_file():
            self.epochs = [epoch for epoch in read_json(self.file) if epoch["update"] <= state.global_step]
        is_end = state.global_step % (state.max_steps // state.num_train_epochs) == 0
        if is_end and state.global_step not in [epoch["update"] for epoch in self.epochs]:
            self._validate(state, settings.learning_rate)  # it was killed meanwhile

    def on_epoch_end(self, settings, state, control, **kwargs):
        self._validate(state, settings.learning_rate)

    def _validate(self, state, rate: float) -> None:
        if self.training is not None:
            self.training.flush()
        objectives = self.measure()  # in which devices meet
        entry = {"epoch": round(state.epoch), "update": state.global_step}
        mean = sum(measured["loss"] for measured in objectives.values()) / len(objectives)
        entry |= {"loss": mean, "objectives": objectives}
        if not math.isfinite(loss := entry["loss"]):
            raise Diverged(
                f"--learning-rate {rate}: the validation loss is {loss} after epoch {entry['epoch']};"
                " expected a number; give a smaller one"
            )
        self.epochs = [epoch for epoch in self.epochs if epoch["epoch"] != entry["epoch"]] + [entry]
        if not state.is_world_process_zero:
            return
        write_json(self.file, self.epochs)
        shown = ", ".join(f"{name} {epoch['loss']:.3f}" for name, epoch in objectives.items())
        print(f"tune: {self.title}: epoch {entry['epoch']}: valid loss {shown}", file=sys.stderr)
        if entry["epoch"] == 1 and self.training is not None and (line := self.training.overlong_line()):
            print(f"warning: {self.title}: {line}", file=sys.stderr)
