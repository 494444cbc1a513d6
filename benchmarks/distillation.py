"""Time per update of a student that learns from stored vectors of a teacher, over `additive_margin` alone.

An update is what a training does of a batch: reading its sentences and the teacher's vectors from their
files, collation, forward and backward pass of both sides, and the optimizer's step. Sentences are random.
Systems take turns on the same batches; processor time is measured (one thread by default), so that
other jobs on the machine disturb little. Goal: at most 5% more with all three losses of LEALLA (thesis 3.5).

    python -m benchmarks.distillation [--arch ems_small] [--layers 8] [--width 96] [--pairs 64]
        [--teacher 768]
"""

import statistics
import sys
import tempfile
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from benchmarks import training_speed  # chooses the allocator
from command_line import options as types
from command_line.dispatch import run_script
from command_line.option_classes import option

ALONE = "additive_margin"
SYSTEMS = {
    ALONE: ALONE,
    "with features": f"{ALONE},feature_distillation",
    "with logits": f"{ALONE},logit_distillation",
    "all": f"{ALONE},feature_distillation,logit_distillation",
}
TEACHER = "teacher"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The batch, the student and the teacher."""

    arch: str = option("size of the model", "ems_small", choices=["ems", "ems_small"])
    layers: int = option("of the student", 8)
    width: int = option("of the student", 96)
    teacher: int = option("width of the teacher", 768)
    vocabulary: int = option("symbols", 16_000)
    pairs: int = option("of a batch", 64)
    tokens: int = option("of a sentence", 25)
    updates: int = option("of each system", 20)
    threads: int = option("of torch", 1, type=types.worker_count)


def make_data(folder: Path, options: Options) -> None:
    """A binarized pair of random sentences, and a teacher's vectors of them in float16."""
    import numpy as np
    from fairseq.data import Dictionary

    from data_prep.formats.sentences import load_sentences, written_sentences
    from data_prep.formats.teacher_vectors import create_teacher_vectors, sentences_identity, vectors_path

    rng, dictionary = np.random.default_rng(1), Dictionary()
    for number in range(options.vocabulary - len(dictionary)):
        dictionary.add_symbol(f"w{number}")
    for language in ("de", "en"):
        dictionary.save(str(folder / f"dict.{language}.txt"))
        prefix = folder / f"train.de-en.{language}"
        size = (options.pairs * options.updates, options.tokens)
        tokens = rng.integers(dictionary.nspecial, len(dictionary), size)
        tokens[:, -1] = dictionary.eos()
        with written_sentences(prefix, len(dictionary)) as writer:
            writer.write(tokens, np.full(len(tokens), options.tokens))
        description = {
            "encoder": {"name": "random", "kind": "checkpoint", "width": options.teacher},
            "text": sentences_identity(prefix),
            "read": {"kind": "tokens"},
            "lines": len(load_sentences(prefix)),
            "width": options.teacher,
            "dtype": "float16",
            "normalized": False,
        }
        vectors = create_teacher_vectors(vectors_path(prefix, TEACHER), description)
        vectors[:] = rng.standard_normal(vectors.shape)


class Training:
    """One system: its task, whose batches have what its losses ask for, and its criterion."""

    def __init__(self, data: Path, losses: str, options: Options):
        import torch

        from fairseq_ext.criterions.weighted_losses import WeightedLosses, WeightedLossesConfig
        from fairseq_ext.models.sentence_encoder import SentenceEncoderModel
        from fairseq_ext.optim.fused_adam import FusedAdam, FusedAdamConfig
        from fairseq_ext.tasks.sentence_embedding import SentenceEmbeddingConfig, SentenceEmbeddingTask

        teacher = None if losses == ALONE else TEACHER
        cfg = SentenceEmbeddingConfig(
            data=str(data),
            pairs="de-en",
            teacher=teacher,
            train_subset="train",
            seed=1,
            max_update=0,
            update_freq=[1],
        )
        self.task = SentenceEmbeddingTask.setup_task(cfg)
        sizes = Namespace(
            _name=options.arch,
            arch=options.arch,
            encoder_layers=options.layers,
            encoder_embed_dim=options.width,
            encoder_ffn_embed_dim=4 * options.width,
            max_source_positions=128,
            max_target_positions=128,
        )
        torch.manual_seed(1)
        with (
            mock.patch(
                "fairseq.models.build_model", lambda cfg, task, _: SentenceEncoderModel.build_model(cfg, task)
            ),
            mock.patch(
                "fairseq.criterions.build_criterion",
                lambda cfg, task, from_checkpoint: WeightedLosses.build_criterion(cfg, task),
            ),
        ):
            self.model = self.task.build_model(sizes).train()
            self.criterion = self.task.build_criterion(WeightedLossesConfig(losses=losses)).train()
        self.task.load_dataset("train")
        parameters = [*self.model.parameters(), *self.criterion.parameters()]
        self.optimizer = FusedAdam(FusedAdamConfig(lr=[1e-5]), parameters)

    def update(self, rows) -> float:
        """Seconds of one update with these pairs."""
        begin = time.process_time()
        dataset = self.task.dataset("train")
        batch = dataset.collater([dataset[row] for row in rows])
        _, size, _ = self.task.train_step(batch, self.model, self.criterion, self.optimizer, 0)
        self.optimizer.multiply_grads(1 / size)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.process_time() - begin


def main(options: Options) -> None:
    training_speed.restart_with_allocator()
    import torch

    import fairseq_ext  # noqa: F401  (registers)

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options)
        systems = {name: Training(Path(folder), losses, options) for name, losses in SYSTEMS.items()}
        seconds: dict[str, list[float]] = {name: [] for name in systems}
        for number in range(options.updates):
            rows = range(number * options.pairs, (number + 1) * options.pairs)
            for name, training in systems.items():
                seconds[name].append(training.update(rows))
    print(
        f"{options.arch}, {options.layers} x {options.width}, {options.pairs} pairs of"
        f" {options.tokens} tokens a side, teacher of width {options.teacher}, {options.threads} threads,"
        f" {options.updates} updates each"
    )
    print("system | s/update | over additive margin alone\n--- | ---: | ---:")
    for name, times in seconds.items():
        ratios = [mine / alone for mine, alone in zip(times[1:], seconds[ALONE][1:], strict=True)]
        print(f"{name} | {statistics.median(times):.3f} | {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    sys.exit(run_script())
