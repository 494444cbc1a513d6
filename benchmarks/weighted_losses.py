"""Time per update with further losses over that of the translation loss alone, on the same batches.

An update is collation, forward and backward pass and optimizer step. Criteria take turns batch by batch. On a
CPU processor time is measured (one thread by default), so that other jobs on the machine disturb little.
Besides, the time of every loss itself, forward and backward, without the pass over the mirror.

    python -m benchmarks.weighted_losses --data DATA [--arch base|big|tiny] [--max-tokens 2048] [--updates 8]

DATA is a binarized folder with aligned words (`python -m data_prep align`). Without it a corpus is made with
`data_prep phrasebook`, in which the n-th words of both sides count as aligned: as many as an aligner finds,
and their number is what the time depends on.
"""

import contextlib
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
from command_line.option_classes import option, switch

LOSSES = ["word_contrastive", "sentence_contrastive", "attention_alignment"]
TRANSLATION = "translation loss"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is trained, and how long."""

    data: Path | None = option("binarized folder", os.environ.get("BENCHMARK_ALIGNED_DATA"))
    lang_pairs: str = option("directions", "en-de,de-en,en-fr,fr-en")
    arch: str = option("size of the model", "base", choices=["base", "big", "tiny"])
    max_tokens: int = option("of a batch", 2048)
    updates: int = option("counted updates, of batches of all lengths", 8)
    threads: int = option("of torch", 1, type=types.worker_count)
    bf16: bool = switch("bfloat16 autocast")
    gpu: bool = switch("measure on the GPU")
    only: list[str] = option(
        "comma-separated names of losses", ",".join(LOSSES), type=types.items(types.one_of(LOSSES))
    )


def pair_words(data: Path, lang_pairs: str) -> None:
    """Align the n-th words of both sides of the training data."""
    from data_prep.formats.alignments import AlignedSpansWriter
    from data_prep.formats.dictionary import load_shared_dictionary
    from data_prep.formats.directions import parse_directions
    from data_prep.formats.sentences import load_pair

    for pair in {tuple(sorted(direction)) for direction in parse_directions(lang_pairs, "--lang-pairs")}:
        symbols = load_shared_dictionary(data, pair).symbols
        with AlignedSpansWriter(data, "train", pair, "fast_align") as writer:
            for sides in zip(*load_pair(data, "train", pair), strict=True):
                first, second = (words(side[:-1].tolist(), symbols) for side in sides)
                writer.append((*a, *b) for a, b in zip(first, second, strict=False))


def words(tokens: list[int], symbols: list[str]) -> list[tuple[int, int]]:
    """Words as half-open spans of subwords."""
    ends = [place for place, token in enumerate(tokens, start=1) if not symbols[token].endswith("@@")]
    return list(zip([0, *ends], ends, strict=False))


class Training:
    """One model and, by name, the criteria that train it, each with its data and optimizer."""

    def __init__(self, data: str, options: Options, losses: list[str]):
        import torch
        from fairseq.models import ARCH_CONFIG_REGISTRY

        from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask

        self.options = options
        self.device = torch.device("cuda" if options.gpu else "cpu")
        of_task = {
            "data": data,
            "lang_pairs": options.lang_pairs,
            "train_subset": "train",
            "seed": 1,
            "update_freq": [1],
            "max_update": 0,
        }
        self.tasks, self.model = {}, None
        for name in (TRANSLATION, *losses):
            task = MultilingualNmtTask.setup_task(MultilingualNmtConfig(**of_task))
            model = Namespace(dropout=0.1, max_source_positions=256, max_target_positions=256)
            ARCH_CONFIG_REGISTRY[training_speed.architecture(options.arch)](model)
            model._name = "mnmt_transformer"
            built = task.build_model(model)
            self.model = self.model or built.train().to(self.device)
            self.tasks[name] = task
        self.criteria = {name: self._criterion(name).to(self.device).train() for name in self.tasks}
        self.optimizers = {name: self._optimizer(criterion) for name, criterion in self.criteria.items()}
        for task in self.tasks.values():
            task.load_dataset("train")

    def _criterion(self, name: str):
        from fairseq_ext.criterions.options_of_losses import WeightedLossesConfig
        from fairseq_ext.criterions.weighted_losses import WeightedLosses

        losses = "translation" if name == TRANSLATION else f"translation,{name}"
        cfg = WeightedLossesConfig(
            label_smoothing=0.1, sentence_avg=False, losses=losses, fused_vocabulary_loss=True
        )
        task = self.tasks[name]
        criterion = WeightedLosses.build_criterion(cfg, task)
        task.batch_fields = criterion.batch_fields
        return criterion

    def _optimizer(self, criterion):
        from fairseq_ext.optim.fused_adam import FusedAdam, FusedAdamConfig

        parameters = [*self.model.parameters(), *criterion.parameters()]
        return FusedAdam(FusedAdamConfig(lr=[1e-5]), parameters)

    def batches(self) -> list:
        """Indices of batches of all lengths of the training data, as many as are measured."""
        dataset = self.tasks[TRANSLATION].dataset("train")
        found = dataset.batch_by_size(
            dataset.ordered_indices(), max_tokens=self.options.max_tokens, required_batch_size_multiple=8
        )
        step = max(1, len(found) // self.options.updates)
        return found[step // 2 :: step][: self.options.updates]

    def collate(self, name: str, indices) -> dict:
        from fairseq import utils

        dataset = self.tasks[name].dataset("train")
        batch = dataset.collater([dataset[index] for index in indices])
        return utils.move_to_cuda(batch) if self.options.gpu else batch

    def clock(self) -> float:
        if self.options.gpu:
            import torch

            torch.cuda.synchronize()
            return time.perf_counter()
        return time.process_time()

    def autocast(self):
        import torch

        if not self.options.bf16:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def update(self, name: str, indices) -> float:
        """Seconds of one update."""
        begin = self.clock()
        batch = self.collate(name, indices)
        with self.autocast():
            loss, size, _ = self.criteria[name](self.model, batch)
        loss.backward()
        optimizer = self.optimizers[name]
        optimizer.multiply_grads(1 / size)
        optimizer.step()
        optimizer.zero_grad()
        return self.clock() - begin

    def loss_alone(self, name: str, indices) -> tuple[float, int]:
        """Seconds of the loss itself on what the model has computed, and its units."""
        import torch

        from fairseq_ext.criterions.weighted_losses import observed
        from fairseq_ext.losses.weighted_loss import ModelOutputs

        batch, criterion = self.collate(name, indices), self.criteria[name]
        with torch.no_grad(), self.autocast(), observed(self.model, criterion.decoder_arguments) as seen:
            self.model(**batch["net_input"], features_only=True)
        with torch.no_grad(), self.autocast():  # not observed: the source's states are to stay
            mirror = self.model.encoder(**batch["mirror"]) if "mirror" in batch else None
        for output in filter(None, (seen["source"], mirror)):
            output["encoder_out"][0].requires_grad_()
        if (attention := seen["decoder"]["attn"][0]) is not None:
            attention.requires_grad_()
        begin = self.clock()
        with self.autocast():
            term = criterion.losses[name](ModelOutputs(seen["source"], mirror, seen["decoder"]), batch)
        term.loss.backward()
        seconds = self.clock() - begin
        criterion.zero_grad()
        return seconds, term.count


def main(options: Options) -> None:
    if not options.gpu:
        training_speed.restart_with_allocator()
    import torch

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.abspath(options.data) if options.data else training_speed.phrasebook(Path(folder))
        if not options.data:
            pair_words(Path(data), options.lang_pairs)
        measure(data, options)


def measure(data: str, options: Options) -> None:
    losses = options.only
    training = Training(data, options, losses)
    seconds: dict[str, list[float]] = {name: [] for name in training.tasks}
    alone: dict[str, list[tuple[float, int]]] = {name: [] for name in losses}
    batches = training.batches()
    for indices in [batches[-1], *batches]:  # the first is a warm-up, and the longest
        for name in training.tasks:
            seconds[name].append(training.update(name, indices))
        for name in losses:
            alone[name].append(training.loss_alone(name, indices))
    plain = seconds[TRANSLATION][1:]
    kind = "bfloat16" if options.bf16 else "float32"
    print(
        f"{options.arch}, {kind}, --max-tokens {options.max_tokens}, {options.threads} threads,"
        f" {len(plain)} updates"
    )
    print(f"{TRANSLATION}: {statistics.mean(plain):.3f} s/update\n")
    print(
        "loss | time per update / translation loss alone (lowest, highest batch) | the loss itself | units\n"
        "--- | ---: | ---: | ---:"
    )
    for name in losses:
        ratios = [mine / other for mine, other in zip(seconds[name][1:], plain, strict=True)]
        own, units = (statistics.mean(column) for column in zip(*alone[name][1:], strict=True))
        print(
            f"{name} | {sum(seconds[name][1:]) / sum(plain):.2f} ({min(ratios):.2f}, {max(ratios):.2f}) | "
            f"{own / statistics.mean(plain):.1%} | {units:.0f}"
        )


if __name__ == "__main__":
    sys.exit(run_script())
