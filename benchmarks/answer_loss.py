"""An update of instruction tuning: the output layer for answers only, against transformers' own loss.

    python -m benchmarks.answer_loss [--vocabulary 250880] [--width 256] [--layers 4] [--rounds 5]

A BLOOM with random weights and a LoRA adapter reads a batch of questions and answers; forward and backward
pass. `transformers` computes the scores of every token of the vocabulary after every token of the text, ours
after those that tell the answer. Both run interleaved, then each in a process of its own for the peak of its
memory. Loss and gradients are the same (tests/llm/tuning).
"""

import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from command_line.dispatch import run_script
from command_line.option_classes import option

SIDES = ("transformers", "ours")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The batch and the model."""

    vocabulary: int = option("symbols (BLOOM's)", 250_880)
    width: int = option("of the model", 256)
    layers: int = option("of the model", 4)
    sentences: int = option("of a batch", 8)
    question: int = option("tokens", 70)
    answer: int = option("tokens", 30)
    rounds: int = option("all sides take turns, so many times", 5)
    side: str | None = option("measures the memory of one", choices=SIDES)


def main(options: Options) -> None:
    update = make_update(options)
    if options.side:
        update(options.side)
        print(f"{options.side}: at most {peak_memory() / 2**30:.2f} GiB, model and libraries included")
        return
    seconds = {side: [] for side in SIDES}
    for _ in range(options.rounds + 1):
        for side in SIDES:
            started = time.perf_counter()
            update(side)
            seconds[side].append(time.perf_counter() - started)
    medians = {side: statistics.median(taken[1:]) for side, taken in seconds.items()}  # the first warms up
    ratio = medians["transformers"] / medians["ours"]
    shown = ", ".join(f"{side} {median:.2f} s" for side, median in medians.items())
    print(
        f"an update of {options.sentences} x {options.question} + {options.answer} tokens: {shown};"
        f" ratio {ratio:.2f}"
    )
    for side in SIDES:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.answer_loss", *sys.argv[1:], "--side", side], check=True
        )


def peak_memory() -> int:
    """Bytes that this process has had at most (VmHWM of Linux; what getrusage says is also the parent's)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def make_update(options: Options):
    """A function of the side, which computes gradients of the adapter."""
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import BloomConfig, BloomForCausalLM

    from llm.tuning.answers import AnswerTokens
    from llm.tuning.examples import IGNORED
    from llm.tuning.model import with_new_adapter
    from llm.tuning.options import Lora

    torch.manual_seed(1)
    config = BloomConfig(
        vocab_size=options.vocabulary,
        hidden_size=options.width,
        n_layer=options.layers,
        n_head=4,
        hidden_dropout=0.0,
    )
    model = with_new_adapter(BloomForCausalLM(config), Lora(8, 32, 0.0, None))
    tokens = torch.randint(10, options.vocabulary, (options.sentences, options.question + options.answer))
    labels = tokens.clone()
    labels[:, : options.question] = IGNORED
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels}
    answers = AnswerTokens(model)

    def update(side: str) -> None:
        model.zero_grad()
        if side == "ours":
            scores, learned = answers(model, inputs)
            cross_entropy(scores, learned).backward()
        else:
            model(**inputs, use_cache=False).loss.backward()

    return update


if __name__ == "__main__":
    sys.exit(run_script())
