"""What drawing the examples of pre-training costs: updates per second with BMASS and BRSS, and with MASS.

Every mixture trains from a loader with one worker process, as fairseq-train does, and from the same batches
held in memory; the difference is the loader's. BRSS predicts whole sentences and MASS half of them, so the
two mixtures do not compute the same, with any loader.

    python -m benchmarks.pretraining_speed [--data DATA --language ja] [--arch base|big|tiny] [--rounds 3]

DATA is a binarized folder with analyses of the language (`python -m data_prep bunsetsu`, `structures`).
Without it a corpus is made with `data_prep phrasebook`, in which every three subwords count as a bunsetsu.
"""

import os
import statistics
import sys
import tempfile
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from benchmarks import training_speed  # trains, makes the corpus
from command_line import options as types
from command_line.dispatch import run_script
from command_line.errors import InputError
from command_line.option_classes import option

MIXTURES = {"MASS": "mass", "BMASS+BRSS": "bmass+brss.f"}
UNITS = 3  # subwords of a made-up bunsetsu


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is trained, and how long."""

    data: Path | None = option("binarized folder")
    language: str = option("the language with analyses", "de")
    arch: str = option("size of the model", "tiny", choices=["base", "big", "tiny"])
    max_tokens: int = option("of a batch", 2048)
    updates: int = option("counted updates of a run", 12)
    warmup: int = option("updates that are not counted", 4)
    rounds: int = option("all sides take turns, so many times", 3)
    threads: int = option("of torch", os.cpu_count(), type=types.worker_count)


def make_bunsetsu(data: Path, language: str) -> None:
    """Analyses of all training text of a language: every three subwords are a bunsetsu; reordering exchanges
    the first with the last and so on.
    """
    from data_prep.formats.sentences import load_sentences
    from data_prep.formats.structures import BUNSETSU, encode, structure_path, write_structures
    from fairseq_ext.data.pretraining_dataset import binarized_texts

    for prefix in binarized_texts(data, "train", language):
        sentences, lines = load_sentences(prefix), []
        for size in sentences.sizes - 1:
            starts = list(range(size + 1))
            begins = starts[:-1:UNITS]
            order = [unit for begin in reversed(begins) for unit in starts[begin : min(begin + UNITS, size)]]
            lines.append(encode(begins[1:], order, starts))
        write_structures(structure_path(prefix, BUNSETSU), BUNSETSU, lines)


class Training:
    """A model and its data for every mixture."""

    def __init__(self, data: str, options: Options):
        from fairseq.models import ARCH_CONFIG_REGISTRY

        from fairseq_ext.optim.fused_adam import FusedAdam, FusedAdamConfig
        from fairseq_ext.tasks.linguistic_pretraining import (
            LinguisticPretrainingConfig,
            LinguisticPretrainingTask,
        )

        self.options = options
        self.tasks = {}
        for name, mixture in MIXTURES.items():
            texts = {"data": data, "pretraining_tasks": f"{options.language}={mixture}"}
            cfg = LinguisticPretrainingConfig(
                **texts, train_subset="train", seed=1, update_freq=[1], max_update=0
            )
            self.tasks[name] = LinguisticPretrainingTask.setup_task(cfg)
            self.tasks[name].load_dataset("train")
        model = Namespace(dropout=0.1, max_source_positions=256, max_target_positions=256)
        ARCH_CONFIG_REGISTRY[training_speed.architecture(options.arch)](model)
        model._name = "mnmt_transformer"
        models = [task.build_model(model) for task in self.tasks.values()]  # the tasks look at theirs
        self.models = dict(zip(self.tasks, models, strict=True))
        self.optimizers = {
            name: FusedAdam(FusedAdamConfig(lr=[1e-5]), list(model.parameters()))
            for name, model in self.models.items()
        }
        self.criteria = {name: self._criterion(task) for name, task in self.tasks.items()}

    def _criterion(self, task):
        from fairseq_ext.criterions.fused_label_smoothed_cross_entropy import (
            FusedLabelSmoothedCrossEntropyCriterion,
        )

        return FusedLabelSmoothedCrossEntropyCriterion(task, sentence_avg=False, label_smoothing=0.1)

    def loader(self, name: str):
        """The batches of an epoch, made by one worker process."""
        task = self.tasks[name]
        batches = task.get_batch_iterator(
            task.dataset("train"), max_tokens=self.options.max_tokens, seed=1, num_workers=1, epoch=1
        )
        return batches.next_epoch_itr(shuffle=True)

    def seconds_per_batch(self, name: str) -> float:
        """Processor time of drawing and collating a batch, without anything else."""
        dataset = self.tasks[name].dataset("train")
        batches = dataset.batch_by_size(dataset.ordered_indices(), max_tokens=self.options.max_tokens)
        batches = batches[:: max(1, len(batches) // self.options.updates)]
        begin = time.process_time()
        for indices in batches:
            dataset.collater([dataset[index] for index in indices])
        return (time.process_time() - begin) / len(batches)

    def updates_per_second(self, name: str, batches) -> float:
        """Over `--updates` batches, after those of the warm-up."""
        begin = 0.0
        for number, batch in enumerate(batches, start=1 - self.options.warmup):
            self._update(name, batch)
            if number == 0:
                begin = time.perf_counter()
            if number == self.options.updates:
                return self.options.updates / (time.perf_counter() - begin)
        raise InputError("--updates: fewer batches than --warmup and --updates ask for")

    def _update(self, name: str, batch) -> None:
        optimizer = self.optimizers[name]
        _, size, _ = self.tasks[name].train_step(
            batch, self.models[name].train(), self.criteria[name], optimizer, update_num=1
        )
        optimizer.multiply_grads(1 / size)
        optimizer.step()
        optimizer.zero_grad()


def measure(data: str, options: Options) -> None:
    training = Training(data, options)
    found: dict[tuple[str, str], list[float]] = {}
    needed = options.warmup + options.updates
    memory = {
        name: [batch for batch, _ in zip(training.loader(name), range(needed), strict=False)]
        for name in MIXTURES
    }
    for _ in range(options.rounds):
        for name in MIXTURES:
            for kind, batches in (("loader", training.loader(name)), ("memory", memory[name])):
                found.setdefault((name, kind), []).append(training.updates_per_second(name, batches))
    print(
        f"{options.arch}, --max-tokens {options.max_tokens}, {options.threads} threads,"
        f" {options.updates} updates a run"
    )
    print(
        "mixture | updates/s with one worker | from memory | ratio per round | making a batch\n"
        "--- | ---: | ---: | ---: | ---:"
    )
    for name in MIXTURES:
        ratios = [
            one / other for one, other in zip(found[name, "loader"], found[name, "memory"], strict=True)
        ]
        speeds = " | ".join(f"{statistics.median(found[name, kind]):.2f}" for kind in ("loader", "memory"))
        making = f"{1000 * training.seconds_per_batch(name):.1f} ms"
        print(f"{name} | {speeds} | {' '.join(f'{ratio:.2f}' for ratio in ratios)} | {making}")
    mass, other = (statistics.median(found[name, "loader"]) for name in MIXTURES)
    print(f"{list(MIXTURES)[1]} against MASS: {other / mass:.2f} of the updates per second")


def main(options: Options) -> None:
    training_speed.restart_with_allocator()
    import torch

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.abspath(options.data) if options.data else training_speed.phrasebook(Path(folder))
        if not options.data:
            make_bunsetsu(Path(data), options.language)
        measure(data, options)


if __name__ == "__main__":
    sys.exit(run_script())
