"""What trainings by `transformers.Trainer` share: going on after a kill, and a line now and then."""

import json
import math
import os
import shutil
import sys
import time
import warnings
from pathlib import Path

import accelerate  # noqa: F401  # which the trainer asks for when it is made, in an error of several lines
import torch
from torch.utils.data import DataLoader
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from command_line.errors import InputError

SECONDS_BETWEEN_LINES = 10.0
QUIET = {  # arguments of a training that keeps its last state, and of which we say how it goes
    "save_total_limit": 1,
    "logging_steps": 1,
    "logging_nan_inf_filter": False,
    "report_to": "none",
    "disable_tqdm": True,
    "remove_unused_columns": False,
}


class Diverged(InputError):
    """The loss of a training is no number any more."""


def last_state(folder: Path) -> str | None:
    """The trainer's newest state that was written to its end; removes the others."""
    states = {int(path.name.rpartition("-")[2]): path for path in folder.glob("checkpoint-*")}
    whole = None
    for update in sorted(states, reverse=True):
        if whole is None and _is_whole(states[update]):
            whole = str(states[update])
        else:
            shutil.rmtree(states[update])
    return whole


def _is_whole(state: Path) -> bool:
    """The trainer writes this file last."""
    try:
        json.loads((state / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def go_on(trainer: Trainer, state: Path) -> None:
    """Train from the last state in a folder, or from the beginning; what is said of it is `Progress`'s."""
    trainer.remove_callback(PrinterCallback)
    with warnings.catch_warnings():  # states are numbered: their order needs no times of files
        warnings.filterwarnings("ignore", message="mtime may not be reliable")
        with trainer.accelerator.main_process_first():  # which removes what is not whole
            begun = last_state(state)
        trainer.train(resume_from_checkpoint=begun)


def ordered_arguments(job, state: Path, updates: int, rate: float, **others) -> TrainingArguments:
    """Arguments of an `OrderedTrainer`, on one device.

    Args:
        job: its precision, "bfloat16" or another, cpu, and seed.
        rate: of learning, the highest.
    """
    arguments = TrainingArguments(
        output_dir=str(state),
        max_steps=updates,
        per_device_train_batch_size=1,  # an item is a batch
        learning_rate=rate,
        bf16=job.precision == "bfloat16",
        use_cpu=job.cpu or not torch.cuda.is_available(),
        seed=job.seed,
        **QUIET,
        **others,
    )
    # The trainer would spread a batch over all GPUs of a process by its rows, which belong together.
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments


class OrderedTrainer(Trainer):
    """Takes the batches of its data, which are its items, in their order, which is random already."""

    def get_train_dataloader(self) -> DataLoader:
        loader = DataLoader(
            self.train_dataset,
            batch_size=1,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            worker_init_fn=_without_threads,
        )
        return self.accelerator.prepare(loader)


def _without_threads(worker: int) -> None:
    """Keep a forked process from waiting for the threads of tokenizers, which are not forked with it."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


class Progress(TrainerCallback):
    """A line now and then; ends a training whose loss is no number.

    Args:
        task: what the lines begin with.
        advice: what a user can do about such a loss besides a smaller learning rate.
    """

    def __init__(self, task: str, advice: str):
        self.task, self.advice = task, advice
        self.shown, self.began = 0.0, (0, 0.0)

    def on_train_begin(self, settings, state, control, **kwargs):
        self.shown = time.monotonic()
        self.began = state.global_step, self.shown

    def on_log(self, settings, state, control, logs=None, **kwargs):
        del state.log_history[:-1]  # else every state would have a row of each of perhaps millions of updates
        loss = (logs or {}).get("loss")
        if loss is None:
            return
        if not math.isfinite(loss):
            raise Diverged(
                f"--learning-rate {settings.learning_rate}: the loss is {loss} at update {state.global_step};"
                f" expected a number; give a smaller one, or {self.advice}"
            )
        now = time.monotonic()
        if state.is_world_process_zero and now - self.shown >= SECONDS_BETWEEN_LINES:
            self.shown = now
            rate = (state.global_step - self.began[0]) / (now - self.began[1])
            print(
                f"{self.task}: {state.global_step}/{state.max_steps} updates, loss {loss:.3f},"
                f" {rate:.2f} updates/s",
                file=sys.stderr,
                flush=True,
            )
