"""The training of a masked language model by `transformers.Trainer`, which goes on where it was killed.

`DIR/training` holds what the trainer needs to go on, `DIR/update-N` a complete encoder for every N.
"""

import os
import sys
from pathlib import Path

from transformers import TrainerCallback

from command_line.outputs import scratch_folder, write_json
from command_line.trainings import STATE
from data_prep.transformers_trainer import OrderedTrainer, Progress, go_on, ordered_arguments
from embeddings.pretraining.examples import Batches, Masking
from embeddings.pretraining.options import VALIDATION, Pretraining, encoder_folder
from embeddings.pretraining.validation import mean_of, validate


def train(
    job: Pretraining, folder: Path, model, tokenizer, batches: Batches, masking: Masking, held_out: dict
) -> None:
    """Train, or go on.

    Raises:
        InputError: the loss is no number any more.
    """
    encoders = Encoders(
        folder, model, tokenizer, lambda: validate(model, held_out, masking, job.batch_tokens)
    )
    state = folder / STATE
    arguments = ordered_arguments(
        job,
        state,
        job.updates,
        job.learning_rate,
        gradient_accumulation_steps=job.batches_per_update,
        warmup_steps=job.warmup_updates,
        lr_scheduler_type="linear",
        weight_decay=job.weight_decay,
        adam_beta2=0.98,  # as RoBERTa
        adam_epsilon=1e-6,
        max_grad_norm=job.clip_norm,
        save_steps=job.save_updates,
        gradient_checkpointing=job.gradient_checkpointing,
    )
    trainer = OrderedTrainer(
        model=model,
        args=arguments,
        train_dataset=batches,
        data_collator=masking,
        callbacks=[encoders, Progress("pretrain", "more --warmup-updates")],
    )
    go_on(trainer, state)


class Encoders(TrainerCallback):
    """Keeps the model as a complete encoder whenever the trainer saves."""

    def __init__(self, folder: Path, model, tokenizer, measure):
        self.folder, self.model, self.tokenizer, self.measure = folder, model, tokenizer, measure

    def on_train_begin(self, settings, state, control, **kwargs):
        if state.global_step:  # was the training killed between the two?
            self.on_save(settings, state, control)

    def on_save(self, settings, state, control, **kwargs):
        target = encoder_folder(self.folder, state.global_step)
        if target.exists():
            return
        languages = self.measure()
        record = {"update": state.global_step, **mean_of(languages), "languages": languages}
        with scratch_folder(self.folder) as scratch:
            made = scratch / target.name
            self.model.save_pretrained(made)
            self.tokenizer.save_pretrained(made)
            write_json(made / VALIDATION, record)
            os.replace(made, target)
        print(
            f"pretrain: update {state.global_step}: valid loss {record['loss']:.3f},"
            f" accuracy {record['accuracy']:.1%}; {target}",
            file=sys.stderr,
        )
