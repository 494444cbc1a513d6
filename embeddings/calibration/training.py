"""The calibration by `transformers.Trainer`, which goes on where it was killed.

`DIR/training` holds what the trainer needs to go on, what every checkpoint retrieves (`checkpoints.json`),
and the encoder of the best one so far, `best-UPDATE`.
"""

from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import (
    CosineSimilarityLoss,
    MultipleNegativesRankingLoss,
)
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from command_line.trainings import STATE
from data_prep.transformers_trainer import OrderedTrainer, Progress, go_on, ordered_arguments
from embeddings.best_model import BestModel, shares
from embeddings.calibration.encoder import as_encoder
from embeddings.calibration.examples import NLI, STS, Course, columns_of
from embeddings.calibration.options import ENCODER, Calibration
from embeddings.encoders.huggingface import padded, token_ids
from embeddings.encoders.sentence_transformers_folder import SentenceTransformersEncoder
from embeddings.parallel_validation import SCORE, retrieval
from embeddings.test_sets import ParallelFiles

TENTHS = 10


def train(
    job: Calibration, folder: Path, model: SentenceTransformer, course: Course, pairs: list[ParallelFiles]
) -> list[dict]:
    """Train, or go on; the best encoder is then in `DIR/encoder`.

    Returns:
        what every checkpoint retrieves, that of update 0 first.

    Raises:
        InputError: the loss is no number any more.
    """
    state = folder / STATE
    encoder = as_encoder(model, job.model, job.cpu)
    best = BestModel(
        state,
        model,
        shares(len(course), TENTHS),
        SCORE,
        measure=lambda: retrieval(encoder, pairs),
        save=lambda path: model.save(str(path), create_model_card=False),
        keep_all=job.keep_checkpoints,
        shown=lambda now: f"calibrate: update {now['update']}: P@1 {now[SCORE]:.1%} of validation",
    )
    arguments = ordered_arguments(
        job,
        state,
        len(course),
        job.learning_rate,
        weight_decay=0.01,  # as sentence-transformers' own training
        max_grad_norm=1.0,
        save_strategy="no",  # but when BestModel says so
        save_safetensors=False,  # which has no place for weights that two modules share
    )
    trainer = CourseTrainer(
        model=Losses(model),
        args=arguments,
        train_dataset=course,
        data_collator=Collation(encoder, job.max_length),
        callbacks=[best, Progress("calibrate", "another --precision")],
    )
    trainer.warmup = job.warmup
    go_on(trainer, state)
    best.move(folder / ENCODER)
    return best.checkpoints


class Losses(nn.Module):
    """An encoder with the objectives of Reimers and Gurevych's siamese networks.

    Multiple negatives ranking (Henderson et al. 2017) of anchors a_i and candidates c_1, c_2, …, the
    positives c_i of a_i and then the negatives:

        - mean_i log (exp(20 cos(a_i, c_i)) / sum_j exp(20 cos(a_i, c_j)))

    Cosine similarity: mean_i (cos(u_i, v_i) - similarity_i)^2.
    """

    def __init__(self, encoder: SentenceTransformer):
        super().__init__()
        self.encoder = encoder
        # No modules of this one: they hold the encoder, whose weights would be saved three times.
        self.objectives = {NLI: MultipleNegativesRankingLoss(encoder), STS: CosineSimilarityLoss(encoder)}

    def forward(self, objective: str, columns: list[dict], labels: torch.Tensor | None) -> dict:
        """The loss of a batch.

        Args:
            columns: features of B sentences each.
            labels: B similarities, of STS.
        """
        return {"loss": self.objectives[objective](columns, labels)}


class Collation:
    """Features of a batch of examples, with the prefix that the encoder reads in front of every sentence."""

    def __init__(self, encoder: SentenceTransformersEncoder, max_length: int):
        self.encoder, self.longest = encoder, min(max_length, encoder.longest)

    def __call__(self, items: list[tuple[str, list]]) -> dict:
        ((objective, examples),) = items
        labels = torch.tensor([each.similarity for each in examples]) if objective == STS else None
        columns = [self.features(column) for column in columns_of(objective, examples)]
        return {"objective": objective, "columns": columns, "labels": labels}

    def features(self, sentences: list[str]) -> dict:
        tokenizer, prefix = self.encoder.tokenizer, self.encoder.prefix
        ids = token_ids(tokenizer, [prefix + sentence for sentence in sentences], self.longest)
        features = padded(tokenizer, ids, "cpu")
        if self.encoder.unpooled:
            features["prompt_length"] = self.encoder.unpooled
        return features


class CourseTrainer(OrderedTrainer):
    """The learning rate rises and falls over either data set.

    Attributes:
        warmup: share of the updates over which it rises.
    """

    warmup: float

    def create_scheduler(self, num_training_steps, optimizer=None):
        stages, warmup = (
            self.train_dataset.stages,
            self.warmup,
        )  # not self: a state is not to hold the trainer
        self.lr_scheduler = LambdaLR(self.optimizer, lambda update: rate(update, stages, warmup))
        self._created_lr_scheduler = True
        return self.lr_scheduler


def rate(update: int, stages: tuple[int, ...], warmup: float) -> float:
    """The share of the highest learning rate with which an update, from 0, is made.

    Args:
        stages: their numbers of updates.
        warmup: share of each over which it rises from 0.
    """
    for updates in stages:
        if update < updates:
            rising = int(warmup * updates)
            return update / rising if update < rising else (updates - update) / (updates - rising)
        update -= updates
    return 0.0
