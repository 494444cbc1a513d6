"""The fine-tuning by `transformers.Trainer`, which goes on where it was killed.

`DIR/training` holds what the trainer needs to go on, what was measured of every checkpoint
(`checkpoints.json`), and the best one so far, `best-UPDATE`.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from transformers import TrainingArguments, set_seed

from command_line.errors import InputError
from command_line.trainings import STATE
from data_prep.transformers_trainer import OrderedTrainer, Progress, go_on, ordered_arguments
from embeddings.best_model import BestModel, shares
from embeddings.encoders.options import TRANSFORMERS, EncoderOptions
from embeddings.encoders.transformers_folder import TransformersEncoder
from embeddings.finetuning.course import Course
from embeddings.finetuning.model import (
    collated,
    load_model,
    load_tokenizer,
    predictor,
    reader_of,
)
from embeddings.finetuning.options import MODEL, PIVOT, Training
from embeddings.finetuning.task import Examples, Predict, Reader, Scores, Task, by_language, read_files
from embeddings.parallel_validation import SCORE, retrieval
from embeddings.test_sets import ParallelFiles

WEIGHT_DECAY = 0.01  # post-pretraining alignment, 3.3


def groups_of(job: Training, files: list[Examples]) -> Iterator[tuple]:
    """What is read by one update: an example, or its code-switched forms (2.3).

    Several files of a language are one, as those of the originals are.
    """
    originals = read_files(job.what, [(PIVOT, path) for path in job.code_switching or ()])
    english = [example for file in learnable(job.what, originals) for example in file.examples]
    for language, examples in by_language(files).items():
        if job.code_switching and language != PIVOT:
            where = ", ".join(str(file.path) for file in files if file.language == language)
            yield from job.what.switched(english, examples, where)
        else:
            yield from ((example,) for example in examples)


def learnable(task: Task, files: list[Examples]) -> list[Examples]:
    """The files without the examples that a model cannot learn from."""
    return [replace(file, examples=task.learnable(file.examples, str(file.path))) for file in files]


@dataclass(frozen=True)
class Validation:
    """What the best checkpoint is chosen by.

    Attributes:
        measure: the model as it is now, which is in evaluation mode; gives measures by name.
        shown: the score of a checkpoint, in words.
    """

    score: str
    measure: Callable[[], dict]
    shown: Callable[[dict], str]


class Learner:
    """An encoder that learns a task.

    Args:
        valid: from those of `job.valid`; none where retrieval decides.

    Attributes:
        examples: of every language, that can be learned from, before they are switched.

    Raises:
        InputError: the encoder cannot be read, or lacks the layer whose states are retrieved, or there are
            fewer updates than those of the warm-up, or what is measured has labels that training lacks.
    """

    def __init__(
        self, job: Training, train: list[Examples], valid: list[Examples], tests: Sequence[Examples] = ()
    ):
        self.job, self.valid, how = job, valid, job.how
        train = learnable(job.what, train)
        self.examples = {language: len(examples) for language, examples in by_language(train).items()}
        set_seed(job.seed)  # of the head
        classes = job.what.classes([example for file in train for example in file.examples])
        for file in (*valid, *tests):
            job.what.check(file.examples, classes)
        tokenizer = load_tokenizer(job.model)
        self.model = load_model(job.model, job.what, classes, job.pooler)
        self.reader = reader_of(tokenizer, self.model, how.max_length, classes)
        if self.reader.longest < how.max_length:
            print(
                f"warning: --max-length {how.max_length}: the encoder reads {self.reader.longest} tokens; so"
                " many are read at once",
                file=sys.stderr,
            )
        groups = list(groups_of(job, train))
        counts = [sum(job.what.count(example, self.reader) for example in group) for group in groups]
        self.course = Course(groups, counts, how.epochs, how.batch_size, job.seed)
        if len(self.course) <= how.warmup:
            raise InputError(
                f"--warmup {how.warmup}: the training has {len(self.course)} updates in all; expected fewer"
                " updates of warm-up, a tenth for example"
            )
        pairs = job.validation.pairs()
        self.validation = self._by_retrieval(pairs) if pairs else self._by_task()

    def _by_task(self) -> Validation:
        job, score = self.job, self.job.what.measures[0]
        predict = predictor(self.model, self.reader, job.how.batch_size, job.precision)
        return Validation(
            score,
            lambda: averaged(measured(job.what, self.valid, self.reader, predict)),
            lambda now: f"{score} {now[score]:.1f}",
        )

    def _by_retrieval(self, pairs: list[ParallelFiles]) -> Validation:
        """What `retrieve` would measure of the folder of the model: the encoder below the head."""
        options = retrieval_options(self.job)
        encoder = TransformersEncoder(self.model.base_model, self.reader.tokenizer, options)
        return Validation(SCORE, lambda: retrieval(encoder, pairs), lambda now: f"P@1 {now[SCORE]:.1%}")

    def train(self, folder: Path) -> list[dict]:
        """Train, or go on; the best model is then in `DIR/model`.

        Returns:
            what was measured of every checkpoint.

        Raises:
            InputError: the loss is no number any more.
        """
        state, job = folder / STATE, self.job
        best = self._best(state)
        trainer = OrderedTrainer(
            model=self.model,
            args=_arguments(job, state, len(self.course)),
            train_dataset=self.course,
            data_collator=self._collate,
            callbacks=[best, Progress("finetune", "another --precision")],
        )
        go_on(trainer, state)
        best.move(folder / MODEL)
        return best.checkpoints

    def _best(self, state: Path) -> BestModel:
        return BestModel(
            state,
            self.model,
            shares(len(self.course), self.job.checkpoints),
            self.validation.score,
            measure=self.validation.measure,
            save=self._save,
            shown=lambda now: f"finetune: update {now['update']}: {self.validation.shown(now)} of validation",
            before=False,  # its head knows nothing
        )

    def _collate(self, batches: list[list]) -> dict[str, torch.Tensor]:
        (examples,) = batches
        task, reader = self.job.what, self.reader
        windows = [window for example in examples for window in task.windows(example, reader)]
        return collated(reader, windows)

    def _save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        self.reader.tokenizer.save_pretrained(folder)


def _arguments(job: Training, state: Path, updates: int) -> TrainingArguments:
    return ordered_arguments(
        job,
        state,
        updates,
        job.how.learning_rate,
        warmup_steps=job.how.warmup,
        lr_scheduler_type="linear",
        weight_decay=WEIGHT_DECAY,
        max_grad_norm=1.0,
        dataloader_num_workers=1,  # makes the next windows, 0.1 to 0.5 ms each, while a GPU learns
        save_strategy="no",  # but when BestModel says so
    )


def retrieval_options(job: Training) -> EncoderOptions:
    """How sentences become vectors, by which the best checkpoint is chosen."""
    layer = None if job.layer is None else str(job.layer)
    return EncoderOptions(
        job.model, TRANSFORMERS, pooling="mean", layer=layer, precision=job.precision, cpu=job.cpu
    )


def measured(task: Task, files: list[Examples], reader: Reader, predict: Predict) -> dict[str, Scores]:
    """What a model gets right in every language. Several files of a language are one."""
    return {
        language: task.measure(examples, language, reader, predict)
        for language, examples in by_language(files).items()
    }


def averaged(scores: dict[str, Scores]) -> dict:
    """The scores of every language, under "languages", and the means over languages of every measure."""
    languages = {language: of_language.values for language, of_language in scores.items()}
    names = next(iter(languages.values()))
    means = {name: float(np.mean([values[name] for values in languages.values()])) for name in names}
    return {**means, "languages": languages}


def tested(job: Training, folder: Path, files: list[Examples]) -> dict[str, Scores]:
    """What the trained model in a folder gets right in every language."""
    model = load_model(folder, job.what)
    device = torch.device("cuda" if torch.cuda.is_available() and not job.cpu else "cpu")
    model = model.eval().to(device)
    classes = [model.config.id2label[number] for number in sorted(model.config.id2label)]
    reader = reader_of(load_tokenizer(folder), model, job.how.max_length, classes)
    return measured(job.what, files, reader, predictor(model, reader, job.how.batch_size, job.precision))
