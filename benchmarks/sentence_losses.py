"""Time and arithmetic per update of a sentence encoder with the losses of EMS, over the encoder alone.

An update is forward and backward pass of both sides of a batch of random sentence pairs, and the optimizer's
step. The encoder alone has a loss that costs nothing; EMS has both losses; the last system has a decoder of 6
layers in place of token reconstruction. Systems take turns. On a CPU processor time is measured (one thread
by default), so that other jobs on the machine disturb little. Arithmetic is that of matrix products and
attention, counted by torch. Goal: EMS costs at most a tenth more than the encoder alone at the size of `ems`;
thesis 2.4.7 has 43 s of 689 s. `--only pooled,BERT-score` has OneAligner's loss over sentence vectors
and over token states; goal: a step of the latter costs at most 1.3 times one of the former, with 64 pairs of
100 tokens.

    python -m benchmarks.sentence_losses [--arch ems|ems_small] [--vocabulary 60000] [--pairs 32]
        [--only EMS,decoder]
"""

import statistics
import sys
import time
from argparse import Namespace
from dataclasses import dataclass
from types import SimpleNamespace

from benchmarks import training_speed  # chooses the allocator
from command_line import options as types
from command_line.dispatch import run_script
from command_line.option_classes import option, switch

ALONE = "encoder alone"
SYSTEMS = {  # losses and their options
    ALONE: {"losses": ""},
    "token_reconstruction": {"losses": "token_reconstruction"},
    "sentence_contrast": {"losses": "sentence_contrast"},
    "EMS": {"losses": "token_reconstruction,sentence_contrast"},
    "decoder": {"losses": "translation,sentence_contrast"},
    "pooled": {"losses": "global_ranking", "global_ranking_similarity": "dot"},
    "BERT-score": {"losses": "global_ranking"},
}
LANGUAGES = 62


@dataclass(frozen=True, kw_only=True)
class Options:
    """The batch and the encoder."""

    arch: str = option("size of the model", "ems", choices=["ems", "ems_small"])
    vocabulary: int = option("symbols", 60_000)
    pairs: int = option("of a batch (thesis: 152)", 32)
    tokens: int = option("of a sentence", 25)
    updates: int = option("counted updates of each system", 3)
    only: list[str] | None = option(
        "comma-separated names of systems", type=types.items(types.one_of([*SYSTEMS][1:]))
    )
    threads: int = option("of torch", 1, type=types.worker_count)
    bf16: bool = switch("bfloat16 autocast")
    gpu: bool = switch("measure on the GPU")


def measured(options: Options) -> list[str]:
    """The encoder alone first, then the others that are asked for."""
    return [name for name in SYSTEMS if name == ALONE or not options.only or name in options.only]


class Systems:
    """One encoder and, by name, the criteria that train it; one of the systems also has a decoder."""

    def __init__(self, options: Options):
        import torch
        from fairseq.data import Dictionary

        from fairseq_ext.models import sentence_encoder
        from fairseq_ext.optim.fused_adam import FusedAdam, FusedAdamConfig

        self.options = options
        self.device = torch.device("cuda" if options.gpu else "cpu")
        self.dictionary = Dictionary()
        for number in range(options.vocabulary - len(self.dictionary)):
            self.dictionary.add_symbol(f"w{number}")
        task = SimpleNamespace(source_dictionary=self.dictionary, target_dictionary=self.dictionary)
        model = Namespace(
            arch=options.arch, decoder_layers=6, max_source_positions=256, max_target_positions=256
        )
        getattr(sentence_encoder, f"{options.arch}_architecture")(model)
        torch.manual_seed(1)
        translating = sentence_encoder.SentenceEncoderModel.build_model(model, task).train().to(self.device)
        encoding = sentence_encoder.SentenceEncoderModel(translating.cfg, translating.encoder, None).train()
        self.models = {
            name: translating if "translation" in SYSTEMS[name]["losses"] else encoding
            for name in measured(options)
        }
        self.criteria = {name: self._criterion(name).train().to(self.device) for name in self.models}
        parameters = {*translating.parameters()}.union(
            *(each.parameters() for each in self.criteria.values())
        )
        self.optimizer = FusedAdam(FusedAdamConfig(lr=[1e-5]), list(parameters))
        self.batch = self._batch()

    def _criterion(self, name: str):
        from fairseq_ext.criterions.weighted_losses import WeightedLosses, WeightedLossesConfig
        from fairseq_ext.losses.weighted_loss import ModelSizes, Term, WeightedLoss, vectors_of

        class Nothing(WeightedLoss):
            """The sum of all vectors: a gradient for the encoder at no cost."""

            name, batch_fields = "nothing", ("mirror",)

            def forward(self, outputs, batch):
                total = vectors_of(outputs.source).sum() + vectors_of(outputs.mirror).sum()
                return Term(total, total.detach(), 1)

        sizes = ModelSizes.of(self.models[name], self.dictionary, [str(i) for i in range(LANGUAGES)])
        task = SimpleNamespace(target_dictionary=self.dictionary, model_sizes=sizes)
        if name == ALONE:
            return WeightedLosses(task, None, {"nothing": Nothing(SimpleNamespace(weight=1.0), sizes)})
        cfg = WeightedLossesConfig(
            label_smoothing=0.1, sentence_avg=False, fused_vocabulary_loss=True, **SYSTEMS[name]
        )
        return WeightedLosses.build_criterion(cfg, task)

    def _batch(self) -> dict:
        import torch

        pairs, words = self.options.pairs, self.options.tokens
        sources, targets = (
            torch.randint(self.dictionary.nspecial, len(self.dictionary), (pairs, words)) for _ in range(2)
        )
        for side in (sources, targets):
            side[:, -1] = self.dictionary.eos()
        lengths = torch.full((pairs,), words)
        batch = {
            "net_input": {
                "src_tokens": sources,
                "src_lengths": lengths,
                "prev_output_tokens": targets.roll(1, dims=1),
            },
            "mirror": {"src_tokens": targets, "src_lengths": lengths},
            "target": targets,
            "source_languages": torch.randint(0, LANGUAGES, (pairs,)),
            "target_languages": torch.randint(0, LANGUAGES, (pairs,)),
            "ntokens": targets.numel(),
            "nsentences": pairs,
        }
        if self.options.gpu:
            from fairseq import utils

            batch = utils.move_to_cuda(batch)
        return batch

    def clock(self) -> float:
        if not self.options.gpu:
            return time.process_time()
        import torch

        torch.cuda.synchronize()
        return time.perf_counter()

    def update(self, name: str) -> float:
        """Seconds of one update."""
        import torch

        begin = self.clock()
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.options.bf16):
            loss, size, _ = self.criteria[name](self.models[name], self.batch)
        loss.backward()
        self.optimizer.multiply_grads(1 / size)
        self.optimizer.step()  # parameters of other systems have no gradient
        self.optimizer.optimizer.zero_grad(set_to_none=True)
        return self.clock() - begin

    def arithmetic(self, name: str) -> int:
        """Floating-point operations of an update."""
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counted:
            self.update(name)
        return counted.get_total_flops()


def main(options: Options) -> None:
    if not options.gpu:
        training_speed.restart_with_allocator()
    import torch

    torch.set_num_threads(options.threads)
    systems = Systems(options)
    operations = {name: systems.arithmetic(name) for name in measured(options)}  # a warm-up, too
    seconds: dict[str, list[float]] = {name: [] for name in measured(options)}
    for _ in range(options.updates):
        for name in seconds:
            seconds[name].append(systems.update(name))
    kind = "bfloat16" if options.bf16 else "float32"
    print(
        f"{options.arch}, {options.vocabulary} symbols, {options.pairs} pairs of {options.tokens} tokens a"
        f" side, {kind}, {options.threads} threads, {options.updates} updates each"
    )
    print(
        "system | s/update | over the encoder alone (each round) | arithmetic over it\n"
        "--- | ---: | ---: | ---:"
    )
    for name, times in seconds.items():
        ratios = [mine / alone for mine, alone in zip(times, seconds[ALONE], strict=True)]
        print(
            f"{name} | {statistics.median(times):.2f} | {statistics.median(ratios):.3f} "
            f"({', '.join(f'{ratio:.3f}' for ratio in ratios)}) | {operations[name] / operations[ALONE]:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(run_script())
